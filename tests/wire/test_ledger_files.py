"""A ledger's file: other names of it, every byte that may go missing or change, every moment of a kill, and older ledgers."""

from __future__ import annotations

import base64
import hmac
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, combinations, permutations
from pathlib import Path

import pytest

from dpcore.errors import DPCoreError
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Charge, Ledger
from dpcore.wire import FileStore, LedgerFolder

OLD = (  # as ldpflow wrote them until 2026-11-22
    b'a1a22397 [["side","ln 3","00aa"],["income","0.5","00bb"]]\n'
    b'9e556cd3 [["income","0.5","00cc","1/1000000"]]\n'
    b'b072a116 [["","2",""]]\n'
)
LINKS: dict[str, Callable[[Path, Path], None]] = {"symbolic": os.symlink, "hard": os.link}
both_links = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)


def ledger_of(path: Path, total: str = "64") -> Ledger:
    return Ledger(Budget.parse(total), FileStore(path), Fraction(1, 100))


def charge(cost: str, name: str = "") -> Charge:
    return Charge(attribute="income", cost=Budget.parse(cost), name=name)


def charged(path: Path, *costs: str) -> bytes:
    """A ledger of one line for each of the charges, and its bytes."""
    for cost in costs:
        ledger_of(path).charge([charge(cost, cost)])
    return path.read_bytes()


def spent(path: Path) -> float | None:
    """What a ledger says was spent; None where it is refused."""
    try:
        return float(ledger_of(path).spent() or 0)
    except DPCoreError:
        return None


@both_links
def test_who_charges_waits_for_who_is_at_it_by_another_name(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    path, other = tmp_path / "ledger", tmp_path / "elsewhere" / "spent"
    charged(path, "1")
    other.parent.mkdir()
    link(path, other)
    waits = threading.Thread(target=ledger_of(other).charge, args=([charge("1")],))
    with FileStore(path).held():
        waits.start()
        waits.join(0.15)
        assert waits.is_alive()
    waits.join()
    assert len(FileStore(path).lines()) == 2
    assert path.is_file()
    assert not path.is_symlink()


@both_links
def test_two_processes_by_two_names_get_no_more_than_there_is(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    path, other = tmp_path / "ledger", tmp_path / "link"
    charged(path, "1")
    link(path, other)
    code = (
        "import sys; from pathlib import Path\n"
        "from dpcore.errors import BudgetExceeded; from dpcore.privacy.budget import Budget\n"
        "from dpcore.privacy.ledger import Charge, Ledger; from dpcore.wire import FileStore\n"
        "ledger, granted = Ledger(Budget.parse('40'), FileStore(Path(sys.argv[1]))), 0\n"
        "print('ready', flush=True), input()\n"
        "try:\n"
        "    while ledger.charge([Charge(attribute='a', cost=Budget.parse('1'))]): granted += 1\n"
        "except BudgetExceeded: print(granted)\n"
    )
    command = [sys.executable, "-c", code]
    pair = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in (path, other)
    ]
    for process in pair:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in pair:  # both go at once
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    granted = [int(process.communicate()[0]) for process in pair]
    assert sum(granted) == 39
    assert len(FileStore(path).lines()) == 40
    assert spent(path) == spent(other) == 40


def test_a_link_may_lead_to_a_ledger_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "ledger")
    assert spent(tmp_path / "link") == 0
    charged(tmp_path / "link", "1")
    assert spent(tmp_path / "ledger") == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ledger", "link"]
    assert (tmp_path / "ledger").stat().st_mode & 0o077 == 0


def test_who_waited_for_a_file_that_was_replaced_takes_the_new_one(tmp_path: Path) -> None:
    path, copy = tmp_path / "ledger", tmp_path / "copy"
    charged(path, "1")
    charged(copy, "1", "2")
    waits = threading.Thread(target=ledger_of(path).charge, args=([charge("4")],))
    with FileStore(path).held():
        waits.start()
        waits.join(0.15)
        copy.rename(path)
    waits.join()
    assert spent(path) == 7


def test_nine_charges_do_not_read_as_three(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    lines = charged(path, *(f"{number}" for number in range(1, 10))).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-6]))
    with pytest.raises(DPCoreError, match="it had 9 charges or more, and line 6 is missing"):
        ledger_of(path).spent()
    with pytest.raises(DPCoreError, match="what was spent is unknown"):
        ledger_of(path).charge([charge("1")])


