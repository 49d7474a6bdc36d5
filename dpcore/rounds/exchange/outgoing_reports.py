"""What leaves: records become reports on the machine that holds them, as their own clients would make them.

Every record is read and checked before anything is charged, and reports are there whole or not at all.

Without a key every record is a person who is asked once, and every report fresh noise.  With a key the records are of one
person, or of those whom a column tells apart, each with a secret of their own made of the key: answers are memoized, levels
and units are fixed for life, and what is asked again costs nothing.  With a ledger every report is charged before it is drawn.
Killed in between, a client has spent what nobody received; with a key it is asked again for nothing, and answers the same.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dpcore import populations, wire
from dpcore._random import secure
from dpcore.client import Client
from dpcore.errors import BudgetExceeded, DPCoreError, InvalidRecord, InvalidReport, SchemeError, check_within
from dpcore.populations.dialect import Dialect
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Ledger
from dpcore.protocol import tokens
from dpcore.protocol.records import privatization
from dpcore.protocol.records.blocks import BLOCK, keep_memory
from dpcore.protocol.records.category_names import is_missing, says_nothing
from dpcore.protocol.report import Report, ReportBatch, batch_of, concatenate, with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.wire.json_report import ROUND_NAME

_KEY_BYTES = 32
_ENDINGS = (".parquet", ".jsonl")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.0*\s*")  # how a whole number looks that was once among missing ones
_PERSON = b"ldpflow person\0"
_LEDGER = "ledger"  # in place of a scheme's digest in the names of older ledgers


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """What a client keeps between rounds.

    key: file of the secret, made where there is none.  person: the column that tells people apart, '' where all records are of
    one.  sends_token: whether the collector is to know a client again within the scheme.  ledger: file of what the person has
    spent, or folder of such files where there are several.  total, delta: the most that each may ever spend.
    """

    key: Path | None = None
    person: str = ""
    sends_token: bool = False
    ledger: Path | None = None
    total: Budget | None = None
    delta: Fraction = Fraction(0)

    def check(self) -> None:
        """Raise SchemeError where these do not go together."""
        if self.key is None and (self.person or self.sends_token):
            raise SchemeError("a person's answers and token are made of a key; say where it is kept with --key FILE")
        if (self.ledger is None) != (self.total is None):
            raise SchemeError("a ledger has a total; give --ledger FILE and --budget EPSILON together")
        if self.delta and self.ledger is None:
            raise SchemeError("a total delta is a ledger's; give --ledger FILE and --budget EPSILON with --delta")
        check_within(0, 1, delta=self.delta)

    @property
    def is_any(self) -> bool:
        return self.key is not None or self.ledger is not None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What was sent.

    left_out: people whose ledgers did not cover a report.  spent, delta: what the ledger of one person comes to, None and 0
    where there is none, or one for each.
    """

    reports: int
    left_out: int = 0
    spent: Budget | None = None
    delta: Fraction = Fraction(0)


def send(
    scheme: Scheme,
    records: Path,
    target: Path,
    *,
    sent_for: str = "",
    keeping: Keeping = Keeping(),
    dialect: Dialect = Dialect(),
) -> Sent:
    """Privatize a file of records with the operating system's randomness.

    target: a .parquet file, a .jsonl file of a report a line, or a folder of Parquet files; nothing may be there yet.
    sent_for: the round the reports are for, '' for whichever counts them.  dialect: how the file is written.

    Raises InvalidRecord, InvalidReport, SchemeError, BudgetExceeded or DPCoreError; no report is there then.
    """
    scheme.check_asked()
    keeping.check()
    target = wire.location(target)
    check_target(target)
    check_sent_for(sent_for)
    read = partial(populations.read_blocks, records, scheme, BLOCK, dialect=dialect)
    if not keeping.is_any:  # nothing is charged: records are read once, and a bad one takes the drafts of all with it
        keep_memory()
        once = enumerate(read())
        batches = (with_ids(privatization.privatize(scheme, block, secure(), index), secure()) for index, block in once)
        return Sent(reports=_write(target, scheme, batches, sent_for))
    blocks = _blocks(scheme, records, keeping, read)
    asked = _Asked(scheme, keeping, sent_for, lambda: _people(keeping, read))
    reports = _write(target, scheme, asked.batches(blocks), sent_for)
    spent, delta = asked.spent()
    return Sent(reports=reports, left_out=asked.left_out, spent=spent, delta=delta)


