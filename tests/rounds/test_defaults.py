"""What holds before numpy is loaded: its linear algebra takes one thread, by whichever door somebody comes in."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def _said(imported: str, **more: str) -> str:
    free = {name: value for name, value in os.environ.items() if name not in NAMES}
    code = f"import sys, {imported}; assert 'numpy' not in sys.modules; import os; print(os.environ[{NAMES[1]!r}])"
    done = subprocess.run([sys.executable, "-c", code], env=free | more, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.flows
def test_a_flow_keeps_to_one_thread_unless_somebody_says_how_many() -> None:
    assert _said("ldpflow_flows") == "1"
    assert _said("ldpflow_flows", OPENBLAS_NUM_THREADS="3") == "3"
