"""The frozen bundles, honest ones and what breaks their promise, by the Python client; node and Chromium must say the same."""

from __future__ import annotations

from dpcore.errors import SchemeError
from dpcore.mechanisms.registry import BY_KIND
from dpcore.protocol.scheme import Scheme
from tests.helpers.bundles import KEPT, REFUSED, Bundle


def refusal_of(bundle: Bundle) -> str:
    """What the client says of a bundle that it refuses, "" of one that it reads."""
    try:
        Scheme.from_toml(bundle.scheme)
    except SchemeError as refused:
        return str(refused)
    return ""


def test_a_bundle_that_breaks_its_promise_is_refused_for_its_reason() -> None:
    found = {bundle.name: (bundle.reason, refusal_of(bundle)) for bundle in REFUSED}
    wrong = {name: both for name, both in found.items() if not both[1] or both[0] not in both[1]}
    assert wrong == {}, "name: (what the refusal must say, what it says)"


def test_its_neighbours_are_read() -> None:
    assert {bundle.name: said for bundle in KEPT if (said := refusal_of(bundle))} == {}


def test_there_are_both_of_every_mechanism() -> None:
    for bundles in (KEPT, REFUSED):
        assert {
            name for bundle in bundles for kinds in BY_KIND.values() for name in kinds if f'"{name}"' in bundle.scheme
        } == {name for kinds in BY_KIND.values() for name in kinds}
    assert len(REFUSED) >= 60
    assert len({bundle.name for bundle in (*KEPT, *REFUSED)}) == len(KEPT) + len(REFUSED)
