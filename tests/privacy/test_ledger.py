from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore._random import Source
from dpcore.errors import BudgetExceeded, DPCoreError, InvalidRecord, SchemeError
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Charge, InMemory, Ledger
from dpcore.privacy.memoization import Memory
from dpcore.protocol import tokens
from dpcore.protocol.report import Report
from dpcore.protocol.scheme import Scheme
from dpcore.wire import FileStore
from tests.helpers import client_cases

SECRET = b"a client's secret"
RECORD = {"side": "left", "colour": "red", "height": 1.2}


class Counting(Source):
    """The words of another source, counted."""

    def __init__(self, fails: bool = False) -> None:
        self.drawn, self._fails, self._inner = 0, fails, dp.secure()

    def words(self, count: int) -> np.ndarray:
        if self._fails:
            raise KeyboardInterrupt
        self.drawn += count
        return self._inner.words(count)

    def generator(self) -> np.random.Generator:
        raise AssertionError

    def spawn(self, *key: int) -> Source:
        return self


def charge(cost: str, name: str = "") -> Charge:
    return Charge(attribute="income", cost=Budget.parse(cost), name=name)


def reports(scheme: Scheme, path: Path, total: str = "64", **record: object) -> Report:
    """The report of a client that has just been started: nothing is left of the one before but the file."""
    ledger = Ledger(Budget.parse(total), FileStore(path))
    return dp.Client(scheme, dp.secure(), secret=SECRET, ledger=ledger).report(RECORD | record)


def test_a_restart_neither_forgets_a_charge_nor_draws_fresh_noise(tmp_path: Path, small: Scheme) -> None:
    path = tmp_path / "ledger"
    first = reports(small, path)
    for _ in range(20):
        again = reports(small, path)
        assert again.answers == first.answers  # an average of reports gains nothing after the first
        assert again.id != first.id
    assert len(FileStore(path).lines()) == 1
    assert Ledger(Budget.parse("64"), FileStore(path)).spent() == small.budget
    assert first.token == tokens.token_of(SECRET, small.digest)
    fresh = [dp.Client(small, dp.secure(), first.token).report(RECORD).answers for _ in range(20)]
    assert len({str(answers) for answers in fresh}) > 1


def test_every_state_is_charged_once_and_its_attribute_alone(tmp_path: Path, small: Scheme) -> None:
    path, ledger = tmp_path / "ledger", Ledger(Budget.parse("64"), FileStore(tmp_path / "ledger"))
    for _ in range(2):
        for side in ("left", "right"):
            for colour in ("red", "green"):
                reports(small, path, side=side, colour=colour)
    assert ledger.spent("side") == Budget.parse("ln 9")
    assert ledger.spent("colour") == Budget.parse("1")
    assert ledger.spent("height") == Budget.parse("1")
    text = path.read_text()
    assert not any(told in text for told in ("left", "red", "green", "1.2"))  # names do not tell the states
    assert SECRET.decode() not in text


def test_words_and_names_are_of_one_secret_scheme_attribute_level_and_state() -> None:
    """Shared words are shared noise, of which differences are free; a shared name is an answer that nobody has paid for."""
    one = (SECRET, "a" * 64, "income", 0, 7)
    others = [(b"another's secret", *one[1:]), (one[0], "b" * 64, *one[2:]), (*one[:2], "age", *one[3:])]
    asked = [one, *others, (*one[:3], 1, 7), (*one[:4], 8), (*one[:3], 7, 0)]
    memories = [(Memory(secret, digest), state) for secret, digest, *state in asked]
    assert len({tuple(memory.words(*state).words(8)) for memory, state in memories}) == len(asked)
    assert len({memory.name(*state) for memory, state in memories}) == len(asked)
    words, names = memories[0][0].words("income", 0, 7).words(8).tobytes().hex(), memories[0][0].name("income", 0, 7)
    assert words[:32] != names


def test_the_overdraft_is_refused_and_nothing_is_drawn(tmp_path: Path, small: Scheme) -> None:
    for secret in (None, SECRET):
        store, source = FileStore(tmp_path / str(secret is None)), Counting()
        client = dp.Client(small, source, secret=secret, ledger=Ledger(Budget.parse("3"), store))
        client.report(RECORD)  # ln 3 + 1.5
        drawn, lines = source.drawn, store.lines()
        with pytest.raises(BudgetExceeded, match="nothing was drawn"):
            client.report(RECORD | {"side": "right"})
        assert source.drawn == drawn
        assert store.lines() == lines  # all of it or none of it: the other attributes' states were known
    assert reports(small, tmp_path / "False", total="3").answers  # what was paid for can be sent again


