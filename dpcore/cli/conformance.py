"""Commands for clients in other languages: `vectors` writes test cases, `conformance` runs a program on them."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import threading
from collections import Counter
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, TYPE_CHECKING, Annotated, Self

import typer

from dpcore.errors import DPCoreError

if TYPE_CHECKING:
    from dpcore.conformance import Case

_MOST_SHOWN = 20  # failed cases that are printed
_LONGEST_LINE = 1 << 20  # most bytes of an answer
_STDERR_SHOWN = 200  # characters of standard error that are quoted


def vectors(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write to; created if missing.")],
) -> None:
    """Write the test cases for clients in any language: schemes, bundles, records, random words, expected reports.

    NAME.toml is the source of a scheme, NAME/ its bundle as a collector serves it, and NAME.jsonl its cases, one per line: the
    line that `ldpflow conformance` sends, with the expected answer.

    Example: ldpflow vectors vectors/
    """
    from dpcore.conformance import cases_of
    from dpcore.conformance.schemes import SCHEMES
    from dpcore.wire import write_bundle, write_bytes

    count = 0
    for name, text in SCHEMES.items():
        cases = cases_of(name)
        write_bytes(folder / f"{name}.toml", text.encode())
        write_bundle(folder / name, cases[0].scheme)
        lines = [f'{case.line[:-1]},"expected":{json.dumps(case.expected)}}}' for case in cases]
        write_bytes(folder / f"{name}.jsonl", "".join(f"{line}\n" for line in lines).encode())
        count += len(cases)
    print(f"{count} cases of {len(SCHEMES)} schemes in {folder}")


def conformance(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The program to test, and its arguments.")],
    mechanism: Annotated[
        list[str] | None,
        typer.Option(help="A mechanism that the program implements; may be repeated. Default: all."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds to wait for each answer.")] = 10,
) -> None:
    """Test a client in any language on every case; exit with 1 if a report differs from the expected one.

    The program reads cases from standard input, one JSON object per line, and prints one line for each: the report, or the
    refusal. It flushes every line. The specification of clients defines reports; `ldpflow vectors` writes the cases.

    Example: ldpflow conformance --mechanism randomized_response ./client
    """
    from dpcore.conformance import all_cases, difference
    from dpcore.conformance.schemes import ATTRIBUTES
    from dpcore.errors import check_one_of

    for name in mechanism or ():
        check_one_of((*ATTRIBUTES, "crossed_wave"), mechanism=name)
    cases = list(all_cases(set(mechanism) if mechanism else None))
    if not cases:
        raise DPCoreError(f"--mechanism {', '.join(mechanism or ())}: no case uses only these; add other mechanisms")
    agreeing, differences = Counter[str](), []
    try:
        with _Program(command, timeout) as program:
            for case in cases:
                mismatch = difference(case, program.answer(case.name, case.line))
                agreeing[_scheme_of(case)] += mismatch is None
                differences += [f"{case.name}: {mismatch}"] if mismatch else []
    finally:  # also if the program ends early
        for line in differences[:_MOST_SHOWN]:
            print(line)
        if len(differences) > _MOST_SHOWN:
            print(f"... and {len(differences) - _MOST_SHOWN} more")
    for name, total in Counter(map(_scheme_of, cases)).items():
        print(f"{name}: {agreeing[name]} of {total}")
    print(f"{len(cases)} cases, {len(differences)} differ from the expected answer")
    if differences:
        raise typer.Exit(1)


def _scheme_of(case: Case) -> str:
    return case.name.partition("/")[0]


class _Program:
    """A program that answers one line at a time; every failure to answer raises DPCoreError."""

    def __init__(self, command: list[str], timeout: float) -> None:
        self._command, self._timeout = shlex.join(command), timeout
        self._stderr = TemporaryFile()  # noqa: SIM115 - closed when the program ends
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, start_new_session=True
            )
        except OSError as error:
            self._stderr.close()
            raise DPCoreError(
                f"{self._command}: cannot be started ({error.strerror}); check the path of the program"
            ) from None
        self._lines: Queue[bytes] = Queue(maxsize=64)  # blocks a program that prints too many lines
        self._questions: Queue[bytes | None] = Queue()
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._questions.put(None)
        if kind is not None:
            self._process.kill()
        try:
            self._process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stderr.close()

    def answer(self, name: str, question: str) -> str:
        """Return the program's line for a case; raises DPCoreError if there is none, or if it is not JSON."""
        self._questions.put(question.encode() + b"\n")
        try:
            line = self._lines.get(timeout=self._timeout)
        except Empty:
            raise DPCoreError(
                f"{name}: no answer within {self._timeout:g} seconds; print one line for each case and flush it, "
                "or raise --timeout"
            ) from None
        if not line:
            raise DPCoreError(f"{name}: the program ended {self._ending()} without an answer{self._last_words()}")
        text = line.decode(errors="replace").rstrip("\r\n")
        if not text.startswith("{"):
            raise DPCoreError(
                f"{name}: expected one line of JSON on standard output, got {text[:60]!r}; write anything else to "
                "standard error"
            )
        return text

    def _read(self) -> None:
        stream: IO[bytes] | None = self._process.stdout
        while stream is not None and (line := stream.readline(_LONGEST_LINE)):
            self._lines.put(line)
        self._lines.put(b"")

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            while (question := self._questions.get()) is not None:
                stream.write(question)
                stream.flush()
            stream.close()
        except OSError:  # the program has ended, which `answer` reports
            return

    def _ending(self) -> str:
        try:
            status = self._process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            return "its output"
        return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return f"; its last line on standard error: {lines[-1][:_STDERR_SHOWN]}" if lines else ""
