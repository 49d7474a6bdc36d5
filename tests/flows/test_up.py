"""What `make up` does with a service that ends again and again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows import up
from tests.helpers.services import soon

pytestmark = [pytest.mark.flows, pytest.mark.slow]


def test_a_service_that_keeps_ending_is_started_again_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up, "_RESTARTS", 1)
    monkeypatch.setattr(up, "_PAUSE", 1)
    with up._Service("worker", "prefect no-such-command", os.environ | {"PREFECT_HOME": str(tmp_path)}) as service:
        assert soon(lambda: service.status is not None)
        service.keep_up()  # at once
        assert service.status is None
        assert soon(lambda: service.status is not None)
        service.keep_up()
        assert service.status is not None
        service.keep_up()  # says it once
        assert soon(lambda: (service.keep_up(), service.status is None)[1], 10)
    said = capsys.readouterr().out.splitlines()
    assert said == [
        f"the worker ended with status 2; started again, see {service.log}",
        f"the worker ended with status 2, 2 times in 600 s; started again in 1 s, see {service.log}",
    ]
    assert "no-such-command" in service.log.read_text(encoding="utf-8")
