"""Whether clients draw as their integers say: ranks of reports are uniform, whatever the value, the report before, the others.

An attacker's bound sees a fault that tells values apart; a scale that is two in a hundred too small, or noise that two
attributes share, it does not.  Here the clients' code answers for people of chosen values, and the ranks of its reports
(`report_ranks`) are counted in cells of equal probability: alone, at each level, beside the value, beside the next person's,
beside those of every other attribute and label and, of a client that remembers, of the same person with another value.
Chi-squared tells whether the counts are those of the law; and ranks of persons any number of places apart have no correlation.
A label is the record's own, or strays.  What strays is asked again, on fresh reports, and has to stray again: an honest client
is refused less than once in 10^12 audits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from dpcore._random import Source, seeded
from dpcore.audit.attacks.averaging import values_of
from dpcore.audit.attacks.report_ranks import LEVEL, Ranks, ranks
from dpcore.client import Client
from dpcore.mechanisms import Mechanism, Reports
from dpcore.pipeline import privatize
from dpcore.protocol.report import ReportBatch, batch_of
from dpcore.protocol.scheme import Scheme

_FINE, _COARSE, _COARSEST = 64, 16, 4  # cells of one rank, and of each of two, of few people fewer
_FEW = 8  # people a cell, for chi-squared to be near its law
_GROUPS = 8  # of values: the first cell, the last, and ranges of the others
_STRANGE, _AGAIN = 1e-9, 1e-6  # chances of an honest client's, at first and asked again
_BY_HAND, _LEAST_BY_HAND = 200, 400  # reports of a mechanism cost as much as one that a client makes by itself
_INTEGERS = 1 << 25  # of reports that are drawn at a time: of very many integers there are fewer
_SECRET_WORDS = 8  # 32 bytes

Path = Callable[[Scheme, Mapping[str, np.ndarray], Source], ReportBatch]
Tables = Mapping[str, float]  # what is looked at -> the chance of an honest client's reports to stray as far


@dataclass(frozen=True)
class Strays:
    """What does not follow its law: what was looked at, and the chance of an honest client to show it."""

    what: str
    chance: float


@dataclass(frozen=True)
class Faithfulness:
    """What was found: the tables of counts that were looked at, the people who answered, and what strays."""

    tables: int
    people: int
    strays: tuple[Strays, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing strays."""
        return not self.strays

    @property
    def words(self) -> str:
        """A sentence without its full stop."""
        named = f"; {len(self.strays)} do not: {self.strays[0].what}" if self.strays else ""
        return (
            f"{self.tables} tables of the reports of {self.people:,} people follow the law that the integers say{named}"
        )


def faithfulness(scheme: Scheme, random: Source, *, trials: int) -> Faithfulness:
    """Return whether reports follow the law that the scheme's integers say; those of an honest client do.

    random: where clients draw from.  trials: reports, about as many for each attribute and each of the two paths.

    Raises CalibrationError for a mechanism whose reports have no order in `report_ranks`.
    """
    found, looked, asked = [], 0, 0
    for words, path, people in _paths(scheme, trials):
        tables = _counted(scheme, path, 2 * people, random)
        looked, asked = looked + len(tables), asked + 2 * people
        if strange := _strange(tables, _STRANGE):
            again = _strange(_counted(scheme, path, 2 * people, random), _AGAIN)
            found += [Strays(f"{what}, {words}", chance) for what, chance in again.items() if what in strange]
    return Faithfulness(looked, asked, tuple(sorted(found, key=lambda stray: stray.chance)))


