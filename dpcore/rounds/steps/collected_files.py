"""Which reports a run counts: the files that clients sent, less the reports that another round has counted.

`inbox` has the rules; here is what a run writes down of them, and what rounds to come will find.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dpcore import wire
from dpcore.errors import InvalidReport
from dpcore.protocol.scheme import Scheme
from dpcore.protocol.tokens import NAME_BYTES
from dpcore.results import warehouse
from dpcore.rounds.run import Run
from dpcore.wire import inbox
from dpcore.wire.report_ids import among


@dataclass(frozen=True, kw_only=True)
class Due:
    """The files that a round takes.

    salt: their content, which makes its run.  counted: file -> the landed round that counted it.
    """

    batches: list[inbox.Batch]
    salt: str
    counted: Mapping[str, str]


def due(scheme: Scheme, round_: str, reports: Path, landing: Path, data: Path, *, again: bool) -> Due:
    """Return the files that a round takes.

    Raises InvalidReport as `inbox` does, and where files that it counted are gone and it would have to count them again.
    """
    offered = inbox.batches_of(reports, scheme)
    counted = warehouse.counted_files(landing, scheme.digest)
    batches = inbox.due(offered, round_, counted, again=again)
    files = {file for file, by in counted.items() if by == round_}
    gone = files - {batch.file for batch in batches}
    if gone:  # the round has landed; where the owner has deleted its files since, their aggregates stand
        salt = inbox.content_of(files)
        folder = data / "runs" / warehouse.run_id(scheme.digest, round_, salt)
        if again or not (folder / "batches.json").exists():
            raise InvalidReport(
                f"round {round_} has landed, and {len(gone)} of the {len(files)} files it counted are gone from {reports}; "
                "put them back, or leave the round as it is"
            )
        return Due(batches=batches_of(Run.at(folder)), salt=salt, counted=counted)
    if not batches:
        raise inbox.nothing_due(reports, round_, offered, counted)
    return Due(batches=batches, salt=inbox.content_of(batch.file for batch in batches), counted=counted)


def take(run: Run, due: Due) -> None:
    """Write down what a run counts, which reports it leaves out, and the ids that it counts, for the rounds after it.

    Where the owner has deleted the files since, what was written stands.
    """
    run.say("batches.json", [asdict(batch) for batch in due.batches], indent=1)
    if not all(file.exists() for file in collected(run)):
        return
    before = sorted(due.counted.keys() - {batch.file for batch in due.batches})
    left_out = inbox.left_out(due.batches, run.plan.round, _ids(run, before))
    run.say("left_out.json", {"before": before, "left_out": left_out})
    for batch in due.batches:
        if len(ids := inbox.ids_counted(batch, left_out.get(batch.file, {}))):
            wire.private_folder(run.data / "counted")
            wire.write_bytes(_ids_file(run, batch.file), ids.tobytes(), private=True)


def batches_of(run: Run) -> list[inbox.Batch]:
    """Return the files of reports that a run counts, [] where clients sent none."""
    return [inbox.Batch(**batch) for batch in run.said("batches.json", [])]


def collected(run: Run) -> list[Path]:
    """Return where these files are."""
    return [wire.location(batch.path) for batch in batches_of(run)]


def left_out_of(run: Run) -> dict[Path, dict[str, list[int]]]:
    """Return which reports a run leaves out: file -> reason -> positions; files of which it leaves out none are missing."""
    left_out = run.said("left_out.json", {"left_out": {}})["left_out"]
    return {wire.location(batch.path): left_out[batch.file] for batch in batches_of(run) if batch.file in left_out}


def positions(left_out: Mapping[str, list[int]]) -> np.ndarray:
    """Return the positions of what is left out, for whatever reason, (n,) int64."""
    return np.array([position for places in left_out.values() for position in places], dtype=np.int64)


def check_not_overtaken(run: Run) -> None:
    """Raise InvalidReport where a round that has landed since a run was prepared has counted one of its reports."""
    written, own = run.said("left_out.json"), {batch.file for batch in batches_of(run)}
    if written is None:
        return
    since = warehouse.counted_files(run.plan.warehouse, run.scheme.digest).keys() - own - set(written["before"])
    if not since:
        return
    ids = np.concatenate([np.zeros((0, NAME_BYTES), np.uint8), *_ids(run, sorted(own))])
    shared = int(among(ids, _ids(run, sorted(since))).sum())
    if shared:
        raise InvalidReport(
            f"round {run.plan.round} was overtaken: a round that landed since has counted {shared:,} of its reports; run it "
            "again"
        )


def _ids(run: Run, files: Iterable[str]) -> Iterator[np.ndarray]:
    """The ids, (n, 16) uint8 each, that were counted of some files."""
    for path in (_ids_file(run, file) for file in files):
        if path.exists():
            yield np.frombuffer(path.read_bytes(), dtype=np.uint8).reshape(-1, NAME_BYTES)


def _ids_file(run: Run, file: str) -> Path:
    return run.data / "counted" / run.scheme.digest[:16] / f"{file}.ids"