def _blocks(scheme: Scheme, records: Path, keeping: Keeping, read: Callable[..., Iterator[Any]]) -> Iterator[Any]:
    """The records, block after block, once all of them are known to be good."""
    also = (keeping.person,) if keeping.person else ()
    n = 0
    for block in read(also=also):
        scheme.encode(block, n)
        if keeping.person:
            _check_people(block[keeping.person].to_pylist(), keeping.person, records, n)
        n += len(block)
    if not keeping.person and n != 1:
        raise InvalidRecord(
            f"a key and a ledger belong to one person, and {records} holds {n:,} records; keep one, or say with --person "
            "COLUMN which column tells people apart"
        )
    return read(also=also)


def _people(keeping: Keeping, read: Callable[..., Iterator[Any]]) -> Iterator[str]:
    """Everybody in the records, as they are spelled there."""
    for block in read(also=(keeping.person,)):
        yield from map(str, block[keeping.person].to_pylist())


def _check_people(people: Sequence[Any], column: str, records: Path, first: int) -> None:
    """Raise InvalidRecord unless every person has a spelling, and none that the next file may spell otherwise.

    first: the position of the first of them, for messages, which do not show them.
    """
    spelled = [one_spelling(str(person)) for person in people]
    if any(map(is_missing, people)) or any(map(says_nothing, spelled)):
        raise InvalidRecord(f"column {column!r} of {records} must say for every record whose it is")
    if not all(isinstance(person, (str, int)) for person in people) or any(map(_DECIMAL.fullmatch, spelled)):
        raise InvalidRecord(
            f"column {column!r} of {records} must hold texts or whole numbers without a point: a person who is 7 here and 7.0 "
            "there would be two, with a ledger each"
        )
    numbers = [person for person in spelled if person.isdecimal()]
    if any(person[0] == "0" and len(person) > 1 for person in numbers) and len(set(map(len, numbers))) > 1:
        raise InvalidRecord(
            f"column {column!r} of {records} has numbers with leading zeros and of several lengths; write all at one length: a "
            "person who is 7 here and 07 there would be two, with a ledger each"
        )
    hidden = [row for row, person in enumerate(spelled, first + 1) if not person.isprintable()]
    if hidden:
        raise InvalidRecord(
            f"column {column!r} of {records} has control or invisible characters at record {hidden[0]} ({len(hidden)} in all); "
            "take them out: a person who is spelled with and without them would be two, with a ledger each"
        )


class _Asked:
    """Clients that keep something, asked one after another."""

    def __init__(self, scheme: Scheme, keeping: Keeping, sent_for: str, people: Callable[[], Iterable[str]]) -> None:
        self._scheme, self._keeping, self._sent_for = scheme, keeping, sent_for
        self._key = None if keeping.key is None else read_key(keeping.key)
        self._folder = None
        if self._key is not None and keeping.person and keeping.ledger is not None:
            key = self._key
            self._folder = wire.LedgerFolder(
                keeping.ledger, key, lambda: (name for person in people() for name in _older_names(key, person))
            )
        self.left_out = 0

    def batches(self, blocks: Iterable[Any]) -> Iterator[ReportBatch]:
        """Yield the reports of each block's people, of none where none has enough left."""
        sent = 0
        for block in blocks:
            answers = list(self._answers(block))
            sent += len(answers)
            if answers:
                yield batch_of(answers)
        if not sent:
            raise BudgetExceeded(
                f"none of {self.left_out:,} people has enough left for another report; nothing was drawn"
            )

    def spent(self) -> tuple[Budget | None, Fraction]:
        """Return what the one person whose ledger it is has spent, epsilon and delta."""
        ledger = None if self._keeping.person else self._ledger()
        return (None, Fraction(0)) if ledger is None else (ledger.spent(), ledger.spent_delta())

    def _answers(self, block: Any) -> Iterator[Report]:
        people = block[self._keeping.person].to_pylist() if self._keeping.person else [""] * len(block)
        asked = (question for attribute in self._scheme.reported.values() for question in attribute.questions)
        columns = list(dict.fromkeys(question.column for question in asked))
        for person, record in zip(people, block.select(columns).to_pylist(), strict=True):
            secret = person_key(self._key, str(person)) if self._key and self._keeping.person else self._key
            client = Client(self._scheme, secure(), secret=secret, ledger=self._ledger(str(person)))
            try:
                report = client.report(record, self._sent_for)
            except BudgetExceeded:
                if not self._keeping.person:
                    raise
                self.left_out += 1
            else:
                yield report if self._keeping.sends_token else replace(report, token=None)

    def _ledger(self, person: str = "") -> Ledger | None:
        file, total = self._keeping.ledger, self._keeping.total
        if file is None or total is None:
            return None
        key = self._key
        if self._folder is None or key is None:
            return Ledger(total, wire.FileStore(file), self._keeping.delta)
        store = self._folder.store(one_spelling(person), lambda: _older_names(key, person))
        return Ledger(total, store, self._keeping.delta)


