"""Lands a run: all its rows, in one transaction, so that landing it again changes nothing.

Rule: everything that can be refused is refused before the file is opened.  The rows are converted to the tables' exact
types and inserted into an empty warehouse in memory first, whose constraints then speak before anything is locked.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa

from dpcore.errors import WarehouseError
from dpcore.results.warehouse.connection import PATIENCE, open_for_writing
from dpcore.results.warehouse.in_memory import scratch
from dpcore.results.warehouse.landing.counted_batches import refuse_counted
from dpcore.results.warehouse.landing.current_run import SIMULATED, Claim, replace
from dpcore.results.warehouse.landing.previous_round import around, numbers, numbers_before
from dpcore.results.warehouse.landing.privacy_charges import charge_landed
from dpcore.results.warehouse.landing.turnout import judge_turnout
from dpcore.results.warehouse.published import open_to_publish
from dpcore.results.warehouse.transaction import one_line, transaction
from dpcore.results.warehouse.typed_rows import repeated, to_rows
from dpcore.results.warehouse.views import RESULTS

REHEARSAL = "rehearsal.duckdb"  # the one file in which real people's seeded noise lands; it stands in the run's folder
# Of a run: its numbers, those of the round before, and its comparisons of groups -> its rows of `comparisons` with that round,
# and the `checks` that depend on them.
Judge = Callable[[pd.DataFrame, pd.DataFrame, pd.DataFrame], tuple[pd.DataFrame, pd.DataFrame]]


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """The row of `runs`, but for its state, which landing decides.

    source: 'simulated', 'records' or 'reports'.  randomness: 'secure' or 'seeded'.  seed: of a simulation only, below
    2^63; with records it is refused, because reports minus the noise of a known seed are the records.
    late: of the accepted and rejected reports, those sent for an earlier round.
    trial: whether simulated people tried something out under a name of its own.
    started_at, finished_at: with a time zone; kept as UTC to the microsecond.
    """

    run_id: str
    scheme: str
    scheme_digest: str
    round: str
    source: str
    randomness: str
    started_at: datetime
    version: str
    clients: int | None = None
    accepted: int | None = None
    rejected: int | None = None
    late: int | None = None
    seed: int | None = None
    finished_at: datetime | None = None
    flow_run_id: str | None = None
    trial: bool = False


@dataclass(frozen=True, eq=False)
class Landing:
    """What one run lands: its row of `runs` and a frame for each table it has rows for.

    again: whether it may replace another run of its round (`current_run`).

    tables: keys among RESULTS; columns as in the table, in any order; `run_id` may be left out, and so may a column that the
    table has a default for.  NaN, NaT and None are nulls.
    """

    run: RunRow
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    again: bool = False

    @property
    def claim(self) -> Claim:
        """What it claims: to stand for its round.  A trial always may."""
        return Claim(
            run_id=self.run.run_id,
            scheme=self.run.scheme,
            round=self.run.round,
            source=self.run.source,
            again=self.again or self.run.trial,
            flow_run_id=self.run.flow_run_id,
        )


def run_id(scheme_digest: str, round_: str, salt: str | int) -> str:
    """Return the first 16 hex digits of SHA-256 over scheme digest, round and salt.

    salt: the seed, the flow run's id or a fresh nonce; a number and its digits give the same identifier.
    Each part is preceded by its length, so that no two different triples are hashed alike.
    """
    parts = [part.encode() for part in (scheme_digest, round_, str(salt))]
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.sha256(framed).hexdigest()[:16]


def land(
    path: str | Path, landing: Landing, *, judge: Judge | None = None, patience: float = PATIENCE
) -> dict[str, str]:
    """Write a run and all its rows, replacing whatever the same run_id had landed before.

    Returns run_id -> the round that it was compared with, '' where there is none, of the runs that `judge` compared.

    judge: compares rounds; in the same transaction the landed round and the one after it are then compared with the rounds
    that are before them now, and so are the rounds around what it replaces, so that the tables do not depend on the order in
    which rounds land.  patience: seconds to wait for the file.
    Raises WarehouseError, with nothing written, for an unknown table or column, a missing column, a value of another
    type, a null where none may be, rows of another run, two rows of one key, a broken CHECK, or a file of reports that
    another round has counted, and for a rehearsal in any file but its own; AlreadyLanded where another run stands for the
    round and may not be replaced.
    """
    run = landing.run
    if run.source != SIMULATED and run.randomness == "seeded" and Path(path).name != REHEARSAL:
        raise WarehouseError(f"a rehearsal of real people lands in a {REHEARSAL} of its own, got {path}; run it anew")
    rows = {"runs": _run_row(run, "landed")}
    for table, frame in landing.tables.items():
        if table not in RESULTS:
            raise WarehouseError(f"a run lands in {', '.join(RESULTS)}; got a table named {table!r}")
        rows[table] = to_rows(table, _with_run_id(table, frame, run.run_id))
    _try_out(rows)
    with open_to_publish(path, patience=patience) as connection:
        replaced_by, replaced = replace(connection, landing.claim)
        for table in ("runs", *RESULTS):
            connection.execute(f"delete from {table} where run_id = ?", [run.run_id])
        _forget_waiting(connection, run)
        for table, content in rows.items():
            _insert(connection, table, content)
        connection.execute("update runs set replaced_by = ? where run_id = ?", [replaced_by, run.run_id])
        if "batches" in rows:
            refuse_counted(connection, run.run_id)
        charge_landed(connection, run.run_id)
        lines = {(run.scheme_digest, run.source), *((old.scheme_digest, old.source) for old in replaced)}
        for source in sorted({source for _, source in lines}):
            judge_turnout(connection, run.scheme, source)
        return {} if judge is None or run.trial else _settle(connection, lines, run.round, judge)


def land_failure(path: str | Path, run: RunRow, *, patience: float = 30.0) -> None:
    """Write that a run failed: one row of `runs`; a run that has landed stays landed, with all its rows.

    patience: short, as it may have failed because the file was taken.
    Raises WarehouseError as `land` does.
    """
    _land_state(path, run, "failed", patience)


def land_waiting(path: str | Path, run: RunRow, *, patience: float = PATIENCE) -> None:
    """Write that a run waits for more clients: one row of `runs`, as `land_failure` does."""
    _land_state(path, run, "waiting", patience)


def _land_state(path: str | Path, run: RunRow, state: str, patience: float) -> None:
    rows = {"runs": _run_row(run, state)}
    _try_out(rows)
    with open_to_publish(path, patience=patience) as connection:
        _forget_waiting(connection, run)
        connection.execute("delete from runs where run_id = ? and state <> 'landed'", [run.run_id])
        if not connection.execute("select 1 from runs where run_id = ?", [run.run_id]).fetchall():
            _insert(connection, "runs", rows["runs"])


def land_benchmarks(path: str | Path, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Write the rows of measured studies, replacing those of the same study and `measured_at`.

    frame: the columns of `benchmarks`; `measured_at` with a time zone, one time for all rows of a study.
    Raises WarehouseError as `land` does.
    """
    _publish("benchmarks", frame, "study, measured_at", path, patience)