def test_who_has_a_token_alone_pays_for_every_answer(small: Scheme) -> None:
    """Its noise is fresh, though its level and unit are for life."""
    ledger = Ledger(Budget.parse("64"), InMemory())
    client = dp.Client(small, dp.secure(), tokens.token_of(SECRET, small.digest), ledger=ledger)
    client.report(RECORD), client.report(RECORD)
    assert ledger.spent() == small.budget + small.budget


def test_it_is_charged_before_it_is_drawn(tmp_path: Path, small: Scheme) -> None:
    ledger = Ledger(Budget.parse("64"), FileStore(tmp_path / "ledger"))
    with pytest.raises(KeyboardInterrupt):
        dp.Client(small, Counting(fails=True), ledger=ledger).report(RECORD)
    assert ledger.spent() == small.budget

    class Full(InMemory):
        def append(self, line: str) -> None:
            raise DPCoreError("disk full")

    source = Counting()
    with pytest.raises(DPCoreError, match="disk full"):
        dp.Client(small, source, ledger=Ledger(Budget.parse("64"), Full())).report(RECORD)
    with pytest.raises(InvalidRecord):
        dp.Client(small, source, ledger=ledger).report({})
    assert source.drawn == 0
    assert ledger.spent() == small.budget


def test_a_drawn_unit_is_charged_as_the_dearest() -> None:
    scheme = Scheme.from_toml(client_cases.ONE)
    record = client_cases.RECORDS["one_of_three"][0]
    ledger = Ledger(Budget.parse("64"), InMemory())
    dp.Client(scheme, dp.secure(), ledger=ledger).report(record)
    assert ledger.spent() == scheme.budget == Budget.parse("2")
    of_life = {str(sorted(dp.Client(scheme, dp.secure(), secret=SECRET).report(record).answers)) for _ in range(9)}
    assert len(of_life) == 1


def test_delta_is_charged_of_the_dearest_unit_or_of_all(subtests: pytest.Subtests) -> None:
    for reporting, pairs, cost, delta in [
        ("one", "", "1", 3),
        ("all", "", "3", 4),
        ("one", 'pairs = [["x", "side"], ["y", "side"]]\n', "3", 4),
    ]:
        with subtests.test(reporting=reporting, pairs=pairs, cost=cost, delta=delta):
            text = f'name = "deltas"\nreporting = "{reporting}"\nclients = 1000\n{pairs}'
            for name, its_own in (("x", 1), ("y", 3)):
                text += f'[attributes.{name}]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
                text += 'mechanism = "wavelet_laplace"\n'
                text += (
                    f'degree = 1\nfinest_level = 3\ncells = 128\nnoise = "discrete_gaussian"\ndelta = {its_own}e-6\n'
                )
            text += '[attributes.side]\ntype = "categorical"\ncategories = ["left", "right"]\nepsilon = 1\n'
            scheme, ledger = Scheme.from_toml(text), Ledger(Budget.parse("9"), InMemory(), Fraction(5, 10**6))
            assert (scheme.budget, scheme.delta) == (Budget.parse(cost), Fraction(delta, 10**6))
            record = {"x": 0.5, "y": 0.5, "side": "left"}
            dp.Client(scheme, dp.secure(), ledger=ledger).report(record)
            assert (ledger.spent(), ledger.spent_delta()) == (scheme.budget, scheme.delta)
            with pytest.raises(BudgetExceeded, match="total delta"):
                dp.Client(scheme, dp.secure(), ledger=ledger).report(record)


def test_a_total_is_kept_where_floats_tell_no_difference(subtests: pytest.Subtests) -> None:
    for total, costs, beyond in [
        ("ln 3", [], "1.0986122886681096914"),
        ("0.3", ["0.1", "0.1", "0.1"], "1e-40"),
        ("1 + ln 2", ["0.5", "ln 2"], "0.5000000000000000000000000001"),
    ]:
        with subtests.test(total=total, costs=costs, beyond=beyond):
            ledger = Ledger(Budget.parse(total), InMemory())
            for cost in costs:
                ledger.charge([Charge(attribute="a", cost=Budget.parse(cost))])
            spent = ledger.spent()
            with pytest.raises(BudgetExceeded):
                ledger.charge([Charge(attribute="a", cost=Budget.parse(beyond))])
            assert ledger.spent() == spent