def _paths(scheme: Scheme, trials: int) -> Iterator[tuple[str, Path, int]]:
    size = max(max(attribute.mechanism.sizes) for attribute in scheme.attributes.values())
    yield "of records privatized together", _together, min(trials, _INTEGERS // size) // 2
    yield "of clients that remember", _remembering, max(trials // _BY_HAND, _LEAST_BY_HAND) // 2


def _together(scheme: Scheme, cells: Mapping[str, np.ndarray], random: Source) -> ReportBatch:
    return privatize(scheme, _records(scheme, cells), random)


def _remembering(scheme: Scheme, cells: Mapping[str, np.ndarray], random: Source) -> ReportBatch:
    """One report after another; the second half are the first, each with a secret of their own, whose values have changed."""
    columns = _records(scheme, cells)
    n = len(next(iter(cells.values())))
    secrets = [random.words(_SECRET_WORDS).tobytes() for _ in range(n // 2)]
    records = ({column: values[person] for column, values in columns.items()} for person in range(n))
    return batch_of(
        Client(scheme, random, secret=secret).report(record)
        for secret, record in zip(2 * secrets, records, strict=True)
    )


def _records(scheme: Scheme, cells: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Records of these cells; of attributes that ask for one column, what the last of them would have there."""
    records = {}
    for name, attribute in scheme.reported.items():
        rows = [values_of(attribute, int(cell)) for cell in attribute.cells]
        places = np.searchsorted(attribute.cells, cells[name])
        for question in attribute.questions:
            is_plain = question.has_density and not question.categories
            values = np.array([row[question.column] for row in rows], dtype=None if is_plain else object)
            records[question.column] = values[places]
    return records


def _counted(scheme: Scheme, path: Path, people: int, random: Source) -> Tables:
    """What so many people's reports show."""
    generator = seeded(int(random.words(1)[0])).generator()  # of values and even parts: nothing private hangs on it
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
        seen[name] = {what: _spread(rank, answers.clients, people) for what, rank in own.items()}
        apart[name] = _apart(mechanism, cells[name], answers.clients, answers.reports)
    for what, names in (("the report's id", batch.ids), ("the client's token", batch.tokens)):
        if names is not None:
            seen[what] = _bytes_of(names, generator)
    groups = {name: _grouped(len(there[name]), places[name]) for name in there}
    in_clear = {
        f"{name}, sent in clear, beside the record's own": float(
            np.array_equal(batch.of(name).reports.values, cells[name])
        )
        for name in scheme.labels
    }
    return in_clear | dict(_tables(seen, groups, apart))


def _shared(scheme: Scheme, cells: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The cells, in the records made of others, of attributes that ask for a column which another one asks for, too.

    No other's: what a client makes of a record is what is looked at, and is not asked for the truth.
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
    """The bytes of names (n, 16), each a rank; nothing where a name has come before, or there is none."""
    _, first = np.unique(names, axis=0, return_index=True)
    new = np.zeros(len(names), dtype=bool)
    new[first] = True
    new &= names.any(axis=1)
    rank = np.where(new[:, None], (names + generator.random(names.shape)) / 256, np.nan)
    return {f"byte {place + 1}": column for place, column in enumerate(rank.T)}


def _places(values: int, people: int, generator: np.random.Generator) -> np.ndarray:
    """Which of so many values people have: a quarter the first, a quarter the last; then as many others, none the same."""
    chosen = generator.integers(0, values, people)
    kind = generator.integers(0, 4, people)
    place = np.where(kind == 0, 0, np.where(kind == 1, values - 1, chosen))
    further = generator.choice([1, values // 7, values // 3], people)
    return np.concatenate([place, (place + np.maximum(further, 1)) % values])


def _grouped(values: int, places: np.ndarray) -> np.ndarray:
    """The group of each value: 0 the first, 1 the last, the others by where they lie."""
    others = 2 + places * (_GROUPS - 2) // values
    return np.where(places == 0, 0, np.where(places == values - 1, 1, others))


def _spread(rank: np.ndarray, clients: np.ndarray, people: int) -> np.ndarray:
    """The ranks of all people, nothing where one did not answer."""
    whole = np.full(people, np.nan)
    whole[clients] = rank
    return whole


def _apart(mechanism: Mechanism, cells: np.ndarray, clients: np.ndarray, reports: Reports) -> np.ndarray:
    """Whether a person's two answers are of two levels or states, (people / 2,): who remembers answers one state alike."""
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
    columns = [(name, what, rank) for name, own in seen.items() for what, rank in own.items()]
    for number, (name, what, rank) in enumerate(columns):
        here = f"{what} of {name}"
        yield here, _chance(_crossed(np.zeros(len(rank), dtype=np.int64), 1, rank, _FINE))
        for other, group in groups.items():
            yield f"{here} beside the value of {other}", _chance(_crossed(group, _GROUPS, rank, _COARSE))
        yield f"{here} beside the next person's", _chance(_beside(rank[:-1], rank[1:]))
        yield f"{here} beside another person's", _chance_of_lags(rank)
        if what != LEVEL:  # which is for life
            first, second = np.split(rank, 2)
            if name in apart:
                first = np.where(apart[name], first, np.nan)
            yield f"{here} beside the same person's", _chance(_beside(first, second))
            if LEVEL in seen[name]:
                yield f"{here} at each level", _chance(_by_level(seen[name][LEVEL], rank))
        for other, beside, rival in columns[number + 1 :]:
            if {name, other}.isdisjoint(groups):  # bytes of names
                continue
            yield f"{here} beside {beside} of {other}", _chance(_beside(rank, rival))


def _chance_of_lags(rank: np.ndarray) -> float:
    """Of the largest correlation between persons so many places apart, fewer than half of all: each is about normal."""
    centred = np.nan_to_num(rank - 0.5)
    there = int(np.count_nonzero(centred))
    spectrum = np.fft.rfft(centred)
    together = np.fft.irfft(np.abs(spectrum) ** 2, len(rank))[1 : len(rank) // 2]
    if there < _FEW * _COARSE or not len(together):
        return 1.0
    deviations = 12 * float(np.abs(together).max()) / there**0.5  # a product of two ranks has the variance 1/144
    return min(1.0, len(together) * float(scipy.special.erfc(deviations / 2**0.5)))


def _by_level(level: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Counts by where the level's rank lies; the cells of levels that are drawn seldom are the last."""
    return _crossed(np.minimum((np.nan_to_num(level) * _FINE).astype(np.int64), _FINE - 1), _FINE, rank, _COARSEST)


def _beside(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    there = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    cells = _COARSE if len(there) >= _FEW * _COARSE**2 else _COARSEST
    row = np.minimum((first[there] * cells).astype(np.int64), cells - 1)
    return _crossed(row, cells, second[there], cells)


def _crossed(row: np.ndarray, rows: int, rank: np.ndarray, cells: int) -> np.ndarray:
    """Counts, (rows, cells), of those who have a rank."""
    there = ~np.isnan(rank)
    cell = np.minimum((rank[there] * cells).astype(np.int64), cells - 1)
    return np.bincount(row[there] * cells + cell, minlength=rows * cells).reshape(rows, cells)


def _strange(tables: Tables, chance: float) -> dict[str, float]:
    """What strays, and how likely an honest client is to show it."""
    return {what: value for what, value in tables.items() if value < chance / len(tables)}


def _chance(counts: np.ndarray) -> float:
    """Of chi-squared, each row beside its own total; rows of few are left out."""
    cells = counts.shape[1]
    rows = counts[counts.sum(axis=1) >= _FEW * cells]
    if not len(rows):
        return 1.0
    expected = rows.sum(axis=1, keepdims=True) / cells
    return float(scipy.special.chdtrc(len(rows) * (cells - 1), float(((rows - expected) ** 2 / expected).sum())))
