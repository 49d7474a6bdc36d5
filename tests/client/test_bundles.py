"""The frozen bundles, honest ones and what breaks their promise, by the Python client; node and Chromium must say the same."""

from __future__ import annotations

import pytest

from dpcore.errors import SchemeError
from dpcore.mechanisms.named import BY_KIND
from dpcore.protocol.scheme import Scheme
from tests.helpers.bundles import KEPT, REFUSED, Bundle


@pytest.mark.parametrize("bundle", REFUSED, ids=str)
def test_a_bundle_that_breaks_its_promise_is_refused_for_its_reason(bundle: Bundle) -> None:
    with pytest.raises(SchemeError) as refused:
        Scheme.from_toml(bundle.scheme)
    assert bundle.reason in str(refused.value)


@pytest.mark.parametrize("bundle", KEPT, ids=str)
def test_its_neighbours_are_read(bundle: Bundle) -> None:
    Scheme.from_toml(bundle.scheme)


def test_there_are_both_of_every_mechanism() -> None:
    for bundles in (KEPT, REFUSED):
        assert {
            name for bundle in bundles for kinds in BY_KIND.values() for name in kinds if f'"{name}"' in bundle.scheme
        } == {name for kinds in BY_KIND.values() for name in kinds}
    assert len(REFUSED) >= 60
    assert len({bundle.name for bundle in (*KEPT, *REFUSED)}) == len(KEPT) + len(REFUSED)
