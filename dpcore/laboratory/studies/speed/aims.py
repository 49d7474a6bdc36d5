"""What the study of speed is to show, and whether it does."""

from __future__ import annotations

import pandas as pd

from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.laboratory.studies.speed import clients, memory, records, reports, rounds

_DRAWS = {clients.COMPILED: 0.15, clients.NUMPY: 0.06}  # of PCG64's
_PEER, _GEOMETRIC, _OPENDP = 5.0, 0.3, 10.0
_BINCOUNT, _DUCKDB = 0.5, 0.3
_TO_CODES, _FROM_PARQUET, _OF_KERNELS, _ROUND_SECONDS = 0.5, 0.25, 3.0, 4.0
_ESTIMATE_SECONDS, _TOGETHER, _ALONE = 0.5, 1.25, 2.0
_SLOPE = (0.97, 1.03)
_KERNELS = 2.0
_GIBIBYTE, _FLAT = 1.0, 1.1  # of peak memory; the largest round's over that of 10^7 clients
_FLAT_FROM = 10_000_000


def verdicts(rows: pd.DataFrame) -> list[Verdict]:
    """Return the aims with what was found; rows: method, parameters, target, clients, metric, value."""
    return [*_clients(rows), *_reports(rows), *_records(rows), *_rounds(rows), *_whole(rows)]


def _clients(rows: pd.DataFrame) -> list[Verdict]:
    aims = []
    for name in clients.NAMES:
        group = rows[rows["method"] == name]
        for path, limit in _DRAWS.items():
            value = _one(group[group["parameters"] == path], clients.DRAWS)
            aims.append(Verdict(f"{name}, {path}: clients for a PCG64 draw", value, limit, at_least=True))
        if name in clients.PEERED:
            slower = _least(group, clients.PEER)
            aims.append(Verdict(f"{name}: clients for the fastest peer's one", slower, _PEER, at_least=True))
    wavelets = rows[rows["method"] == "wavelet_laplace"]
    simulated = wavelets[wavelets["parameters"] == clients.SIMULATED]
    for group, metric, limit, text in (
        (simulated, clients.GEOMETRIC, _GEOMETRIC, "simulated noise for a geometric draw of numpy's"),
        (wavelets, clients.OPENDP, _OPENDP, "noise from secure words for one of opendp's vector calls"),
    ):
        aims.append(Verdict(f"wavelet_laplace: {text}", _least(group, metric), limit, at_least=True))
    return aims


def _reports(rows: pd.DataFrame) -> list[Verdict]:
    aims = []
    for name in clients.COUNTED:
        group = rows[rows["method"] == name]
        for operation, metric, limit, text in (
            (reports.STATISTICS, reports.BINCOUNT, _BINCOUNT, "reports counted for one of bincount's"),
            (reports.FILE, reports.DUCKDB, _DUCKDB, "reports of a file aggregated for one of DuckDB's group-by"),
        ):
            value = _one(group[group["parameters"] == operation], metric)
            aims.append(Verdict(f"{name}: {text}", value, limit, at_least=True))
    return aims


def _records(rows: pd.DataFrame) -> list[Verdict]:
    privatized = rows[rows["method"] == records.PRIVATIZE].sort_values("clients")
    largest = privatized[privatized["clients"] == privatized["clients"].max()]
    peak = _one(largest, records.PEAK)
    where = f" of {largest['clients'].iloc[0]:,} records" if len(largest) else ""
    read, commands = rows[rows["parameters"] == records.PARQUET], rows[rows["method"] == records.ROUND]
    from_parquet = [
        Verdict(
            f"{name}: {'numbers' if name in clients.WAVES else 'names'} of a Parquet file for a PCG64 draw",
            _one(read[read["method"] == name], records.DRAWS),
            _FROM_PARQUET,
            at_least=True,
        )
        for name in clients.NAMES
    ]
    return [
        Verdict(
            "names for an integer code, of the slowest form", _least(rows, records.TO_CODES), _TO_CODES, at_least=True
        ),
        *from_parquet,
        Verdict(f"ldpflow privatize{where}: time over its kernels", _one(largest, records.KERNELS), _OF_KERNELS),
        Verdict(f"ldpflow privatize{where}: peak memory, GiB", None if peak is None else peak / 2**30, _GIBIBYTE),
        Verdict(
            f"ldpflow run of {records.CLIENTS:,} clients: seconds of a core",
            _one(commands, records.SECONDS),
            _ROUND_SECONDS,
        ),
    ]


def _rounds(rows: pd.DataFrame) -> list[Verdict]:
    largest = rows.groupby("metric")["value"].max()
    slope = _one(rows, rounds.SLOPE)
    top = rows[rows["metric"] == rounds.SLOPE]["clients"].max()
    where = f" to {top:,} clients" if slope is not None else ""
    return [
        Verdict("seconds an estimate takes, the slowest", _largest(largest, rounds.ESTIMATE), _ESTIMATE_SECONDS),
        Verdict(
            f"simulation and estimate: time of {rounds.MANY:,} clients over that of {rounds.FEW:,}, the largest",
            _largest(largest, rounds.TOGETHER),
            _TOGETHER,
        ),
        Verdict(
            f"simulation: time of {rounds.MANY:,} clients over that of {rounds.FEW:,}",
            _largest(largest, rounds.ALONE),
            _ALONE,
        ),
        Verdict(f"report by report: slope of log time from 1,000,000{where}", slope, _SLOPE[0], at_least=True),
        Verdict(f"report by report: slope of log time from 1,000,000{where}", slope, _SLOPE[1]),
    ]


def _whole(rows: pd.DataFrame) -> list[Verdict]:
    runs = rows[rows["method"] == memory.RUN]
    whole = runs[(runs["target"] == memory.WHOLE) & (runs["metric"] == memory.KERNELS)].sort_values("clients")
    peaks = runs[runs["metric"] == memory.PEAK].sort_values("clients")
    where = f" of {whole['clients'].iloc[-1]:,} clients" if len(whole) else ""
    last = float(whole["value"].iloc[-1]) if len(whole) else None
    aims = [Verdict(f"a whole round{where}: time over its people's and mechanisms' kernels", last, _KERNELS)]
    most = float(peaks["value"].max()) / 2**30 if len(peaks) else None
    at = f", up to {peaks['clients'].max():,} clients" if len(peaks) else ""
    aims.append(Verdict(f"peak memory of a round, GiB{at}", most, _GIBIBYTE))
    for name, group in peaks[peaks["clients"] >= _FLAT_FROM].groupby("target"):
        if len(group) > 1:
            first, last_of = group.iloc[0], group.iloc[-1]
            text = f"{name}: peak memory of {last_of['clients']:,} clients over that of {first['clients']:,}"
            aims.append(Verdict(text, float(last_of["value"] / first["value"]), _FLAT))
    return aims


def _one(rows: pd.DataFrame, metric: str) -> float | None:
    values = rows[rows["metric"] == metric]["value"]
    return float(values.iloc[0]) if len(values) else None


def _least(rows: pd.DataFrame, metric: str) -> float | None:
    """The slower path's."""
    values = rows[rows["metric"] == metric]["value"]
    return float(values.min()) if len(values) else None


def _largest(by_metric: pd.Series, metric: str) -> float | None:
    value = by_metric.get(metric)
    return None if value is None else float(value)
