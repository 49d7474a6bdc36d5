"""What `ldpflow status` says, in numbers, as Prometheus reads it; the collector has metrics of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..services.up import HOST
from .status import Line

WORDS = {
    "workers": "Workers that were heard of lately",
    "runs_ended_badly": "Runs that failed or crashed since a day ago",
    "next_round_timestamp_seconds": "When the next round is due, as a Unix time",
    "last_round_timestamp_seconds": "When the newest round landed, as a Unix time",
    "last_round_reports": "Reports that the newest round counted",
    "last_round_refused": "Reports that the newest round refused",
    "last_round_checks_failed": "Checks of the newest round that did not pass",
    "epsilon_spent": "What a client who answered every round has spent",
    "messages_waiting": "Messages that the webhook has not taken",
    "disk_free_bytes": "Bytes that are free where the data is",
}


class Metrics(Collector):
    """The newest lines of a status, as gauges."""

    def __init__(self) -> None:
        self.lines: Sequence[Line] = ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        well = GaugeMetricFamily("ldpflow_well", "1 where what `ldpflow status` looks at is well", labels=["what"])
        for line in self.lines:
            well.add_metric([line.what], float(line.is_well))
        yield well
        for name, value in ((name, value) for line in self.lines for name, value in line.numbers.items()):
            yield GaugeMetricFamily(f"ldpflow_{name}", WORDS[name], value=value)


def serve(port: int) -> Callable[[Sequence[Line]], None]:
    """Serve metrics on a port of this machine from now on, and return what takes the newest lines.  Raises OSError."""
    metrics = Metrics()
    registry = CollectorRegistry()
    registry.register(metrics)
    start_http_server(port, HOST, registry)
    return lambda lines: setattr(metrics, "lines", tuple(lines))
