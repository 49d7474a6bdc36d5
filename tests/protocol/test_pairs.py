"""Joint counts of pairs of any two attributes: what a scheme may pair, what an aggregate keeps, and what a file does."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy

import dpcore as dp
from dpcore import pipeline, populations, wire
from dpcore.errors import InvalidReport, SchemeError, SchemeMismatch
from dpcore.mechanisms import Reports
from dpcore.protocol.aggregates import Aggregate
from dpcore.protocol.domain import pairs
from dpcore.protocol.label_sums import Labelled
from dpcore.protocol.report import Answers, ReportBatch, batch_of

KINDS = {
    "wave": 'type = "numeric"\nlower = 0\nupper = 100\nmechanism = "square_wave"\ncells = 16',
    "levels": 'type = "numeric"\nlower = 0\nupper = 100\nmechanism = "dyadic_wave"',
    "noisy": 'type = "numeric"\nlower = 0\nupper = 100\ndegree = 1\nfinest_level = 3\ncells = 128',
    "silent": 'type = "numeric"\nlower = 0\nupper = 100\nmissing = "category"',
    "points": 'type = "numeric"\nlower = 0\nupper = 4\nstep = 1\nmechanism = "unary_encoding"',
    "binned": 'type = "categorical"\nbins = [20, 40]\nmechanism = "hadamard_response"',
    "named": 'type = "categorical"\ncategories = ["u", "v", "w"]\nmechanism = "randomized_response"',
    "hashed": 'type = "categorical"\ncategories = ["u", "v", "w", "x"]\nmechanism = "local_hashing"',
    "subset": 'type = "categorical"\ncategories = ["u", "v", "w", "x", "y", "z", "a", "b"]\nmechanism = "subset_selection"',
}
COUNTED = ("wave", "levels", "silent", "named")  # reports of one output


def scheme(*asked: tuple[str, str], more: str = "", labels: str = "") -> dp.Scheme:
    """A scheme of these pairs of kinds, whose attributes are named by their kinds."""
    names = dict.fromkeys(name for pair in asked for name in pair)
    tables = "".join(f"[attributes.{name}]\nepsilon = 1\n{KINDS[name]}\n" for name in names)
    text = f'name = "s"\nclients = 5000\npairs = {[list(pair) for pair in asked]}\n{more}{tables}{labels}'
    return dp.Scheme.from_toml(text.replace("'", '"'))


def people(of: dp.Scheme, n: int, seed: int = 5) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    lean = generator.random(n)  # what goes with what
    records: dict[str, np.ndarray] = {}
    for name, attribute in of.reported.items():
        u = np.clip(lean + 0.2 * generator.standard_normal(n), 0, 0.999)
        if attribute.is_numeric or attribute.bins is not None:
            top = 4 if attribute.points is not None else 100
            records[name] = np.floor(top * u) if attribute.points is not None else top * u
            if attribute.missing == "category":
                records[name] = np.where(generator.random(n) < 0.2, np.nan, records[name])
        else:
            places = (u * len(attribute.categories)).astype(int)
            records[name] = np.array(attribute.categories)[places]
    return records


def by_hand(of: dp.Scheme, batch: ReportBatch, pair: tuple[str, str]) -> np.ndarray:
    """The table of a pair, one client after another."""
    first, second = (of.attributes[name].mechanism for name in pair)
    ours, theirs = (batch.of(name).reports for name in pair)
    table = pairs.zero(pair, of.attributes)
    for client in range(len(ours)):
        alone = np.array([client])
        left = second.statistics(theirs.take(alone, second.sizes))
        table += np.outer(left, first.statistics(ours.take(alone, first.sizes)))
    return table


ALLOWED = [
    pair for pair in product(KINDS, KINDS) if pair[0] < pair[1] and ("noisy" not in pair or {*pair} & {*COUNTED})
]


def test_a_table_is_what_each_client_adds(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for pair in ALLOWED:
        with subtests.test(pair=pair):
            asked = scheme(pair)
            batch = dp.privatize(asked, people(asked, 100), dp.seeded(1))
            whole = dp.aggregate(asked, batch)
            assert np.array_equal(whole.pairs[pair], by_hand(asked, batch, pair))
            for name, attribute in asked.attributes.items():
                assert np.array_equal(whole.statistics[name], attribute.mechanism.statistics(batch.of(name).reports))
            wire.write_aggregate(tmp_path / "a.parquet", whole)
            read = wire.read_aggregate(tmp_path / "a.parquet", asked)
            assert read.equals(whole)
            assert read.fingerprint == whole.fingerprint


def _part(of: dp.Scheme, batch: ReportBatch, clients: np.ndarray) -> ReportBatch:
    answers = {
        name: Answers(np.arange(len(clients)), batch.of(name).reports.take(clients, of.reported[name].mechanism.sizes))
        for name in of.reported
    }
    return ReportBatch(batch.digest, len(clients), answers)


MANY = (("levels", "wave"), ("hashed", "named"), ("points", "binned"), ("noisy", "levels"))


def test_parts_merge_in_any_order_to_the_same_bits() -> None:
    asked = scheme(*MANY)
    batch = dp.privatize(asked, people(asked, 500), dp.seeded(2))
    whole = dp.aggregate(asked, batch)
    parts = [dp.aggregate(asked, _part(asked, batch, few)) for few in np.array_split(np.arange(500), 7)]
    for seed in range(5):
        random.Random(seed).shuffle(parts)
        left = parts[0].merge(parts[1]).merge(parts[2])
        merged = left.merge(parts[3].merge(parts[4].merge(parts[5].merge(parts[6]))))
        assert merged.equals(whole)
        assert merged.fingerprint == whole.fingerprint
    assert not parts[0].equals(parts[1])


LABELS = '[labels.region]\ncategories = ["n", "s"]\n[labels.sex]\ncategories = ["f", "m"]\n'


def test_tables_by_label_are_those_of_their_clients_alone(tmp_path: Path) -> None:
    asked = scheme(*MANY, labels=LABELS)
    batch = dp.privatize(asked, people(asked, 400), dp.seeded(3))
    whole = dp.aggregate(asked, batch)
    assert whole.labelled is not None
    cells = 2 * batch.of("region").reports.values + batch.of("sex").reports.values
    for cell, pair in product(range(4), MANY):
        alone = _part(asked, batch, np.flatnonzero(cells == cell))
        assert np.array_equal(whole.labelled.pairs[pair][cell], by_hand(asked, alone, pair))
        inside = np.arange(4) == cell
        assert np.array_equal(whole.within(inside).pairs[pair], whole.labelled.pairs[pair][cell])
    for pair in MANY:
        assert np.array_equal(whole.labelled.pairs[pair].sum(axis=0), whole.pairs[pair])
    wire.write_aggregate(tmp_path / "a.parquet", whole)
    assert wire.read_aggregate(tmp_path / "a.parquet", asked).equals(whole)


def test_a_refused_report_is_in_no_table() -> None:
    asked = scheme(("levels", "points"), ("named", "hashed"))
    batch = dp.privatize(asked, people(asked, 200), dp.seeded(4))
    said = batch.of("named").reports.values.copy()
    said[:30] = 3
    odd = batch.of("points").reports.values.copy()
    odd[100:] = 32
    answers = {
        **batch.answers,
        "named": Answers(np.arange(200), Reports(np.zeros(200, np.uint8), said)),
        "points": Answers(np.arange(200), Reports(np.zeros(200, np.uint8), odd)),
    }
    found = dp.aggregate(asked, ReportBatch(batch.digest, 200, answers))
    kept = dp.aggregate(asked, _part(asked, batch, np.arange(30, 100)))
    assert found.n == kept.n == 70
    for pair in asked.pairs:
        assert np.array_equal(found.pairs[pair], kept.pairs[pair])
    assert kept.pairs["levels", "points"].any()


def test_who_reports_one_unit_answers_both_of_a_pair() -> None:
    asked = scheme(("levels", "hashed"), ("points", "binned"), more='reporting = "one"\n')
    assert asked.units == (("levels", "hashed"), ("points", "binned"))
    batch = dp.privatize(asked, people(asked, 600), dp.seeded(5))
    whole = dp.aggregate(asked, batch)
    assert whole.answered["levels"] + whole.answered["points"] == 600
    for pair in asked.pairs:
        assert whole.answered[pair[0]] == whole.answered[pair[1]] > 200
        assert np.array_equal(whole.pairs[pair], by_hand(asked, batch, pair))
    lone = batch.of("hashed")
    fewer = Answers(lone.clients[1:], lone.reports.take(np.arange(1, len(lone)), (3,)))
    found = dp.aggregate(asked, ReportBatch(batch.digest, 600, {**batch.answers, "hashed": fewer}))
    assert found.rejected == {"incomplete": 1}
    assert found.answered["levels"] == whole.answered["levels"] - 1


def test_groups_are_of_a_density_and_of_reports_that_name_a_category(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = scheme(("named", "wave"), ("levels", "named"), ("points", "named"), ("silent", "named"), ("wave", "hashed"))
    assert asked.grouped == (("levels", "named"),)
    assert dp.Scheme.from_toml(asked.canonical).digest == asked.digest
    assert dp.Scheme.from_toml(asked.canonical).pairs == asked.pairs
    with pytest.raises(SchemeError, match="there are no groups"):
        dp.estimate(dp.aggregate(asked, dp.privatize(asked, people(asked, 10), dp.seeded(6))), "named", given="wave")
    monkeypatch.setitem(KINDS, "wave", f"{KINDS['wave']}\nfunctionals = []")  # which groups there are hangs on none
    asked = scheme(("wave", "named"), ("points", "named"))
    whole = dp.aggregate(asked, dp.privatize(asked, people(asked, 4000), dp.seeded(6)))
    round_ = pipeline.estimate_all(whole)
    assert {(group.attribute, group.group.attribute) for group in round_.groups} == {("wave", "named")}


REFUSED = {
    "of one": ('["named", "named"]', "pairs must list two different attributes"),
    "of a stranger": ('["named", "income"]', "pairs must list two different attributes"),
    "of a label": ('["named", "region"]', "pairs must list two different attributes"),
    "of three": ('["named", "wave", "hashed"]', "pairs must list two different attributes"),
    "twice": ('["named", "wave"], ["named", "wave"]', "pairs must differ"),
    "both ways": ('["named", "wave"], ["wave", "named"]', "pairs must differ"),
    "two of noise": ('["noisy", "noise"]', "(noise|noisy) has the mechanism wavelet_laplace"),
    "noise and a set": (
        '["hashed", "noisy"]',
        "choose dyadic_wave or square_wave",
    ),
}


def test_what_cannot_be_paired_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for case in REFUSED:
        with subtests.test(case=case):
            asked, words = REFUSED[case]
            text = scheme(("named", "wave"), ("hashed", "wave"), ("noisy", "wave"), labels=LABELS).canonical
            kinds = "".join(
                f"[attributes.{name}]\nepsilon = 1\n{KINDS[name]}\n" for name in ("named", "wave", "hashed", "noisy")
            )
            kinds += f"[attributes.noise]\nepsilon = 1\n{KINDS['noisy']}\n"
            assert text
            with pytest.raises(SchemeError, match=words) as refused:
                dp.Scheme.from_toml(f'name = "s"\npairs = [{asked}]\n{kinds}{LABELS}')
            assert "\n" not in str(refused.value)


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [len(scheme(("hashed", "wave")).attributes[name].mechanism.labels().level) for name in ("hashed", "wave")]
    entries = sizes[0] * sizes[1]
    monkeypatch.setattr(pairs, "MOST_ENTRIES", entries)
    monkeypatch.setattr(pairs, "MOST_LABELLED", 4 * entries)
    assert scheme(("hashed", "wave"), labels=LABELS).pairs
    monkeypatch.setattr(pairs, "MOST_LABELLED", 4 * entries - 1)
    assert scheme(("hashed", "wave")).pairs
    with pytest.raises(SchemeError, match=f"{sizes[1]} x {sizes[0]} counts for each of 4 combinations of labels"):
        scheme(("hashed", "wave"), labels=LABELS)
    monkeypatch.setattr(pairs, "MOST_ENTRIES", entries - 1)
    with pytest.raises(SchemeError, match=f"{sizes[1]} x {sizes[0]} counts, more than {entries - 1}"):
        scheme(("hashed", "wave"))


def test_a_table_of_four_million_counts_is_the_largest() -> None:
    many = [f"c{i}" for i in range(2049)]
    text = f"""name = "s"
