"""Lands a run: writes all its rows in one transaction; landing it again changes nothing.

All checks that do not need the file are made before it is opened: the rows are converted to the exact types of the tables and
inserted into an empty warehouse in memory, which has the same constraints.
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
from dpcore.estimation import constants
from dpcore.results.warehouse.connection import PATIENCE, open_for_writing, scratch
from dpcore.results.warehouse.landing.counted_and_charged import charge_landed, refuse_counted
from dpcore.results.warehouse.landing.current_run import SIMULATED, Claim, replace
from dpcore.results.warehouse.landing.previous_round import around, newest_runs, numbers, numbers_before
from dpcore.results.warehouse.published_copy import open_to_publish
from dpcore.results.warehouse.typed_rows import repeated, to_rows
from dpcore.results.warehouse.views import RESULTS, one_line, transaction

REHEARSAL = "rehearsal.duckdb"  # the only file for a dry run on real records with a seed; it is in the run's folder
# (estimates of a run, of the previous round, comparisons of its groups) -> (its rows of `comparisons` with that round, the
# `checks` that depend on them)
Judge = Callable[[pd.DataFrame, pd.DataFrame, pd.DataFrame], tuple[pd.DataFrame, pd.DataFrame]]
# (estimates of the newest rounds, the landed round) -> (rows of `smoothed`, the `checks` of the landed round and later ones)
Smoother = Callable[[pd.DataFrame, str], tuple[pd.DataFrame, pd.DataFrame]]
_SMOOTHED_AGAIN = "on conflict do update set " + ", ".join(
    f"{name} = excluded.{name}" for name in ("smoothed", "smoothed_error", "smoothed_low", "smoothed_high")
)
_CLIENTS = "clients"  # the check whether a round has far fewer reports than the previous rounds
_ROUNDS = 7  # previous rounds, for the median
_SHARE = 0.5  # fraction of the median below which the check fails
_JUDGED = f"""
with rounds as (
    select run_id, "round", source, accepted, median(accepted) over before as usual, count(*) over before as earlier
    from runs
    where state = 'landed'
        and replaced_by is null
        and not trial
        and scheme = ?
        and (source = 'simulated') = ?
    window before as (order by "round" rows between {_ROUNDS} preceding and 1 preceding)
)
select
    run_id,
    '{_CLIENTS}' as name,
    accepted >= {_SHARE} * usual as passed,
    accepted::double as observed,
    {_SHARE} * usual as threshold,
    format('{{:,}} reports; {{}}{{:,}} in the previous {{}}', accepted, if(earlier = 1, '', 'median '), usual::bigint,
        if(earlier = 1, 'round', earlier || ' rounds')) as detail
