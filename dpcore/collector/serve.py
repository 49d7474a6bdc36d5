"""`ldpflow serve`: the collector as a process, until SIGTERM or Ctrl-C, which seal what has been taken."""

from __future__ import annotations

import ipaddress
import json
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from dpcore.collector.backend import Desk, Taker
from dpcore.collector.http import rate_limits
from dpcore.collector.http.access_keys import Access
from dpcore.collector.http.connections import Doors, Listener
from dpcore.collector.http.server_protocol import Server, config_of
from dpcore.collector.http.service import Service
from dpcore.collector.store.partition import WHOLE, Share
from dpcore.errors import SchemeError, StoreError
from dpcore.protocol.scheme import Scheme

_GRACE = 30  # seconds that requests under way have at the end


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `ldpflow serve` is told; see its help.

    rate: requests a second; connections: of an address; most: bytes of a batch; seal_after: seconds; share: K/N, '' for all.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    names: Sequence[str] = ()
    keys: Path | None = None
    certificate: Path | None = None
    certificate_key: Path | None = None
    proxy: str = ""
    origins: Sequence[str] = ()
    rate: float = 100.0
    connections: int = 100
    most: int = 4 << 20
    seal_after: float = 60.0
    wording: Path | None = None
    share: str = ""
    refuse_late: bool = False


class _Server(Server):
    """Says where it is once it listens, and ends in peace when it is told to."""

    def __init__(self, config: uvicorn.Config, doors: Doors, greeting: str) -> None:
        super().__init__(config, doors)
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        print(self._greeting, flush=True)  # noqa: T201 - what a person reads

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGINT and SIGTERM; unlike uvicorn's own, without raising the signal once more at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(schemes: Sequence[Path], folder: Path, settings: Settings, taker: Taker | None = None) -> None:
    """Collect until told to stop; taker: in place of the way into the store, which `load` measures without.

    Raises SchemeError for settings that cannot be carried out, StoreError where the folder cannot keep reports.
    """
    access = Access() if settings.keys is None else Access.read(settings.keys)
    if settings.keys is None and not _is_own(settings.host):
        raise SchemeError(
            f"on {settings.host} others reach the collector: say who may do what with --keys FILE; `ldpflow key` makes one"
        )
    if (settings.certificate is None) != (settings.certificate_key is None):
        raise SchemeError("--certificate and --certificate-key go together; for TLS at a proxy, give neither")
    _check_certificate(settings)
    proxies, names = rate_limits.trusted(settings.proxy), rate_limits.named(settings.names)
    if not names and (proxies or not _is_own(settings.host)):
        raise SchemeError(
            "clients ask for the collector by a name, and what asks for another host is refused: say which with --name "
            "survey.example.org; may be repeated"
        )
    parsed, wording = [Scheme.from_toml(scheme) for scheme in schemes], _wording(settings.wording)
    for each in parsed:
        each.check_asked()
    # Else anyone fills the log.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno > logging.WARNING)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    share = Share.parse(settings.share) if settings.share else WHOLE
    with listening(settings.host, settings.port) as listener:
        desk = Desk(
            folder,
            parsed,
            seconds=settings.seal_after,
            wording=wording,
            share=share,
            refuse_late=settings.refuse_late,
            taker=taker,
        )
        service = Service(desk=desk, access=access, rate=settings.rate, most=settings.most, names=names)
        doors = Doors(settings.connections, proxies)
        config = config_of(
            service.app(settings.origins, proxies),
            doors,
            log_level="warning",
            timeout_graceful_shutdown=_GRACE,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.certificate_key,
        )
        host = settings.host if _is_own(settings.host) else settings.names[0]
        host = f"[{host}]" if ":" in host else host
        at = f"{'https' if settings.certificate else 'http'}://{host}:{listener.getsockname()[1]}"
        named = "\n".join(f"  {scheme.name:24} {scheme.digest[:16]}  {at}/survey/{scheme.name}/" for scheme in parsed)
        with Listener.of(listener, doors) as guarded:
            _Server(config, doors, f"collecting at {at} into {folder}\n{named}").run(sockets=[guarded])


def _is_own(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _wording(file: Path | None) -> dict[str, object]:
    if file is None:
        return {}
    try:
        wording = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        wording = None
    if not isinstance(wording, dict):
        raise SchemeError(
            f"{file} must be a JSON object: scheme's name -> title and questions, as the consent page explains"
        )
    for texts in wording.values():
        if isinstance(texts, dict) and str(texts.get("language", "")).endswith(".toml"):
            texts["language"] = str(file.parent / texts["language"])  # texts of one's own lie beside it
    return wording


def _check_certificate(settings: Settings) -> None:
    if settings.certificate is None or settings.certificate_key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certificate, settings.certificate_key)
    except OSError as error:  # ssl.SSLError is one
        cause = getattr(error, "reason", None) or error.strerror or "not a certificate"
        raise SchemeError(
            f"the certificate or its key cannot be used ({cause}); give PEM files that belong together"
        ) from None


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that is bound; raises StoreError where it cannot be.

    Its protocol is named, for asyncio sends at once what is written on such a socket alone; else an answer's body waits
    until the sender has acknowledged its headers, which takes 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise StoreError(f"nothing can listen at {host}:{port} ({error.strerror}); choose another --port") from None
    return listener