def changed(whole: bytes, bits: int) -> Iterator[bytes]:
    """All prefixes; any of the lines, in their order; the lines in any order; every byte taken out or changed."""
    yield from (whole[:cut] for cut in range(len(whole)))
    lines = whole.splitlines(keepends=True)
    subsets = chain.from_iterable(combinations(lines, count) for count in range(len(lines)))
    yield from (b"".join(some) for some in subsets)
    yield from (b"".join(order) for order in permutations(lines))
    yield from (b"".join([*lines[:at], lines[at], *lines[at:]]) for at in range(len(lines)))
    for at, byte in enumerate(whole):
        some = ((at + step * 8 // bits) % 8 for step in range(bits))
        yield from (whole[:at] + bytes([byte ^ 1 << bit]) + whole[at + 1 :] for bit in some)
        yield whole[:at] + whole[at + 1 :]


@pytest.mark.parametrize("bits", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_no_loss_and_no_change_reads_as_less_than_was_charged(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "ledger"
    whole = charged(path, "1", "2", "4")
    newer, older, *lines = whole.splitlines(keepends=True)
    for data in changed(whole, bits):
        path.write_bytes(data)
        assert spent(path) in (None, 7), data
    for damaged in (b"x" * len(newer) + older, newer + b"x" * len(older), bytes(len(newer)) + older):
        for count in range(len(lines)):  # a head that cannot be read does not hide a line that is missing
            path.write_bytes(damaged + b"".join(lines[:count]))
            assert spent(path) is None


def test_a_lost_last_line_break_drops_no_charge(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    whole = charged(path, "1", "2")
    path.write_bytes(whole[:-1])
    assert spent(path) == 3
    after = charged(path, "2", "4")  # of which one is known
    assert after[len(whole) - 30 :].startswith(whole[-30:])
    assert spent(path) == 7


def test_a_kill_at_any_byte_loses_no_charge_and_locks_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file as it is before, between and within the writes of a charge; and so for the charge that comes after that."""
    path, copy, real = tmp_path / "ledger", tmp_path / "copy", os.pwrite
    states: list[bytes] = []

    def torn(file: int, data: bytes, at: int) -> int:
        before = os.pread(file, 1 << 20, 0)
        states.extend(before[:at] + data[:cut] + before[at + cut :] for cut in range(len(data)))
        return real(file, data, at)

    whole = charged(path, "1", "2")
    monkeypatch.setattr(os, "pwrite", torn)
    charged(path, "4")
    monkeypatch.setattr(os, "pwrite", real)
    again: list[bytes] = []
    for state in states:
        copy.write_bytes(state)
        found = spent(copy)
        assert found in (3, 7)
        is_known = ledger_of(copy).charge([charge("4", "4")]) == 0
        assert is_known == (found == 7)
        assert spent(copy) == 7
        again.append(copy.read_bytes())
    head, line = whole.splitlines(keepends=True)[0], whole.splitlines(keepends=True)[-1]
    assert len(states) == len(head + line)
    assert set(again) == {path.read_bytes()}  # whatever was torn: what comes after is what it would have been


def test_a_power_cut_may_leave_holes_in_a_line_that_was_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    whole = charged(path, "1", "2")
    for tail in (bytes(50), bytes(4000) + b'","0.5",""]]\n', b"59259" + bytes(9) + b'\n"2"]]\n'):
        path.write_bytes(whole + tail)
        assert spent(path) == 3
        charged(path, "4")
        assert spent(path) == 7
        assert bytes(1) not in path.read_bytes()
    path.write_bytes(whole[:-60] + bytes(60))  # of one that was counted, never
    assert spent(path) is None
    path.write_bytes(whole + OLD.splitlines(keepends=True)[-1])  # an older client's charge, which nobody may drop
    assert spent(path) is None


def test_a_full_disk_leaves_nothing_beside_a_ledger_that_could_not_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DPCoreError, match=r"No space left on device\); nothing was drawn"):
        ledger_of(tmp_path / "ledger").charge([charge("1")])
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_is_told_and_what_it_left_is_no_trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = tmp_path / "ledger", os.pwrite
    charged(path, "1")

    size = path.stat().st_size

    def full(file: int, data: bytes, at: int) -> int:
        if at >= size + 20:
            raise OSError(28, "No space left on device")
        return real(file, data[: max(size + 20 - at, 0)], at)

    monkeypatch.setattr(os, "pwrite", full)
    store = FileStore(path)
    with pytest.raises(DPCoreError, match=r"cannot be written \(No space left on device\); nothing was drawn"):
        Ledger(Budget.parse("64"), store).charge([charge("2", "2")])
    with store.held():
        for _ in range(2):
            with pytest.raises(DPCoreError, match="written"):
                store.append("[[]]")
    monkeypatch.setattr(os, "pwrite", real)
    assert spent(path) == 1
    charged(path, "2")
    assert spent(path) == 3


def test_what_is_no_ledger_is_refused_in_one_line(tmp_path: Path, subtests: pytest.Subtests) -> None:
    path = tmp_path / "ledger"
    for data in [b"", b"\n", b"mine\n", b"ldpflow ledger 2 ", b"ldpflow ledger 3 \n", OLD[:20], b"\xff\n"]:
        with subtests.test(data=data):
            path.write_bytes(data)
            for use in (ledger_of(path).spent, lambda: ledger_of(path).charge([charge("1")])):
                with pytest.raises(DPCoreError, match="what was spent is unknown") as refused:
                    use()
                assert "\n" not in str(refused.value)
            assert path.read_bytes() == data


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null"), tmp_path / "none" / "ledger"):
        with pytest.raises(DPCoreError, match="the ledger "):
            ledger_of(path).charge([charge("1")])
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(DPCoreError, match="is no file"):
            ledger_of(path).spent()


def test_an_older_ledger_is_read_and_carried_over_by_its_first_charge(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(OLD)
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    ledger = ledger_of(tmp_path / "link")
    assert (ledger.spent(), ledger.spent_delta()) == (Budget.parse("3 + ln 3"), Fraction(1, 10**6))
    assert path.read_bytes() == OLD
    assert ledger.charge([charge("0.5", "00bb"), charge("0.5", "00cc")]) == 0  # has been paid for
    assert ledger.charge([charge("4", "00dd")]) == 1
    assert ledger.spent() == Budget.parse("7 + ln 3")
    assert [line.split(b" ", 1)[1] for line in OLD.splitlines()] == [line.encode() for line in FileStore(path).lines()][
        :3
    ]
    assert path.read_bytes().startswith(b"ldpflow ledger 2 ")
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
    whole = path.read_bytes()
    for cut in range(len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert spent(path) is None


def test_an_older_ledger_that_lost_its_last_line_break_keeps_its_last_charge(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for data in (OLD[:-1], OLD):
        path.write_bytes(data)
        assert spent(path) == float(Budget.parse("3 + ln 3"))
        ledger_of(path).charge([charge("4")])
        assert spent(path) == float(Budget.parse("7 + ln 3"))
    path.write_bytes(OLD[:-3])  # torn before anybody was told
    assert spent(path) == float(Budget.parse("1 + ln 3"))


def test_an_older_ledger_of_two_names_is_refused(tmp_path: Path) -> None:
    """Carried over under one name, it would go on as another ledger under the other."""
    path = tmp_path / "ledger"
    path.write_bytes(OLD)
    os.link(path, tmp_path / "link")
    with pytest.raises(DPCoreError, match=r"2 names \(hard links\).*nothing was drawn"):
        ledger_of(path).charge([charge("1")])
    (tmp_path / "link").unlink()
    assert ledger_of(path).charge([charge("1")]) == 1


def test_lines_of_another_ledger_are_not_its_own(tmp_path: Path) -> None:
    heads, lines = [], []
    for name, costs in (("one", "34"), ("other", "11")):
        store = FileStore(tmp_path / name)
        for cost in costs:
            store.append(cost)
        first, second, *rest = (tmp_path / name).read_bytes().splitlines(keepends=True)
        heads.append(first + second)
        lines.append(b"".join(rest))
    assert len(lines[0]) == len(lines[1])
    (tmp_path / "one").write_bytes(heads[0] + lines[1])
    with pytest.raises(DPCoreError, match="its lines are not those that were counted"):
        FileStore(tmp_path / "one").lines()


def test_a_ledgers_name_is_what_it_was(tmp_path: Path) -> None:
    """Frozen: by another name a person has another ledger, and starts anew."""
    (tmp_path / ".salt").write_text(base64.urlsafe_b64encode(bytes(range(32))).decode().rstrip("=") + "\n")
    (tmp_path / ".salt").chmod(0o600)
    store = LedgerFolder(tmp_path, bytes(32), lambda: ()).store("ann", lambda: ())
    digest = hmac.digest(bytes(range(32)), b"ldpflow ledger\0ann", "sha256")[:16]
    assert store.path.name == base64.urlsafe_b64encode(digest).decode().rstrip("=") + ".ledger"
