"""Where the seconds of a run of tests go: CPU seconds by folder, fixture and test.  `make seconds` loads this as a plugin.

Seconds of the processor, of this process and of those it started and has waited for: on a machine that does other things,
too, they say more than a clock.  One process runs the tests, so that a fixture of the session is counted once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

SHOWN = 25
_parts: Counter[str] = Counter()
_folders: Counter[str] = Counter()
_files: Counter[str] = Counter()
_fixtures: Counter[str] = Counter()
_tests: Counter[str] = Counter()


def _cpu() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    _parts["start"] = _cpu()
    result = yield
    _parts["collection"] = _cpu() - _parts["start"]
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Without the fixtures that this one names, which were made before it."""
    begun = _cpu()
    result = yield
    _fixtures[f"{fixturedef.argname}  ({fixturedef.baseid or 'plugin'})"] += _cpu() - begun
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    begun = _cpu()
    result = yield
    seconds = _cpu() - begun
    _folders[str(Path(item.location[0]).parent)] += seconds
    _files[item.location[0]] += seconds
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    begun = _cpu()
    result = yield
    _tests[item.nodeid] += _cpu() - begun
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total = _cpu()
    _parts.update(tests=sum(_tests.values()), fixtures=sum(_fixtures.values()))
    _parts["pytest itself"] = total - sum(_parts.values())
    for title, counted in [
        (f"{total:.1f} CPU seconds, by part", _parts),
        ("by folder, fixtures and all", _folders),
        ("by file, fixtures and all", _files),
        ("by fixture", _fixtures),
        ("by test, without its fixtures", _tests),
    ]:
        terminalreporter.section(title)
        for name, seconds in counted.most_common(SHOWN):
            terminalreporter.write_line(f"{seconds:8.2f}  {name}")
