"""One collector: its schemes, store, intake, sealing thread and metrics, connected."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from dpcore.collector.browser_client import ENTRY, joined
from dpcore.collector.store.database import Store
from dpcore.collector.store.intake import Intake, Outcome, Upload
from dpcore.collector.store.report_ids import WHOLE, Share
from dpcore.collector.store.sealing import Sealer, landing
from dpcore.collector.store.transfer import Transfer
from dpcore.errors import SchemeError, StoreError
from dpcore.protocol.odds import pages_of
from dpcore.protocol.scheme import Scheme
from dpcore.wire import judge, rows_of, write_bundle
from dpcore.wire.inbox import closed_rounds

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_PAGE = "consent.html"
_JSON = '<script type="application/json" id="%s">{}</script>'
_PATHS = 'data-bundle="bundle/" data-reports="reports"'
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_TICK_SECONDS = 1.0  # between two runs of the sealing thread
_HANDOVER_SECONDS = 3.0  # that a stopping collector waits for the others to read their files
_FINAL_SEAL_SECONDS = 60.0  # that a stopping collector seals for; the next collector seals the rest
_log = logging.getLogger(__name__)


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


class UploadHandler(Protocol):
    """The interface that processes uploads: `Intake`, or a stub in benchmarks of the service alone."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    async def take(self, upload: Upload) -> Outcome: ...
    def bring(self, upload: Upload) -> Outcome: ...
    def close(self, rounds: frozenset[tuple[str, str]]) -> None: ...


@dataclass(frozen=True, eq=False)
class ServedScheme:
    """A scheme that the collector serves, with the files of its client bundle and of its consent page.

    policy: the page's Content-Security-Policy, plus frame-ancestors, which works only in an HTTP header.
    """

    scheme: Scheme
    bundle: dict[str, bytes]
    page: dict[str, bytes]
    policy: str

    @classmethod
    def prepare(cls, scheme: Scheme, wording: object) -> ServedScheme:
        """Build all files of a scheme.

        wording: title, questions, language and rounds of the consent page, as its source documents.
        """
        with TemporaryDirectory() as folder:
            files = write_bundle(Path(folder), scheme).parent.iterdir()
            bundle = {file.name: file.read_bytes() for file in files}
        static = resources.files("dpcore.collector") / "static"
        page = {file.name: file.read_bytes() for file in static.iterdir() if file.name.endswith((".mjs", ".html"))}
        page[ENTRY] = joined(static).encode()
        at = f"../../schemes/{scheme.digest}"
        text = page[_PAGE].decode().replace(_PATHS, f'data-bundle="{at}/bundle/" data-reports="{at}/reports"')
        language, rounds = _odds_options(scheme, wording)
        for element, content in {"wording": wording, "odds-texts": pages_of(scheme, language, rounds)}.items():
            text = text.replace(_JSON % element, (_JSON % element).replace("{}", _as_json(content)))
        policy = f"{_POLICY.findall(text)[0]}; frame-ancestors 'none'"
        return cls(scheme, bundle, page | {"": text.encode()}, policy)


def _as_json(content: object) -> str:
    return json.dumps(content).replace("<", "\\u003c")  # so that the content cannot end the script element


def _odds_options(scheme: Scheme, wording: object) -> tuple[str, int]:
    """Return the page's first language and the number of rounds that its odds cover; raises SchemeError."""
    texts = wording if isinstance(wording, dict) else {}
    language, rounds = texts.get("language", ""), texts.get("rounds", 1)
    if not isinstance(language, str):
        raise SchemeError(f'language in the wording of {scheme.name} must be a text such as "de"; got {language!r}')
    if isinstance(rounds, bool) or not isinstance(rounds, int):
        raise SchemeError(f"rounds in the wording of {scheme.name} must be a whole number such as 12; got {rounds!r}")
    return language, rounds


def served_schemes(schemes: Sequence[Scheme], wording: dict[str, object]) -> dict[str, ServedScheme]:
    """Return the served schemes by digest and by name; if several have one name, the name refers to the last."""
    if unknown := set(wording) - {scheme.name for scheme in schemes}:
        raise SchemeError(
            f"wording: {', '.join(sorted(unknown))} is not served; use the names of served schemes as keys, or serve that "
            "scheme"
        )
    served = [ServedScheme.prepare(scheme, wording.get(scheme.name, {})) for scheme in schemes]
    return {entry.scheme.name: entry for entry in served} | {entry.scheme.digest: entry for entry in served}


