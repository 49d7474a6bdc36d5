"""Privatization of a file of records on the machine that has it.

All records are checked before anything is charged, and the reports are written completely or not at all.

Without a key, every record is a separate respondent, and every report has fresh noise.  With a key, the records belong to one
respondent, or to those that a column identifies, each with a secret derived from the key: answers are memoized, levels and
units are fixed, and a repeated answer costs nothing.  With a ledger, every report is charged before it is drawn.  If the
process is killed in between, the charge remains; with a key, the repeated answer is the same and costs nothing.
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
from dpcore.protocol.records.blocks import BLOCK, keep_memory, privatize
from dpcore.protocol.records.category_names import is_missing, says_nothing
from dpcore.protocol.report import Report, ReportBatch, batch_of, concatenate, with_ids
from dpcore.protocol.scheme import Scheme
from dpcore.wire.json_report import ROUND_NAME

_KEY_BYTES = 32
_ENDINGS = (".parquet", ".jsonl")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.0*\s*")  # a whole number from a column with missing values
_PERSON = b"ldpflow person\0"
_LEDGER = "ledger"  # replaces the scheme's digest in the names of ledgers of older versions


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """State of a client between rounds.

    key: file of the secret, created if it does not exist.  person: column that identifies respondents, '' for one respondent.
    sends_token: whether the collector can recognize a client within the scheme.  ledger: file with the charges of the
    respondent, or folder of files for several.  total, delta: limits of each respondent.
    """

    key: Path | None = None
    person: str = ""
    sends_token: bool = False
    ledger: Path | None = None
    total: Budget | None = None
    delta: Fraction = Fraction(0)

    def check(self) -> None:
        """Raise SchemeError for an invalid combination."""
        if self.key is None and (self.person or self.sends_token):
            raise SchemeError("person, token: both need a key; add --key FILE")
        if (self.ledger is None) != (self.total is None):
            raise SchemeError("ledger, budget: each needs the other; use --ledger FILE and --budget EPSILON together")
        if self.delta and self.ledger is None:
            raise SchemeError("delta: it needs a ledger; add --ledger FILE and --budget EPSILON")
        check_within(0, 1, delta=self.delta)

    @property
    def is_any(self) -> bool:
        return self.key is not None or self.ledger is not None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The result of sending.

    left_out: number of respondents without enough budget.  spent, delta: total of the ledger of a single respondent, otherwise
    None and 0.
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

    target: a new .parquet file, a new .jsonl file with a report per line, or an empty folder for Parquet files.
    sent_for: the round of the reports, '' for any round.  dialect: of the file.

    Raises InvalidRecord, InvalidReport, SchemeError, BudgetExceeded or DPCoreError, with no report written.
    """
    scheme.check_asked()
    keeping.check()
    target = wire.location(target)
    check_target(target)
    check_sent_for(sent_for)
    read = partial(populations.read_blocks, records, scheme, BLOCK, dialect=dialect)
    if not keeping.is_any:  # nothing is charged: records are read once, and an invalid one discards all drafts
        keep_memory()
        once = enumerate(read())
        batches = (with_ids(privatize(scheme, block, secure(), index), secure()) for index, block in once)
        return Sent(reports=_write(target, scheme, batches, sent_for))
    blocks = _blocks(scheme, records, keeping, read)
    asked = _Asked(scheme, keeping, sent_for, lambda: _people(keeping, read))
    reports = _write(target, scheme, asked.batches(blocks), sent_for)
    spent, delta = asked.spent()
    return Sent(reports=reports, left_out=asked.left_out, spent=spent, delta=delta)


def _blocks(scheme: Scheme, records: Path, keeping: Keeping, read: Callable[..., Iterator[Any]]) -> Iterator[Any]:
    """Check all records and return them block by block."""
    also = (keeping.person,) if keeping.person else ()
    n = 0
    for block in read(also=also):
        scheme.encode(block, n)
        if keeping.person:
            _check_people(block[keeping.person].to_pylist(), keeping.person, records, n)
        n += len(block)
    if not keeping.person and n != 1:
        raise InvalidRecord(
            f"{records}: {n:,} records, but a key and a ledger are for one respondent; keep one record, or add --person COLUMN"
        )
    return read(also=also)


def _people(keeping: Keeping, read: Callable[..., Iterator[Any]]) -> Iterator[str]:
    """Yield the identifiers of the respondents as they are spelled in the records."""
    for block in read(also=(keeping.person,)):
        yield from map(str, block[keeping.person].to_pylist())


