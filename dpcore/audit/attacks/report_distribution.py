"""Tests that clients draw reports from the distribution of the scheme's integers: ranks are uniform and independent.

A lower bound of epsilon detects faults that help to distinguish values, but not a noise scale that is 2 % too small, or noise
that two attributes share.  These tests run the clients' code on chosen values, and count the ranks of its reports
(`audit.mechanisms`) in cells of equal probability: alone, by level, by value, jointly with the next respondent's, with those of
every other attribute and label, and, for clients with memoization, with the same respondent's rank for another value.
Chi-squared tests compare the counts with the expected ones, and ranks at any lag must be uncorrelated.  A label must equal the
record's.  A test that fails is repeated on fresh reports and must fail again.  A correct client is rejected less than once in
10^12 audits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from dpcore._random import Source, seeded
from dpcore.audit.mechanisms.base import LEVEL, Ranks, ranks
from dpcore.client import Client
from dpcore.mechanisms import Mechanism, Reports
from dpcore.pipeline import privatize
from dpcore.protocol.report import ReportBatch, batch_of
from dpcore.protocol.scheme import Scheme

_FINE, _COARSE, _COARSEST = 64, 16, 4  # cells of one rank, of each of two ranks, and of each of two in small samples
_MIN_EXPECTED = 8  # least expected count of a cell for the chi-squared approximation
_GROUPS = 8  # groups of values: the first cell, the last cell, and ranges of the others
_STRANGE, _AGAIN = 1e-9, 1e-6  # p-value limits of the first test and of its repetition, divided by the number of tests
_BY_HAND, _LEAST_BY_HAND = 200, 400  # bulk reports that cost as much as one client's; least number of clients
_INTEGERS = 1 << 25  # most integers drawn at a time; fewer reports are drawn if they are longer
_SECRET_WORDS = 8  # 32 bytes

Path = Callable[[Scheme, Mapping[str, np.ndarray], Source], ReportBatch]
Tables = Mapping[str, float]  # tested statistic -> p-value under a correct client


@dataclass(frozen=True)
class Strays:
    """A failed test: the statistic, and its p-value under a correct client."""

    statistic: str
    chance: float


@dataclass(frozen=True)
class Faithfulness:
    """The result of all tests: number of tables of counts, number of simulated respondents, and failed tests."""

    tables: int
    people: int
    strays: tuple[Strays, ...]

    @property
    def holds(self) -> bool:
        """Whether no test failed."""
        return not self.strays

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        passed = f"{self.tables} tests on the reports of {self.people:,} simulated respondents"
        if not self.strays:
            return f"{passed} found no deviation from the certified probabilities"
        return (
            f"{len(self.strays)} of {passed} found a deviation from the certified probabilities, first: "
            f"{self.strays[0].statistic}"
        )


def faithfulness(scheme: Scheme, random: Source, *, trials: int) -> Faithfulness:
    """Test whether reports have the distribution of the scheme's integers.

    random: the source of the clients' randomness. trials: approximate number of reports of each attribute, for each of two
    paths.

    Raises CalibrationError for a mechanism whose reports have no order in `audit.mechanisms`.
    """
    strays, tests, respondents = [], 0, 0
    for words, path, people in _paths(scheme, trials):
        tables = _p_values(scheme, path, 2 * people, random)
        tests, respondents = tests + len(tables), respondents + 2 * people
        if failed := _failed(tables, _STRANGE):
            again = _failed(_p_values(scheme, path, 2 * people, random), _AGAIN)
            strays += [Strays(f"{name}, {words}", chance) for name, chance in again.items() if name in failed]
    return Faithfulness(tests, respondents, tuple(sorted(strays, key=lambda stray: stray.chance)))


def _paths(scheme: Scheme, trials: int) -> Iterator[tuple[str, Path, int]]:
    size = max(max(attribute.mechanism.sizes) for attribute in scheme.attributes.values())
    yield "of records privatized in bulk", _in_bulk, min(trials, _INTEGERS // size) // 2
    yield "of clients with memoization", _memoizing, max(trials // _BY_HAND, _LEAST_BY_HAND) // 2


def _in_bulk(scheme: Scheme, cells: Mapping[str, np.ndarray], random: Source) -> ReportBatch:
    return privatize(scheme, _records(scheme, cells), random)


def _memoizing(scheme: Scheme, cells: Mapping[str, np.ndarray], random: Source) -> ReportBatch:
    """Draw reports one by one; the second half are the clients of the first half, with their secrets and other values."""
    columns = _records(scheme, cells)
    n = len(next(iter(cells.values())))
    secrets = [random.words(_SECRET_WORDS).tobytes() for _ in range(n // 2)]
    records = ({column: values[person] for column, values in columns.items()} for person in range(n))
    return batch_of(
        Client(scheme, random, secret=secret).report(record)
        for secret, record in zip(2 * secrets, records, strict=True)
    )


def _records(scheme: Scheme, cells: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return records of these cells; if attributes share a column, the last attribute determines it."""
    records = {}
    for name, attribute in scheme.reported.items():
        used, places = np.unique(cells[name], return_inverse=True)
        rows = [attribute.values_of(cell) for cell in used.tolist()]
        for question in attribute.questions:
            is_plain = question.has_density and not question.categories
            values = np.array([row[question.column] for row in rows], dtype=None if is_plain else object)
            records[question.column] = values[places]
    return records