from rounds
where earlier > 0
"""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """The row of `runs` without its state.

    source: 'simulated', 'records' or 'reports'.  randomness: 'secure' or 'seeded'.  seed: of a simulation only, below
    2^63; not allowed with records, because a known seed reveals the noise and so the records.
    late: number of reports, accepted or rejected, that were sent for an earlier round.
    trial: whether it is a simulated trial under a name of its own.
    started_at, finished_at: with a time zone; stored as UTC to the microsecond.
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
    """The rows of one run: its row of `runs` and a frame for each table.

    again: whether it may replace another run of its round (`current_run`).

    tables: keys among RESULTS; columns as in the table, in any order.  `run_id` and columns with a default are optional.
    NaN, NaT and None are nulls.
    """

    run: RunRow
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    again: bool = False

    @property
    def claim(self) -> Claim:
        """The claim to become the current run of its round; a trial always may."""
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
    Each part is preceded by its length, so that different triples have different inputs.
    """
    parts = [part.encode() for part in (scheme_digest, round_, str(salt))]
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.sha256(framed).hexdigest()[:16]


def land(
    path: str | Path,
    landing: Landing,
    *,
    judge: Judge | None = None,
    smoother: Smoother | None = None,
    patience: float = PATIENCE,
) -> dict[str, str]:
    """Write a run and all its rows, replacing earlier rows of the same run_id.

    Returns run_id -> the round that it was compared with ('' if there is none) for the runs that `judge` compared.

    judge: compares rounds.  In the same transaction, the landed round and the next one are compared with their previous rounds,
    and so are the rounds next to a replaced run, so that the tables do not depend on the order of landings.
    smoother: smooths the newest rounds, in the same transaction; a round that is older than they are is not smoothed.
    patience: timeout in seconds if the file is locked.
    Raises WarehouseError, with nothing written, for an unknown table or column, a missing column, a value of another
    type, a null in a column without nulls, rows of another run, duplicate keys, a violated CHECK, a file of reports that
    another round has counted, and for a dry run on real records in another file than its own; AlreadyLanded if the round
    has a current run that this run may not replace.
    """
    run = landing.run
    if run.source != SIMULATED and run.randomness == "seeded" and Path(path).name != REHEARSAL:
        raise WarehouseError(f"{path}: a dry run on real records lands in its own {REHEARSAL}; run it again")
    rows = {"runs": _run_row(run, "landed")}
    for table, frame in landing.tables.items():
        if table not in RESULTS:
            raise WarehouseError(f"table {table!r}: unknown; a run lands in {', '.join(RESULTS)}")
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
        series = {(run.scheme_digest, run.source), *((old.scheme_digest, old.source) for old in replaced)}
        for source in sorted({source for _, source in series}):
            _judge_turnout(connection, run.scheme, source)
        if smoother is not None and not run.trial:
            _smooth(connection, series, run.round, smoother)
        return {} if judge is None or run.trial else _settle(connection, series, run.round, judge)


def land_failure(path: str | Path, run: RunRow, *, patience: float = 30.0) -> None:
    """Write a failed run: one row of `runs`; a landed run keeps its state and rows.

    patience: short, because the run may have failed because of a locked file.
    Raises WarehouseError as `land` does.
    """
    _land_state(path, run, "failed", patience)


def land_waiting(path: str | Path, run: RunRow, *, patience: float = PATIENCE) -> None:
    """Write a run that is held back because it has too few clients: one row of `runs`, as in `land_failure`."""
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
    """Write the rows of studies, replacing those of the same study and `measured_at`.

    frame: the columns of `benchmarks`; `measured_at` with a time zone, the same for all rows of a study.
    Raises WarehouseError as `land` does.
    """
    _publish("benchmarks", frame, "study, measured_at", path, patience)


def add_benchmarks(path: str | Path, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Add rows to a running study; rows with the same key are replaced.

    The rows are not published until `publish_copy`, which saves time in a study of many parts.
    frame: as for `land_benchmarks`.  Raises WarehouseError as `land` does.
    """
    content = _tried_out("benchmarks", frame)
    with open_for_writing(path, patience=patience) as connection, transaction(connection):
        _put(connection, "benchmarks", content, "study, method, parameters, target, clients, epsilon, measured_at")