def test_nobody_writes_between_what_is_read_and_what_is_charged() -> None:
    class Kept(InMemory):
        is_held = False

        def lines(self) -> list[str]:
            assert self.is_held
            return super().lines()

        def append(self, line: str) -> None:
            assert self.is_held
            super().append(line)

        @contextmanager
        def held(self) -> Iterator[None]:  # type: ignore[override]
            self.is_held = True
            yield
            self.is_held = False

    store = Kept()
    assert Ledger(Budget.parse("1"), store).charge([charge("1")]) == 1
    assert not store.is_held


def test_what_is_beyond_any_budget_is_refused() -> None:
    ledger = Ledger(Budget.parse("64"), InMemory())
    ledger.charge([charge("40")])
    with pytest.raises(BudgetExceeded):
        ledger.charge([charge("40")])
    assert ledger.spent() == Budget.parse("40")


def test_a_memory_shows_no_secret_and_takes_no_short_one() -> None:
    assert "secret" not in repr(Memory(b"a secret that stays where it is", "digest"))
    with pytest.raises(SchemeError, match="secret"):
        Memory(bytes(15), "digest")


def test_a_wave_forgets_what_its_level_does_not_see() -> None:
    """States are phases: two cells that a level cannot tell apart share their answer, and their charge."""
    mechanism = Scheme.from_toml(client_cases.ONE).attributes["income"].mechanism
    cells = np.arange(mechanism.inputs)
    for level, weights in enumerate(mechanism.channel() or ()):
        states = mechanism.states(cells, level)
        assert len(np.unique(states)) == 64
        for state in (0, 17, 63):
            assert len(np.unique(weights[states == state], axis=0)) == 1


@given(st.lists(st.sampled_from(["0.1", "1/3", "ln 3", "0.25 + ln 2"]), min_size=1, max_size=9), st.integers(1, 40))
def test_what_is_spent_is_the_exact_sum_and_never_above_the_total(costs: list[str], tenths: int) -> None:
    total = Budget(rational=Fraction(tenths, 10))
    ledger = Ledger(total, InMemory())
    made = []
    for cost in costs:
        try:
            ledger.charge([charge(cost)])
            made.append(cost)
        except BudgetExceeded:
            before = float(ledger.spent() or 0)
            assert before + float(Budget.parse(cost)) > float(total) - 1e-12
    spent = ledger.spent()
    assert math.isclose(float(spent or 0), sum(float(Budget.parse(cost)) for cost in made), abs_tol=1e-12)
    assert spent is None or total.covers(spent)


def test_exactly_the_total_can_be_spent() -> None:
    ledger = Ledger(Budget.parse("1 + ln 9"), InMemory())
    for cost in ("0.1",) * 10 + ("ln 3", "ln 3"):
        ledger.charge([charge(cost)])
    with pytest.raises(BudgetExceeded):
        ledger.charge([charge("1/1000000000000")])
    assert not Budget.parse("1.0986").covers(Budget.parse("ln 3"))
    assert Budget.parse("1.0987").covers(Budget.parse("ln 3"))
    assert Budget.parse("ln 3").covers(Budget.parse("1.0986"))
    assert not Budget.parse("ln 3").covers(Budget.parse("1.0987"))
    assert not Budget.parse("63").covers(Budget.parse("1 + ln 3") + Budget.parse("61"))


def test_who_charges_waits_for_who_is_at_it(tmp_path: Path) -> None:
    """Two that both read before either writes would spend the total twice; a descriptor's lock holds between threads, too."""
    store = FileStore(tmp_path / "ledger")
    other = threading.Thread(target=Ledger(Budget.parse("1"), FileStore(store.path)).charge, args=([charge("1")],))
    with store.held():
        other.start()
        other.join(0.15)
        assert other.is_alive()
        assert store.lines() == []
    other.join()
    assert len(store.lines()) == 1


