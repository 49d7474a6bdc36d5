"""Prometheus metrics of `ldpflow status`; the collector has metrics of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..services.up import HOST
from .status import Line

WORDS = {
    "workers": "Workers with a recent heartbeat",
    "runs_ended_badly": "Runs that failed or crashed in the last day",
    "next_round_timestamp_seconds": "Unix time of the next scheduled round",
    "last_round_timestamp_seconds": "Unix time at which the newest round landed",
    "last_round_reports": "Reports counted in the newest round",
    "last_round_refused": "Reports refused in the newest round",
    "last_round_checks_failed": "Failed checks of the newest round",
    "epsilon_spent": "Epsilon spent by a client that reported in every round",
    "messages_waiting": "Messages not delivered to the webhook",
    "disk_free_bytes": "Free bytes on the disk of the data folder",
}


class Metrics(Collector):
    """The newest lines of a status, as gauges."""

    def __init__(self) -> None:
        self.lines: Sequence[Line] = ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        well = GaugeMetricFamily(
            "ldpflow_well", "1 if this line of `ldpflow status` reports no problem", labels=["what"]
        )
        for line in self.lines:
            well.add_metric([line.subject], float(line.is_well))
        yield well
        for name, value in ((name, value) for line in self.lines for name, value in line.numbers.items()):
            yield GaugeMetricFamily(f"ldpflow_{name}", WORDS[name], value=value)


def serve(port: int) -> Callable[[Sequence[Line]], None]:
    """Serve metrics on a port of this machine, and return the function that sets the newest lines.  Raises OSError."""
    metrics = Metrics()
    registry = CollectorRegistry()
    registry.register(metrics)
    start_http_server(port, HOST, registry)
    return lambda lines: setattr(metrics, "lines", tuple(lines))