def land_checks(path: str | Path, identifier: str, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Write checks without a round, such as those of an audit, replacing those of the same identifier.

    identifier: 16 hex digits, as from `run_id`; it has no row in `runs`.
    frame: the columns of `checks`, without run_id.
    Raises WarehouseError as `land` does.
    """
    _publish("checks", _with_run_id("checks", frame, identifier), "run_id", path, patience)


def add_figures(path: str | Path, frame: pd.DataFrame, *, patience: float = PATIENCE) -> None:
    """Add the paths of pictures of landed runs; a picture of the same name is replaced.

    frame: the columns of `figures`.  Raises WarehouseError as `land` does.
    """
    _publish("figures", frame, "run_id, name", path, patience)


def _publish(table: str, frame: pd.DataFrame, key: str, path: str | Path, patience: float) -> None:
    """Write rows of one table, replacing those with the same key, and publish."""
    content = _tried_out(table, frame)
    with open_to_publish(path, patience=patience) as connection:
        _put(connection, table, content, key)


def _tried_out(table: str, frame: pd.DataFrame) -> pa.Table:
    content = to_rows(table, frame)
    _try_out({table: content})
    return content


def _forget_waiting(connection: duckdb.DuckDBPyConnection, run: RunRow) -> None:
    """Delete earlier runs of a round that were held back, because every new file of reports gives another run_id."""
    connection.execute(
        "delete from runs where state = 'waiting' and scheme_digest = ? and source = ? and \"round\" = ?",
        [run.scheme_digest, run.source, run.round],
    )


def _settle(
    connection: duckdb.DuckDBPyConnection, series: Iterable[tuple[str, str]], landed: str, judge: Judge
) -> dict[str, str]:
    """Compare the landed round and the next one with the round before each.

    series: scheme digest and source of the landed run and of the runs that it replaced.
    """
    compared = {}
    rounds = [(*key, *run) for key in sorted(series) for run in around(connection, *key, landed)]
    for digest, source, identifier, round_ in rounds:
        before = numbers_before(connection, digest, source, round_, identifier)
        groups = connection.execute("from comparisons where run_id = ? and other_run_id = run_id", [identifier]).df()
        comparisons, checks = judge(numbers(connection, [identifier]), before, groups)
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


def _smooth(
    connection: duckdb.DuckDBPyConnection, series: Iterable[tuple[str, str]], landed: str, smoother: Smoother
) -> None:
    """Smooth the newest rounds; filtered values, forecasts and shifts change from the landed round on.

    series: scheme digest and source of the landed run and of the runs that it replaced.
    """
    for digest, source in sorted(series):
        newest = newest_runs(connection, digest, source, constants.TREND_ROUNDS)
        if len(newest) == constants.TREND_ROUNDS and landed < newest[-1][1]:
            continue
        rows, checks = smoother(numbers(connection, [run_id for run_id, _ in newest]), landed)
        later = [run_id for run_id, round_ in newest if round_ >= landed]
        connection.execute("delete from smoothed where list_contains(?, run_id)", [later])
        connection.execute("delete from checks where list_contains(?, run_id) and starts_with(name, 'shift(')", [later])
        if len(rows):
            _insert(connection, "checks", to_rows("checks", checks))
            _insert(connection, "smoothed", to_rows("smoothed", rows), _SMOOTHED_AGAIN)


def _run_row(run: RunRow, state: str) -> pa.Table:
    values = dataclasses.asdict(run) | {"state": state, "replaced_by": None}
    for name in ("started_at", "finished_at"):
        moment = values[name]
        if moment is not None and moment.tzinfo is None:
            raise WarehouseError(f"runs.{name}: needs a time zone, such as datetime.now(UTC)")
        values[name] = None if moment is None else moment.astimezone(UTC)
    return to_rows("runs", pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in values.items()}))


def _with_run_id(table: str, frame: pd.DataFrame, identifier: str) -> pd.DataFrame:
    if "run_id" not in frame.columns:
        return frame.assign(run_id=identifier)
    if not (frame["run_id"] == identifier).all():
        raise WarehouseError(f"{table}: has rows of another run than {identifier}; a run lands its own rows only")
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


def _insert(connection: duckdb.DuckDBPyConnection, table: str, content: pa.Table, conflict: str = "") -> None:
    connection.register("incoming", content)
    connection.execute(f"insert into {table} by name select * from incoming {conflict}")
    connection.unregister("incoming")


def _judge_turnout(connection: duckdb.DuckDBPyConnection, scheme: str, source: str) -> None:
    """Write the check `clients` again for all current rounds of a scheme with real data, or with simulated data."""
    values = [scheme, source == "simulated"]
    connection.execute(
        f"delete from checks where name = '{_CLIENTS}' and run_id in (select run_id from runs where scheme = ? and (source = "
        "'simulated') = ?)",
        values,
    )
    connection.execute(f"insert into checks by name {_JUDGED}", values)