def test_a_charge_is_on_the_disk_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line, then the head that counts it, and the folder that names the file: no kill shows what a power cut takes."""
    path, synced = tmp_path / "ledger", list[tuple[int, bytes]]()
    ledger = Ledger(Budget.parse("2"), FileStore(path))
    ledger.charge([charge("1")])
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda opened: (synced.append((os.fstat(opened).st_ino, path.read_bytes())), real(opened))[1]
    )
    before = path.read_bytes()
    ledger.charge([charge("1")])
    after, heads = path.read_bytes(), 2 * before.index(b"\n") + 2
    (line, with_line), (head, with_head), (folder, _) = synced
    assert line == head == path.stat().st_ino
    assert with_line == before[:heads] + after[heads:]
    assert with_head == after
    assert folder == tmp_path.stat().st_ino


@settings(max_examples=40)
@given(st.text(max_size=40).filter(lambda text: text.strip() not in ("[]", "{}")))
def test_a_line_that_no_ledger_wrote_is_refused_in_one_line(line: str) -> None:
    store = InMemory()
    store.append(line)
    with pytest.raises(DPCoreError) as refused:
        Ledger(Budget.parse("1"), store).charge([charge("0.1")])
    assert "\n" not in str(refused.value)


def test_the_overdraft_of_delta_is_refused_beside_that_of_epsilon(tmp_path: Path) -> None:
    scheme = Scheme.from_toml(
        'name = "relaxed"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\nfinest_level = 3\ncells = 128\n'
        'mechanism = "wavelet_laplace"\nnoise = "discrete_gaussian"\ndelta = 1e-6\n'
    )
    words, store = Counting(), FileStore(tmp_path / "ledger")
    ledger = Ledger(Budget.parse("10"), store, Fraction(2, 10**6))
    client = dp.Client(scheme, words, ledger=ledger)
    for _ in range(2):
        client.report({"x": 0.3})
    drawn = words.drawn
    with pytest.raises(BudgetExceeded, match="total delta of 2e-06, with 2e-06 already spent; nothing was drawn"):
        client.report({"x": 0.3})
    assert words.drawn == drawn
    assert (ledger.spent(), ledger.spent_delta()) == (Budget.parse("2"), Fraction(2, 10**6))
    with pytest.raises(BudgetExceeded, match="total of 2,"):
        dp.Client(scheme, words, ledger=Ledger(Budget.parse("2"), store, Fraction(1))).report({"x": 0.3})
    with pytest.raises(BudgetExceeded, match="total delta of 0"):  # who promised epsilon alone
        dp.Client(scheme, words, ledger=Ledger(Budget.parse("10"), InMemory())).report({"x": 0.3})
    store.append('[["x","1","","-1/2"]]')
    with pytest.raises(DPCoreError, match="damaged line"):
        ledger.spent_delta()


@pytest.mark.slow
def test_processes_that_are_killed_lose_no_charge_and_share_no_budget(tmp_path: Path) -> None:
    """Two at a time charge and print what was charged, until they are killed: all that was said is in the file, none twice."""
    path = tmp_path / "ledger"
    code = (
        "import sys; from pathlib import Path\n"
        "from dpcore.privacy.budget import Budget; from dpcore.privacy.ledger import Charge, Ledger\n"
        "from dpcore.wire import FileStore\n"
        "ledger = Ledger(Budget.parse('64'), FileStore(Path(sys.argv[1])))\n"
        "for i in range(10**6):\n"
        "    ledger.charge([Charge(attribute='a', cost=Budget.parse('0.01'), name=f'{sys.argv[2]}.{i}')])\n"
        "    print(f'{sys.argv[2]}.{i}', flush=True)\n"
    )
    said: list[str] = []
    for turn in range(6):
        pair = [
            subprocess.Popen([sys.executable, "-c", code, path, f"{turn}.{one}"], stdout=subprocess.PIPE, text=True)
            for one in range(2)
        ]
        for process in pair:
            assert process.stdout is not None
            said += [process.stdout.readline().strip() for _ in range(3 + turn)]
        for process in pair:
            process.kill()
            said += process.communicate()[0].split()
    names = [name for line in FileStore(path).lines() for _, _, name in json.loads(line)]
    assert {name for name in said if name} <= set(names)
    assert len(names) == len(set(names)) >= 66