def add_benchmarks(path: str | Path, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Write rows of a study that is being measured, beside those it has; the same method in the same place is replaced.

    A study of a thousand pieces is not published a thousand times: `publish_copy` follows the last one.
    frame: as `land_benchmarks` takes it.  Raises WarehouseError as `land` does.
    """
    content = _tried_out("benchmarks", frame)
    with open_for_writing(path, patience=patience) as connection, transaction(connection):
        _put(connection, "benchmarks", content, "study, method, parameters, target, clients, epsilon, measured_at")


def land_checks(path: str | Path, identifier: str, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Write checks that belong to no round, such as an audit's, replacing those of the same identifier.

    identifier: 16 hex digits, as `run_id` makes them; there is no row of `runs`, since nobody reported.
    frame: the columns of `checks`, without run_id.
    Raises WarehouseError as `land` does.
    """
    _publish("checks", _with_run_id("checks", frame, identifier), "run_id", path, patience)


def add_figures(path: str | Path, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Write where pictures of landed runs are, beside those they have; a picture of the same name is replaced.

    frame: the columns of `figures`.  Raises WarehouseError as `land` does.
    """
    _publish("figures", frame, "run_id, name", path, patience)


def _publish(table: str, frame: pd.DataFrame, key: str, path: str | Path, patience: float) -> None:
    """Write rows of one table, in place of those of the same key."""
    content = _tried_out(table, frame)
    with open_to_publish(path, patience=patience) as connection:
        _put(connection, table, content, key)


def _tried_out(table: str, frame: pd.DataFrame) -> pa.Table:
    content = to_rows(table, frame)
    _try_out({table: content})
    return content


def _forget_waiting(connection: duckdb.DuckDBPyConnection, run: RunRow) -> None:
    """Drop what earlier attempts at a round said of waiting: every new file of reports makes another run of it."""
    connection.execute(
        "delete from runs where state = 'waiting' and scheme_digest = ? and source = ? and \"round\" = ?",
        [run.scheme_digest, run.source, run.round],
    )


def _settle(
    connection: duckdb.DuckDBPyConnection, lines: Iterable[tuple[str, str]], landed: str, judge: Judge
) -> dict[str, str]:
    """Compare the landed round, and the next one that stands, with the round that is now before each.

    lines: scheme digest and source of what is compared: those of the run that has landed, and of what it replaced.
    """
    compared = {}
    rounds = [(*line, *run) for line in sorted(lines) for run in around(connection, *line, landed)]
    for digest, source, identifier, round_ in rounds:
        before = numbers_before(connection, digest, source, round_, identifier)
        groups = connection.execute("from comparisons where run_id = ? and other_run_id = run_id", [identifier]).df()
        comparisons, checks = judge(numbers(connection, identifier), before, groups)
        connection.execute("delete from comparisons where run_id = ? and other_run_id <> run_id", [identifier])
        connection.execute(
            "delete from checks where run_id = ? and (starts_with(name, 'drift(') or list_contains(?, name))",
            [identifier, checks["name"].tolist()],
        )
        for table, frame in (("comparisons", comparisons), ("checks", checks)):
            if len(frame):
                _insert(connection, table, to_rows(table, _with_run_id(table, frame, identifier)))
        compared[identifier] = str(before["round"].iloc[0]) if len(before) else ""
    return compared


def _run_row(run: RunRow, state: str) -> pa.Table:
    values = dataclasses.asdict(run) | {"state": state, "replaced_by": None}
    for name in ("started_at", "finished_at"):
        moment = values[name]
        if moment is not None and moment.tzinfo is None:
            raise WarehouseError(f"runs.{name} must carry a time zone, such as datetime.now(UTC)")
        values[name] = None if moment is None else moment.astimezone(UTC)
    return to_rows("runs", pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in values.items()}))


def _with_run_id(table: str, frame: pd.DataFrame, identifier: str) -> pd.DataFrame:
    if "run_id" not in frame.columns:
        return frame.assign(run_id=identifier)
    if not (frame["run_id"] == identifier).all():
        raise WarehouseError(f"{table} holds rows of another run than {identifier}; a run lands its own rows only")
    return frame


def _try_out(rows: Mapping[str, pa.Table]) -> None:
    with scratch() as connection:
        for table, content in rows.items():
            if key := repeated(connection, table, content):
                raise WarehouseError(f'{table}: Constraint Error: UNIQUE constraint violation: duplicate key "{key}"')
            try:
                _insert(connection, table, content)
            except duckdb.Error as error:
                raise WarehouseError(f"{table}: {one_line(error)}") from error


def _put(connection: duckdb.DuckDBPyConnection, table: str, content: pa.Table, key: str) -> None:
    connection.register("replacing", content)
    connection.execute(f"delete from {table} where ({key}) in (select {key} from replacing)")
    connection.unregister("replacing")
    _insert(connection, table, content)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, content: pa.Table) -> None:
    connection.register("incoming", content)
    connection.execute(f"insert into {table} by name select * from incoming")
    connection.unregister("incoming")