class Collector:
    """One running collector."""

    def __init__(
        self,
        folder: Path,
        schemes: Sequence[Scheme],
        *,
        seconds: float,
        wording: dict[str, object] | None = None,
        share: Share = WHOLE,
        refuse_late: bool = False,
        handler: UploadHandler | None = None,
    ):
        """Open the store and prepare all schemes; raises SchemeError, StoreError.

        seconds: how long reports wait for further reports before they are sealed.  share: this collector's share of the folder.
        refuse_late: whether reports for landed rounds are refused.  handler: replaces `Intake`.
        """
        self.metrics = Metrics()
        for scheme in schemes:
            judge(rows_of([], scheme))  # fills caches now and not in the first request
        self.schemes = served_schemes(schemes, wording or {})
        self._folder, self._parsed = folder, schemes
        self._store = Store(folder, schemes, share)
        self._sealer = Sealer(folder, seconds, share)
        self._transfer = None if share == WHOLE else Transfer(folder, schemes, share)
        self._handler = handler or Intake(self._store, self.metrics.synced)
        self._refuses_late = refuse_late
        self._close()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._seal_on, name="sealing", daemon=True)
        self._failing = dict.fromkeys(("taking", "sealing", "handing", "checkpoint"), False)

    @property
    def is_failing(self) -> bool:
        return any(self._failing.values())

    def start(self) -> None:
        self._handler.start()
        self._thread.start()

    def stop(self) -> None:
        """Process waiting uploads, pass on the reports of other collectors, seal everything and close the store."""
        self._ends.set()
        self._thread.join()
        self._handler.stop()
        if self._transfer is not None:
            self._attempt("handing", self._exchange)
            self._attempt("handing", self._seal_for_stopped)
            self._transfer.close()
        self._attempt("sealing", lambda: self._sealer.seal(everything=True, seconds=_FINAL_SEAL_SECONDS))
        self._sealer.close()
        self._store.close()

    async def take(self, upload: Upload) -> Outcome:
        """Process an upload, count it in the metrics, and return its outcome."""
        outcome = await self._handler.take(upload)
        self._note("taking", outcome.failure in ("store", "internal"))
        self.metrics.carried_out(upload.scheme.name, outcome)
        return outcome

    def _seal_on(self) -> None:
        self._attempt("sealing", self._sealer.mend)
        while not self._ends.wait(_TICK_SECONDS):
            if self._transfer is not None:
                self._attempt("handing", self._exchange)
            self._attempt("sealing", self._seal)
            self._attempt("checkpoint", self._sealer.checkpoint)

    def _seal(self) -> int:
        self._close()
        return self._sealer.seal()

    def _close(self) -> None:
        """Pass the landed rounds to the handler, which refuses reports for them."""
        if self._refuses_late:
            digests = [scheme.digest for scheme in self._parsed]
            landed = [(digest, closed_rounds(landing(self._folder, digest))) for digest in digests]
            self._handler.close(frozenset((digest, name) for digest, names in landed for name in names))

    def _exchange(self) -> None:
        """Send reports to the collectors that own them, and take those that others sent."""
        assert self._transfer is not None
        self._transfer.send()
        _take_received(self._transfer, self._handler, self.metrics)

    def _seal_for_stopped(self) -> None:
        """Take and seal the reports of collectors that have stopped; a running collector takes its own within two ticks."""
        assert self._transfer is not None
        until = time.monotonic() + _HANDOVER_SECONDS
        while (left := self._transfer.left()) and time.monotonic() < until:
            time.sleep(_TICK_SECONDS / 10)
        for share in left:
            store, transfer = Store(self._folder, self._parsed, share), Transfer(self._folder, self._parsed, share)
            sealer = Sealer(self._folder, 0, share)
            with closing(store), closing(transfer), closing(sealer):
                _take_received(transfer, Intake(store), self.metrics)
                sealer.seal(everything=True, seconds=_FINAL_SEAL_SECONDS)

    def _attempt(self, action: str, work: Callable[[], int | None]) -> None:
        """Run one background action; a failure is logged once and the action is repeated at the next tick."""
        try:
            count = work()
            self.metrics.files.inc(count or 0)
            self.metrics.waiting.set(self._sealer.waiting())
            self.metrics.set_aside.set(self._sealer.set_aside())
            self._note(action, False)
        except StoreError as error:
            if not self._failing[action]:
                _log.error("%s; accepted reports stay in the store, and %s is tried again", error, action)
            self._note(action, True)

    def _note(self, action: str, fails: bool) -> None:
        self._failing[action] = fails
        self.metrics.failing.labels(action).set(fails)


def _take_received(transfer: Transfer, handler: UploadHandler, metrics: Metrics) -> None:
    """Take the files that other collectors sent, one by one; a file that cannot be stored now stays."""
    for path, upload in transfer.received():
        outcome = handler.bring(upload)
        if outcome.failure:
            return
        metrics.carried_out(upload.scheme.name, outcome)
        path.unlink(missing_ok=True)  # a stopping collector may have taken it for the owner