def _p_values(scheme: Scheme, path: Path, people: int, random: Source) -> Tables:
    """Return the p-values of all tests on the reports of so many simulated respondents."""
    generator = seeded(int(random.words(1)[0])).generator()  # draws values and uniform fractions, which are not private
    mechanisms = {name: attribute.mechanism for name, attribute in scheme.attributes.items()}
    there = {name: attribute.cells for name, attribute in scheme.reported.items()}
    places = {name: _places(len(cells), people // 2, generator) for name, cells in there.items()}
    cells = {name: there[name][place] for name, place in places.items()}
    cells |= _shared(scheme, cells)
    places = {name: np.searchsorted(there[name], cells[name]) for name in there}
    batch = path(scheme, cells, random)
    seen: dict[str, Ranks] = {}
    apart: dict[str, np.ndarray] = {}
    for name, mechanism in mechanisms.items():
        answers = batch.of(name)
        own = ranks(mechanism, cells[name][answers.clients], answers.reports, generator)
        seen[name] = {part: _spread(rank, answers.clients, people) for part, rank in own.items()}
        apart[name] = _apart(mechanism, cells[name], answers.clients, answers.reports)
    for kind, names in (("the report's id", batch.ids), ("the client's token", batch.tokens)):
        if names is not None:
            seen[kind] = _bytes_of(names, generator)
    groups = {name: _grouped(len(there[name]), places[name]) for name in there}
    labels = {
        f"label {name} against the record": float(np.array_equal(batch.of(name).reports.values, cells[name]))
        for name in scheme.labels
    }
    return labels | dict(_tables(seen, groups, apart))


def _shared(scheme: Scheme, cells: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the cells, in the finished records, of attributes that share a column with another attribute.

    All other cells are as chosen: the client's encoding is under test and must not define the expected values.
    """
    asked = [question.column for attribute in scheme.attributes.values() for question in attribute.questions]
    shared = {
        name
        for name, attribute in scheme.attributes.items()
        if any(asked.count(question.column) > 1 for question in attribute.questions)
    }
    return (
        {name: column for name, column in scheme.encode(_records(scheme, cells)).items() if name in shared}
        if shared
        else {}
    )


def _bytes_of(names: np.ndarray, generator: np.random.Generator) -> Ranks:
    """Return the ranks of each byte of names (n, 16); nan for repeated or missing names."""
    _, first = np.unique(names, axis=0, return_index=True)
    new = np.zeros(len(names), dtype=bool)
    new[first] = True
    new &= names.any(axis=1)
    rank = np.where(new[:, None], (names + generator.random(names.shape)) / 256, np.nan)
    return {f"byte {place + 1}": column for place, column in enumerate(rank.T)}


def _places(values: int, people: int, generator: np.random.Generator) -> np.ndarray:
    """Return value indices: a quarter first, a quarter last, the rest random; then as many again, each changed."""
    chosen = generator.integers(0, values, people)
    kind = generator.integers(0, 4, people)
    place = np.where(kind == 0, 0, np.where(kind == 1, values - 1, chosen))
    further = generator.choice([1, values // 7, values // 3], people)
    return np.concatenate([place, (place + np.maximum(further, 1)) % values])


def _grouped(values: int, places: np.ndarray) -> np.ndarray:
    """Return the group of each value: 0 for the first, 1 for the last, and ranges of the others."""
    others = 2 + places * (_GROUPS - 2) // values
    return np.where(places == 0, 0, np.where(places == values - 1, 1, others))


def _spread(rank: np.ndarray, clients: np.ndarray, people: int) -> np.ndarray:
    """Return the ranks of all respondents, nan for those without an answer."""
    whole = np.full(people, np.nan)
    whole[clients] = rank
    return whole


def _apart(mechanism: Mechanism, cells: np.ndarray, clients: np.ndarray, reports: Reports) -> np.ndarray:
    """Return whether a respondent's two answers have different levels or states, (people / 2,); equal states repeat answers."""
    level, state = np.full((2, len(cells)), -1)
    level[clients] = reports.level
    for number in range(len(mechanism.sizes)):
        there = level == number
        state[there] = mechanism.states(cells[there], number)
    (one, other), (first, second) = np.split(level, 2), np.split(state, 2)
    return np.asarray((one != other) | (first != second))


def _tables(
    seen: Mapping[str, Ranks], groups: Mapping[str, np.ndarray], apart: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, float]]:
    columns = [(name, part, rank) for name, own in seen.items() for part, rank in own.items()]
    for number, (name, part, rank) in enumerate(columns):
        tested = f"{part} of {name}"
        yield tested, _chance(_crossed(np.zeros(len(rank), dtype=np.int64), 1, rank, _FINE))
        for other, group in groups.items():
            yield f"{tested} by the value of {other}", _chance(_crossed(group, _GROUPS, rank, _COARSE))
        yield f"{tested} by the next respondent's", _chance(_jointly(rank[:-1], rank[1:]))
        yield f"{tested} by another respondent's", _chance_of_lags(rank)
        if part != LEVEL:  # a client's level is permanent
            first, second = np.split(rank, 2)
            if name in apart:
                first = np.where(apart[name], first, np.nan)
            yield f"{tested} by the same respondent's", _chance(_jointly(first, second))
            if LEVEL in seen[name]:
                yield f"{tested} at each level", _chance(_by_level(seen[name][LEVEL], rank))
        for other, other_part, other_rank in columns[number + 1 :]:
            if {name, other}.isdisjoint(groups):  # both are bytes of ids or tokens
                continue
            yield f"{tested} by {other_part} of {other}", _chance(_jointly(rank, other_rank))


def _chance_of_lags(rank: np.ndarray) -> float:
    """Return the p-value of the largest autocorrelation over lags below half the length; each is approximately normal."""
    centred = np.nan_to_num(rank - 0.5)
    there = int(np.count_nonzero(centred))
    spectrum = np.fft.rfft(centred)
    lags = np.fft.irfft(np.abs(spectrum) ** 2, len(rank))[1 : len(rank) // 2]
    if there < _MIN_EXPECTED * _COARSE or not len(lags):
        return 1.0
    deviations = 12 * float(np.abs(lags).max()) / there**0.5  # a product of two centred ranks has variance 1/144
    return min(1.0, len(lags) * float(scipy.special.erfc(deviations / 2**0.5)))


def _by_level(level: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return counts of `rank` in cells of the level's rank."""
    return _crossed(np.minimum((np.nan_to_num(level) * _FINE).astype(np.int64), _FINE - 1), _FINE, rank, _COARSEST)


def _jointly(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return joint counts of two ranks."""
    there = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    cells = _COARSE if len(there) >= _MIN_EXPECTED * _COARSE**2 else _COARSEST
    row = np.minimum((first[there] * cells).astype(np.int64), cells - 1)
    return _crossed(row, cells, second[there], cells)


def _crossed(row: np.ndarray, rows: int, rank: np.ndarray, cells: int) -> np.ndarray:
    """Return counts, (rows, cells), of the respondents with a rank."""
    there = ~np.isnan(rank)
    cell = np.minimum((rank[there] * cells).astype(np.int64), cells - 1)
    return np.bincount(row[there] * cells + cell, minlength=rows * cells).reshape(rows, cells)


def _failed(tables: Tables, limit: float) -> dict[str, float]:
    """Return the tests with p-values below the limit divided by the number of tests (Bonferroni)."""
    return {name: chance for name, chance in tables.items() if chance < limit / len(tables)}


def _chance(counts: np.ndarray) -> float:
    """Return the chi-squared p-value of uniform rows; rows with small totals are omitted."""
    cells = counts.shape[1]
    rows = counts[counts.sum(axis=1) >= _MIN_EXPECTED * cells]
    if not len(rows):
        return 1.0
    expected = rows.sum(axis=1, keepdims=True) / cells
    return float(scipy.special.chdtrc(len(rows) * (cells - 1), float(((rows - expected) ** 2 / expected).sum())))