pairs = [["a", "b"]]
[attributes.a]
type = "categorical"
categories = {many}
epsilon = 1
mechanism = "hadamard_response"
[attributes.b]
type = "categorical"
categories = {many[:2048]}
epsilon = 1
mechanism = "hadamard_response"
""".replace("'", '"')
    with pytest.raises(SchemeError, match="2,048 x 2,049 counts, more than 4,194,304"):
        dp.Scheme.from_toml(text)
    assert dp.Scheme.from_toml(text.replace('"c2047", "c2048"]', '"c2047"]')).pairs


def _change(path: Path, change: Callable[[dict[str, list]], None]) -> None:
    table = pq.read_table(path)
    columns = {name: table.column(name).to_pylist() for name in table.schema.names}
    change(columns)
    pq.write_table(pa.table(columns, schema=table.schema), path)


def _row(columns: dict[str, list], pair: tuple[str, str]) -> int:
    rows = zip(columns["attribute"], columns["given"], columns["statistic"], strict=True)
    return list(rows).index((*pair, "pair"))


Hurt = Callable[[dict[str, list], int], object]
HURT: dict[str, Hurt] = {
    "an entry is another's": lambda columns, row: columns["value"].__setitem__(row, columns["value"][row] + 1),
    "a row is outside": lambda columns, row: columns["level"].__setitem__(row, 1 << 20),
    "a column is before the first": lambda columns, row: columns["cell"].__setitem__(row, -1),
    "an entry is missing": lambda columns, row: [column.pop(row) for column in columns.values()],
    "an entry comes twice": lambda columns, row: [column.append(column[row]) for column in columns.values()],
    "an entry is zero": lambda columns, row: columns["value"].__setitem__(row, 0),
    "a pair is no pair": lambda columns, row: columns["given"].__setitem__(row, "other"),
    "a pair is turned": lambda columns, row: (
        columns["given"].__setitem__(row, columns["attribute"][row]),
        columns["attribute"].__setitem__(row, "binned" if columns["given"][row] == "points" else "wave"),
    ),
}


def test_a_file_whose_joint_counts_are_not_those_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    asked, file = scheme(*MANY), tmp_path / "a.parquet"
    whole = dp.aggregate(asked, dp.privatize(asked, people(asked, 400), dp.seeded(7)))
    wire.write_aggregate(file, whole)
    assert wire.read_aggregate(file, asked).equals(whole)
    content = file.read_bytes()
    more: Hurt = lambda columns, row: columns["value"].__setitem__(row, 401)  # noqa: E731
    unseen = ("an entry is another's", "an entry is missing")  # in sums that are not the table's margins
    of_sets = {name: hurt for name, hurt in HURT.items() if name not in unseen}
    for pair, changes in {("levels", "wave"): HURT, ("points", "binned"): {**of_sets, "more than all": more}}.items():
        for name, hurt in changes.items():
            with subtests.test(pair=pair, hurt=name):
                file.write_bytes(content)
                _change(file, lambda columns, pair=pair, hurt=hurt: hurt(columns, _row(columns, pair)))
                with pytest.raises(InvalidReport, match="joint counts"):
                    wire.read_aggregate(file, asked)


def test_only_entries_that_are_not_zero_are_written(tmp_path: Path) -> None:
    asked = scheme(("levels", "wave"), ("levels", "named"))
    whole = dp.aggregate(asked, dp.privatize(asked, people(asked, 50), dp.seeded(8)))
    wire.write_aggregate(tmp_path / "a.parquet", whole)
    table = pq.read_table(tmp_path / "a.parquet").to_pandas()
    assert (table.statistic == "pair").sum() == np.count_nonzero(whole.pairs["levels", "wave"]) <= 50
    assert (table.given == "named=u").sum() == whole.pairs["levels", "named"].shape[1]  # groups are written whole


def test_simulated_joint_counts_are_those_of_reports() -> None:
    asked = scheme(("levels", "hashed"), ("points", "binned"))
    records = people(asked, 1000)
    drawn = dp.simulate(asked, records, dp.seeded(9))
    assert drawn.equals(dp.aggregate(asked, dp.privatize(asked, records, dp.seeded(9))))
    grouped = scheme(("levels", "named"))
    assert dp.simulate(grouped, people(grouped, 1000), dp.seeded(9)).marginals == {}
    one = scheme(("levels", "hashed"), ("points", "binned"), more='reporting = "one"\n')
    with pytest.raises(SchemeError, match="simulate: needs reporting"):
        dp.simulate(one, records, dp.seeded(9))


def test_a_population_is_simulated_a_block_of_reports_at_a_time() -> None:
    text = """name = "s"
