"""The parts of one collector put together: its schemes, store, intake, the thread that seals, and what is counted."""

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

from dpcore.collector.browser_client import ENTRY, joined
from dpcore.collector.http.metrics import Metrics
from dpcore.collector.store.database import Store
from dpcore.collector.store.intake import Intake, Outcome, Parcel
from dpcore.collector.store.partition import WHOLE, Share
from dpcore.collector.store.sealing import Sealer, landing
from dpcore.collector.store.transfer import Handing
from dpcore.errors import SchemeError, StoreError
from dpcore.protocol.odds_text import pages_of
from dpcore.protocol.scheme import Scheme
from dpcore.wire import judge, rows_of, write_bundle
from dpcore.wire.inbox import closed_rounds

_PAGE = "consent.html"
_JSON = '<script type="application/json" id="%s">{}</script>'
_PLACE = 'data-bundle="bundle/" data-reports="reports"'
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_BEAT = 1.0  # seconds between looks at what is to be sealed
_PATIENCE = 3.0  # seconds in which others who run take what lies before their doors
_LAST_SECONDS = 60.0  # that sealing has at the end; the next collector seals what is left
_log = logging.getLogger(__name__)


class Taker(Protocol):
    """What carries parcels out: `Intake`, or nothing where a benchmark measures the service without it."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    async def take(self, parcel: Parcel) -> Outcome: ...
    def bring(self, parcel: Parcel) -> Outcome: ...
    def close(self, rounds: frozenset[tuple[str, str]]) -> None: ...


@dataclass(frozen=True, eq=False)
class Offer:
    """A scheme that reports are taken under, with all that its clients read: the files of the bundle and of the page.

    policy: what the page may do, as it says itself, and that no other may frame it, which it cannot say itself.
    """

    scheme: Scheme
    bundle: dict[str, bytes]
    page: dict[str, bytes]
    policy: str

    @classmethod
    def of(cls, scheme: Scheme, wording: object) -> Offer:
        """wording: how the consent page puts it, and what it says of odds, as that page explains."""
        with TemporaryDirectory() as folder:
            files = write_bundle(Path(folder), scheme).parent.iterdir()
            bundle = {file.name: file.read_bytes() for file in files}
        static = resources.files("dpcore.collector") / "static"
        page = {file.name: file.read_bytes() for file in static.iterdir() if file.name.endswith((".mjs", ".html"))}
        page[ENTRY] = joined(static).encode()
        at = f"../../schemes/{scheme.digest}"
        text = page[_PAGE].decode().replace(_PLACE, f'data-bundle="{at}/bundle/" data-reports="{at}/reports"')
        language, rounds = _asked_for(scheme, wording)
        for place, content in {"wording": wording, "told": pages_of(scheme, language, rounds)}.items():
            text = text.replace(_JSON % place, (_JSON % place).replace("{}", _as_json(content)))
        policy = f"{_POLICY.findall(text)[0]}; frame-ancestors 'none'"
        return cls(scheme, bundle, page | {"": text.encode()}, policy)


def _as_json(content: object) -> str:
    return json.dumps(content).replace("<", "\\u003c")  # ends no script


def _asked_for(scheme: Scheme, wording: object) -> tuple[str, int]:
    """The language that the page opens with, and how many rounds it tells of; raises SchemeError."""
    texts = wording if isinstance(wording, dict) else {}
    language, rounds = texts.get("language", ""), texts.get("rounds", 1)
    if not isinstance(language, str):
        raise SchemeError(f'language in the wording of {scheme.name} must be a text, as "de"; got {language!r}')
    if isinstance(rounds, bool) or not isinstance(rounds, int):
        raise SchemeError(f"rounds in the wording of {scheme.name} must be a whole number, as 12; got {rounds!r}")
    return language, rounds


def offers_of(schemes: Sequence[Scheme], wording: dict[str, object]) -> dict[str, Offer]:
    """Return the offers by digest and by name; of several schemes of one name, the name means the last."""
    if unknown := set(wording) - {scheme.name for scheme in schemes}:
        raise SchemeError(f"the wording is of {', '.join(sorted(unknown))}, which is not served")
    offers = [Offer.of(scheme, wording.get(scheme.name, {})) for scheme in schemes]
    return {offer.scheme.name: offer for offer in offers} | {offer.scheme.digest: offer for offer in offers}


class Desk:
    """One collector, from its start to its end."""

    def __init__(
        self,
        folder: Path,
        schemes: Sequence[Scheme],
        *,
        seconds: float,
        wording: dict[str, object] | None = None,
        share: Share = WHOLE,
        refuse_late: bool = False,
        taker: Taker | None = None,
    ):
        """Open the store and get everything ready; raises SchemeError, StoreError.

        seconds: how long reports wait for company before they are sealed.  share: of the folder, this one's.
        refuse_late: whether rounds that have landed are closed.  taker: in place of the way into the store.
        """
        self.metrics = Metrics()
        for scheme in schemes:
            judge(rows_of([], scheme))  # what is loaded and computed once is loaded now, not in the first request
        self.offers = offers_of(schemes, wording or {})
        self._folder, self._schemes = folder, schemes
        self._store = Store(folder, schemes, share)
        self._sealer = Sealer(folder, seconds, share)
        self._handing = None if share == WHOLE else Handing(folder, schemes, share)
        self._taker = taker or Intake(self._store, self.metrics.synced)
        self._refuses_late = refuse_late
        self._close()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._seal_on, name="sealing", daemon=True)
        self._failing = dict.fromkeys(("taking", "sealing", "handing", "checkpoint"), False)

    @property
    def is_failing(self) -> bool:
        return any(self._failing.values())

    def start(self) -> None:
        self._taker.start()
        self._thread.start()

    def stop(self) -> None:
        """Take what has come, hand on what is others', seal everything, and let go of the store."""
        self._ends.set()
        self._thread.join()
        self._taker.stop()
        if self._handing is not None:
            self._carry_on("handing", self._hand)
            self._carry_on("handing", self._settle)
            self._handing.close()
        self._carry_on("sealing", lambda: self._sealer.seal(everything=True, seconds=_LAST_SECONDS))
        self._sealer.close()
        self._store.close()

    async def take(self, parcel: Parcel) -> Outcome:
        """Return what became of a parcel; it is counted."""
        outcome = await self._taker.take(parcel)
        self._note("taking", outcome.failure in ("store", "internal"))
        self.metrics.carried_out(parcel.scheme.name, outcome)
        return outcome

    def _seal_on(self) -> None:
        self._carry_on("sealing", self._sealer.mend)
        while not self._ends.wait(_BEAT):
            if self._handing is not None:
                self._carry_on("handing", self._hand)
            self._carry_on("sealing", self._seal)
            self._carry_on("checkpoint", self._sealer.checkpoint)

    def _seal(self) -> int:
        self._close()
        return self._sealer.seal()

    def _close(self) -> None:
        """Say to who takes reports which rounds have landed."""
        if self._refuses_late:
            digests = [scheme.digest for scheme in self._schemes]
            landed = [(digest, closed_rounds(landing(self._folder, digest))) for digest in digests]
            self._taker.close(frozenset((digest, name) for digest, names in landed for name in names))

    def _hand(self) -> None:
        """Write what others own before their doors, and take what lies before this one."""
        assert self._handing is not None
        self._handing.give()
        _take_given(self._handing, self._taker, self.metrics)

    def _settle(self) -> None:
        """Take and seal for others what they do not take, as they have ended; who runs takes it within a beat or two."""
        assert self._handing is not None
        until = time.monotonic() + _PATIENCE
        while (left := self._handing.left()) and time.monotonic() < until:
            time.sleep(_BEAT / 10)
        for share in left:
            store, handing = Store(self._folder, self._schemes, share), Handing(self._folder, self._schemes, share)
            sealer = Sealer(self._folder, 0, share)
            with closing(store), closing(handing), closing(sealer):
                _take_given(handing, Intake(store), self.metrics)
                sealer.seal(everything=True, seconds=_LAST_SECONDS)

    def _carry_on(self, action: str, work: Callable[[], int | None]) -> None:
        """Do a piece of what is done beside the requests; a failure is said once, and is tried again at the next beat."""
        try:
            count = work()
            self.metrics.files.inc(count or 0)
            self.metrics.waiting.set(self._sealer.waiting())
            self.metrics.set_aside.set(self._sealer.set_aside())
            self._note(action, False)
        except StoreError as error:
            if not self._failing[action]:
                _log.error("%s; what was taken stays in the store, and %s is tried again", error, action)
            self._note(action, True)

    def _note(self, action: str, fails: bool) -> None:
        self._failing[action] = fails
        self.metrics.failing.labels(action).set(fails)


def _take_given(handing: Handing, taker: Taker, metrics: Metrics) -> None:
    """Take what lies before a collector's door, file by file; what cannot be kept now stays there."""
    for path, parcel in handing.given():
        outcome = taker.bring(parcel)
        if outcome.failure:
            return
        metrics.carried_out(parcel.scheme.name, outcome)
        path.unlink(missing_ok=True)  # one that ends may have taken it for another