def one_spelling(person: str) -> str:
    """Return the one spelling of a person: compatible characters are one, and there is no white space around.

    Capital letters are not small ones, so that two people whom they tell apart share no ledger and no token.
    """
    return unicodedata.normalize("NFKC", person).strip()


def person_key(key: bytes, person: str) -> bytes:
    """Return the secret of one of the people that share a key, 32 bytes; without the key nobody can make it."""
    return _spelled_key(key, one_spelling(person))


def _spelled_key(key: bytes, spelling: str) -> bytes:
    return hmac.new(key, _PERSON + spelling.encode(), hashlib.sha256).digest()


def _older_names(key: bytes, person: str) -> set[str]:
    """What an older ldpflow named a person's ledger, by this spelling and by the one that is used now."""
    return {tokens.token_of(_spelled_key(key, spelling), _LEDGER) for spelling in (person, one_spelling(person))}


def read_key(file: Path) -> bytes:
    """Return the secret in a file, made where there is no file; only its owner may read it.

    Raises DPCoreError where the file holds something else or others can read it.
    """
    try:
        if not file.exists():
            _make_key(file)
        is_open, key = file.stat().st_mode & 0o077, tokens.from_text(file.read_text(encoding="ascii").strip())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise DPCoreError(f"the key {file} cannot be read or made ({reason})") from None
    if key is None or len(key) != _KEY_BYTES:
        raise DPCoreError(f"{file} holds no key; name the file that does, or one that is not there, and a key is made")
    if is_open:
        raise DPCoreError(f"the key {file} can be read by others; chmod 600 it, and ask whether they have")
    return key


def _make_key(file: Path) -> None:
    """Put a new key there, whole, unless somebody else has just done so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # for its owner only
    try:
        with os.fdopen(handle, "w", encoding="ascii") as draft:
            draft.write(tokens.to_text(secrets.token_bytes(_KEY_BYTES)) + "\n")
            draft.flush()
            os.fsync(draft.fileno())
        with suppress(FileExistsError):
            os.link(beside, file)
    finally:
        os.unlink(beside)


def check_sent_for(round_: str) -> None:
    """Raise InvalidReport unless reports can be for a round of that name."""
    if not ROUND_NAME.fullmatch(round_):
        raise InvalidReport(f"a round is at most 63 letters, digits and ._:- such as 2026-11-20, got {round_!r}")


def check_target(target: Path, endings: tuple[str, ...] = ("", *_ENDINGS)) -> None:
    """Raise InvalidReport unless reports can be written there, before anything is charged or drawn; '' ends a folder."""
    if target.suffix not in endings:
        also = ", or to a folder" if "" in endings else ""
        raise InvalidReport(
            f"reports go to a {' or a '.join(filter(None, endings))} file{also}, got {target.name!r}; name one of these"
        )
    if target.suffix and target.exists():
        raise InvalidReport(f"{target} is already there; name another file, or its reports would be lost")
    if not target.suffix and target.exists() and any(target.glob("*.parquet")):
        raise InvalidReport(f"{target} already holds reports; name an empty folder, or records would be reported twice")
    if wire.is_here(target):
        folder = target.parent if target.suffix else target
        try:
            wire.private_folder(folder)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InvalidReport(f"reports cannot be written to {folder}: {error.strerror}") from None


def _write(target: Path, scheme: Scheme, batches: Iterator[ReportBatch], sent_for: str) -> int:
    """Write the reports and return how many; a folder's files appear once all of them are made."""
    if target.suffix == ".jsonl":
        return wire.write_lines(target, scheme, batches, sent_for)
    if target.suffix == ".parquet":
        whole = concatenate(batches)
        wire.write_reports(target, scheme, whole, sent_for)
        return len(whole)
    n, drafts = 0, []
    try:
        for index, batch in enumerate(batches):
            drafts.append((target / f".{index:05d}.draft", target / f"{index:05d}.parquet"))
            wire.write_reports(drafts[-1][0], scheme, batch, sent_for)
            n += len(batch)
        for draft, file in drafts:
            draft.rename(file)
    finally:
        for draft, _ in drafts:
            draft.unlink(missing_ok=True)
    return n
