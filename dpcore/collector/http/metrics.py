"""Prometheus metrics of one collector process since its start."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

from dpcore.collector.store.intake import Outcome

__all__ = ["CONTENT_TYPE", "Metrics"]
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one collector, in a separate registry."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._reports = Counter("ldpflow_reports", "Reports by outcome", ["scheme", "outcome"], registry=own)
        self._refused = Counter("ldpflow_refused", "Reports refused, by reason", ["scheme", "reason"], registry=own)
        self.requests = Counter("ldpflow_requests", "Requests by path and status", ["path", "status"], registry=own)
        self.seconds = Histogram(
            "ldpflow_request_seconds", "Seconds a request took", ["path"], buckets=_SECONDS, registry=own
        )
        self._commit = Histogram("ldpflow_commit_seconds", "Seconds a commit took", buckets=_SECONDS, registry=own)
        self._shared = Counter("ldpflow_committed_requests", "Requests committed", registry=own)
        self.waiting = Gauge("ldpflow_reports_waiting", "Accepted reports that are not sealed yet", registry=own)
        self.set_aside = Gauge("ldpflow_reports_set_aside", "Reports that were damaged in the store", registry=own)
        self.failing = Gauge("ldpflow_failing", "1 if the last attempt to write failed", ["what"], registry=own)
        self.files = Counter("ldpflow_files", "Files sealed into the landing folder", registry=own)

    def carried_out(self, scheme: str, outcome: Outcome) -> None:
        """Count the outcome of an upload."""
        for name, count in {
            "accepted": outcome.accepted,
            "already_have": outcome.replayed,
            "handed_on": outcome.handed,
            "refused": outcome.refused.total(),
        }.items():
            self._reports.labels(scheme, name).inc(count)
        for reason, count in outcome.refused.items():
            self._refused.labels(scheme, reason).inc(count)

    def synced(self, seconds: float, requests: int) -> None:
        """Record a commit: its duration and the number of requests in it."""
        self._commit.observe(seconds)
        self._shared.inc(requests)

    def text(self) -> bytes:
        return generate_latest(self._registry)