def _check_people(people: Sequence[Any], column: str, records: Path, first: int) -> None:
    """Raise InvalidRecord unless every identifier is present and has an unambiguous spelling.

    first: position of the first one, for messages, which do not contain identifiers.
    """
    spelled = [one_spelling(str(person)) for person in people]
    if any(map(is_missing, people)) or any(map(says_nothing, spelled)):
        raise InvalidRecord(f"{records}, column {column!r}: empty for some records; every record needs an identifier")
    if not all(isinstance(person, (str, int)) for person in people) or any(map(_DECIMAL.fullmatch, spelled)):
        raise InvalidRecord(
            f"{records}, column {column!r}: must have texts or whole numbers without a point, because 7 and 7.0 would be two "
            "respondents with a ledger each"
        )
    numbers = [person for person in spelled if person.isdecimal()]
    if any(person[0] == "0" and len(person) > 1 for person in numbers) and len(set(map(len, numbers))) > 1:
        raise InvalidRecord(
            f"{records}, column {column!r}: numbers with leading zeros have several lengths; use one length, because 7 and 07 "
            "would be two respondents with a ledger each"
        )
    hidden = [row for row, person in enumerate(spelled, first + 1) if not person.isprintable()]
    if hidden:
        raise InvalidRecord(
            f"{records}, column {column!r}: record {hidden[0]} has invisible characters ({len(hidden)} in all); remove them, "
            "because the same name without them would be another respondent"
        )


class _Asked:
    """Clients with a key or a ledger, which report one after another."""

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
        """Yield the reports of each block, without blocks in which no respondent has enough budget."""
        sent = 0
        for block in blocks:
            answers = list(self._answers(block))
            sent += len(answers)
            if answers:
                yield batch_of(answers)
        if not sent:
            raise BudgetExceeded(
                f"ledger: none of {self.left_out:,} respondents has enough budget for another report; nothing was drawn"
            )

    def spent(self) -> tuple[Budget | None, Fraction]:
        """Return the epsilon and delta spent by a single respondent."""
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
    """Return the normal form of an identifier: Unicode NFKC without surrounding white space; upper and lower case differ."""
    return unicodedata.normalize("NFKC", person).strip()


def person_key(key: bytes, person: str) -> bytes:
    """Return the secret of a respondent, 32 bytes, derived from a common key."""
    return _spelled_key(key, one_spelling(person))


def _spelled_key(key: bytes, spelling: str) -> bytes:
    return hmac.new(key, _PERSON + spelling.encode(), hashlib.sha256).digest()


def _older_names(key: bytes, person: str) -> set[str]:
    """Names of a respondent's ledger in older versions, for this spelling and for the normal form."""
    return {tokens.token_of(_spelled_key(key, spelling), _LEDGER) for spelling in (person, one_spelling(person))}


def read_key(file: Path) -> bytes:
    """Return the secret in a file, which is created if it does not exist; only its owner may have access.

    Raises DPCoreError if the file has no secret, or if others can read it.
    """
    try:
        if not file.exists():
            _make_key(file)
        is_open, key = file.stat().st_mode & 0o077, tokens.from_text(file.read_text(encoding="ascii").strip())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise DPCoreError(f"key {file}: cannot be read or created ({reason})") from None
    if key is None or len(key) != _KEY_BYTES:
        raise DPCoreError(f"{file}: not a key; name another file, or a new one, in which a key is created")
    if is_open:
        raise DPCoreError(
            f"key {file}: other users can read it; run chmod 600, and replace the key if they may have read it"
        )
    return key


def _make_key(file: Path) -> None:
    """Create a key file atomically, unless another process has just done so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # access for the owner only
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
    """Raise InvalidReport unless the name is valid for a round of reports."""
    if not ROUND_NAME.fullmatch(round_):
        raise InvalidReport(f"round {round_!r}: needs at most 63 letters, digits and ._:- such as 2026-11-20")


def check_target(target: Path, endings: tuple[str, ...] = ("", *_ENDINGS)) -> None:
    """Raise InvalidReport unless reports can be written there, before anything is charged or drawn; '' is for a folder."""
    if target.suffix not in endings:
        also = " or a folder" if "" in endings else ""
        raise InvalidReport(
            f"{target.name!r}: reports are written to a {' or '.join(filter(None, endings))} file{also}; choose another name"
        )
    if target.suffix and target.exists():
        raise InvalidReport(f"{target}: already exists, its reports would be lost; name another file")
    if not target.suffix and target.exists() and any(target.glob("*.parquet")):
        raise InvalidReport(f"{target}: already has reports, and records would be reported twice; name an empty folder")
    if wire.is_here(target):
        folder = target.parent if target.suffix else target
        try:
            wire.private_folder(folder)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InvalidReport(f"{folder}: reports cannot be written: {error.strerror}") from None


def _write(target: Path, scheme: Scheme, batches: Iterator[ReportBatch], sent_for: str) -> int:
    """Write the reports and return their number; files of a folder appear when all are complete."""
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