pairs = [["income", "expenditure"], ["income", "urban_rural"]]
[attributes.income]
type = "numeric"
lower = 0
upper = 250000
epsilon = 1
[attributes.expenditure]
type = "numeric"
lower = 0
upper = 60000
epsilon = 1
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 1
"""
    asked, everyone = dp.Scheme.from_toml(text), populations.by_scheme("consumer_expenditure")
    drawn = dp.simulate(asked, everyone, dp.seeded(10), 70_000)
    assert drawn.n == 70_000
    assert drawn.equals(pipeline.collect(asked, everyone, 70_000, dp.seeded(10)))
    for pair in asked.pairs:
        assert drawn.pairs[pair].sum() == 70_000


TWINS = """name = "s"
pairs = [["a", "b"]]
[attributes.a]
type = "categorical"
categories = ["u", "v", "w", "x"]
epsilon = 1
[attributes.b]
type = "categorical"
categories = ["u", "v", "w", "x"]
epsilon = 1
"""


def _reports(asked: dp.Scheme, path: str, n: int) -> ReportBatch:
    """Reports of people with one record: of all together, or of clients that remember, one after another."""
    if path == "together":
        return dp.privatize(asked, {"a": np.full(n, "v"), "b": np.full(n, "v")}, dp.seeded(11))
    secrets = (client.to_bytes(32, "big") for client in range(n))
    made = (dp.Client(asked, random=dp.seeded(12), secret=secret).report({"a": "v", "b": "v"}) for secret in secrets)
    return batch_of(made)


@pytest.mark.parametrize(("path", "n"), [("together", 40_000), ("one by one", 1000)])
def test_the_two_reports_of_a_client_are_independent_given_its_record(path: str, n: int) -> None:
    """The table of people with one record is that of independent draws, whose law is the product of two channels' rows."""
    asked = dp.Scheme.from_toml(TWINS)
    table = dp.aggregate(asked, _reports(asked, path, n)).pairs["a", "b"]
    (weights,) = asked.attributes["a"].mechanism.channel() or ()
    row = weights[1] / weights[1].sum()
    assert table.sum() == n
    assert scipy.stats.chisquare(table.ravel(), n * np.outer(row, row).ravel()).pvalue > 1e-9


def test_clients_that_answered_one_of_a_pair_alone_are_no_pair() -> None:
    asked = scheme(("levels", "hashed"))
    batch = dp.privatize(asked, people(asked, 10), dp.seeded(13))
    few = _part(asked, batch, np.arange(9))
    answers = {"levels": batch.of("levels"), "hashed": few.of("hashed")}
    with pytest.raises(SchemeMismatch, match="must be answered by the same clients"):
        Labelled.from_answers(asked, answers, np.ones(10, dtype=bool))
    assert Aggregate.zero(asked).pairs["levels", "hashed"].shape[0] == 4
