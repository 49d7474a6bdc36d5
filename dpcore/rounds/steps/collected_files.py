"""The collected reports that a run counts: the files for its round without the reports that another round has counted.

`inbox` has the rules; this module stores their result in the run's folder, for this round and later ones.
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
from dpcore.wire.inbox import among


@dataclass(frozen=True, kw_only=True)
class Due:
    """The files that a round counts.

    salt: digest of their content, for the run_id.  counted: file -> landed round that counted it.
    """

    batches: list[inbox.Batch]
    salt: str
    counted: Mapping[str, str]


def due(scheme: Scheme, round_: str, reports: Path, landing: Path, data: Path, *, again: bool) -> Due:
    """Return the files that a round counts.

    Raises InvalidReport as `inbox` does, and if files that it has to count again were deleted.
    """
    offered = inbox.batches_of(reports, scheme)
    counted = warehouse.counted_files(landing, scheme.digest)
    batches = inbox.due(offered, round_, counted, again=again)
    files = {file for file, by in counted.items() if by == round_}
    gone = files - {batch.file for batch in batches}
    if gone:  # the round has landed and its files were deleted since; their aggregates can be used
        salt = inbox.content_of(files)
        folder = data / "runs" / warehouse.run_id(scheme.digest, round_, salt)
        if again or not (folder / "batches.json").exists():
            raise InvalidReport(
                f"round {round_}: it has landed, and {len(gone)} of its {len(files)} files are missing in {reports}; put them "
                "back, or do not run the round again"
            )
        return Due(batches=batches_of(Run.at(folder)), salt=salt, counted=counted)
    if not batches:
        raise inbox.nothing_due(reports, round_, offered, counted)
    return Due(batches=batches, salt=inbox.content_of(batch.file for batch in batches), counted=counted)


def take(run: Run, due: Due) -> None:
    """Store the files of a run, the reports that it excludes, and the ids that it counts, for later rounds.

    If the files were deleted since, the stored lists are not changed.
    """
    run.write_json("batches.json", [asdict(batch) for batch in due.batches], indent=1)
    if not all(file.exists() for file in collected(run)):
        return
    before = sorted(due.counted.keys() - {batch.file for batch in due.batches})
    left_out = inbox.left_out(due.batches, run.plan.round, _ids(run, before))
    run.write_json("left_out.json", {"before": before, "left_out": left_out})
    for batch in due.batches:
        if len(ids := inbox.ids_counted(batch, left_out.get(batch.file, {}))):
            wire.private_folder(run.data / "counted")
            wire.write_bytes(_ids_file(run, batch.file), ids.tobytes(), private=True)


def batches_of(run: Run) -> list[inbox.Batch]:
    """Return the report files of a run, [] for another source."""
    return [inbox.Batch(**batch) for batch in run.read_json("batches.json", [])]


def collected(run: Run) -> list[Path]:
    """Return the paths of these files."""
    return [wire.location(batch.path) for batch in batches_of(run)]


def left_out_of(run: Run) -> dict[Path, dict[str, list[int]]]:
    """Return the excluded reports of a run: file -> reason -> positions; files without any are left out."""
    left_out = run.read_json("left_out.json", {"left_out": {}})["left_out"]
    return {wire.location(batch.path): left_out[batch.file] for batch in batches_of(run) if batch.file in left_out}


def positions(left_out: Mapping[str, list[int]]) -> np.ndarray:
    """Return the positions of excluded reports, for all reasons, (n,) int64."""
    return np.array([position for places in left_out.values() for position in places], dtype=np.int64)


def check_not_overtaken(run: Run) -> None:
    """Raise InvalidReport if a round that landed after the preparation has counted a report of this run."""
    written, own = run.read_json("left_out.json"), {batch.file for batch in batches_of(run)}
    if written is None:
        return
    since = warehouse.counted_files(run.plan.warehouse, run.scheme.digest).keys() - own - set(written["before"])
    if not since:
        return
    ids = np.concatenate([np.zeros((0, NAME_BYTES), np.uint8), *_ids(run, sorted(own))])
    shared = int(among(ids, _ids(run, sorted(since))).sum())
    if shared:
        raise InvalidReport(
            f"round {run.plan.round}: another round has landed in the meantime and counted {shared:,} of its reports; run it "
            "again"
        )


def _ids(run: Run, files: Iterable[str]) -> Iterator[np.ndarray]:
    """Yield the counted ids of some files, (n, 16) uint8."""
    for path in (_ids_file(run, file) for file in files):
        if path.exists():
            yield np.frombuffer(path.read_bytes(), dtype=np.uint8).reshape(-1, NAME_BYTES)


def _ids_file(run: Run, file: str) -> Path:
    return run.data / "counted" / run.scheme.digest[:16] / f"{file}.ids"
