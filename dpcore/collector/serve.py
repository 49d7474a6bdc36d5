"""`ldpflow serve`: the collector as a process; on SIGTERM or Ctrl-C it seals the accepted reports and exits."""

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

from dpcore.collector.backend import Collector, UploadHandler
from dpcore.collector.http import rate_limits
from dpcore.collector.http.access_keys import Access
from dpcore.collector.http.server_protocol import ConnectionLimits, Listener, Server, config_of
from dpcore.collector.http.service import Service
from dpcore.collector.store.report_ids import WHOLE, Share
from dpcore.errors import SchemeError, StoreError
from dpcore.protocol.scheme import Scheme

_GRACE = 30  # seconds that open requests have on shutdown


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `ldpflow serve`; see its help.

    rate: requests a second; connections: limit per address; most: bytes of a batch; seal_after: seconds; share: K/N, '' for
    all.
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
    """Prints its address when it listens, and shuts down gracefully on a signal."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits, greeting: str) -> None:
        super().__init__(config, limits)
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        print(self._greeting, flush=True)  # noqa: T201 - output of the command

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM; unlike uvicorn's method, do not raise the signal again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(schemes: Sequence[Path], folder: Path, settings: Settings, handler: UploadHandler | None = None) -> None:
    """Run a collector until a signal stops it; handler: replaces the store in load measurements.

    Raises SchemeError for invalid settings, StoreError if the folder cannot store reports.
    """
    access = Access() if settings.keys is None else Access.read(settings.keys)
    if settings.keys is None and not _is_own(settings.host):
        raise SchemeError(
            f"--host {settings.host}: other machines can reach the collector; restrict access with --keys FILE, which `ldpflow "
            "key` writes"
        )
    if (settings.certificate is None) != (settings.certificate_key is None):
        raise SchemeError(
            "--certificate and --certificate-key must be used together; for TLS at a proxy, leave out both"
        )
    _check_certificate(settings)
    proxies, names = rate_limits.trusted(settings.proxy), rate_limits.named(settings.names)
    if not names and (proxies or not _is_own(settings.host)):
        raise SchemeError(
            "--name is missing: requests for other hosts are refused; list each host name of the collector, for example --name "
            "survey.example.org"
        )
    parsed, wording = [Scheme.from_toml(scheme) for scheme in schemes], _wording(settings.wording)
    for scheme in parsed:
        scheme.check_asked()
    # Otherwise any client could fill the log.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno > logging.WARNING)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    share = Share.parse(settings.share) if settings.share else WHOLE
    with listening(settings.host, settings.port) as listener:
        collector = Collector(
            folder,
            parsed,
            seconds=settings.seal_after,
            wording=wording,
            share=share,
            refuse_late=settings.refuse_late,
            handler=handler,
        )
        service = Service(collector=collector, access=access, rate=settings.rate, most=settings.most, names=names)
        limits = ConnectionLimits(settings.connections, proxies)
        config = config_of(
            service.app(settings.origins, proxies),
            limits,
            log_level="warning",
            timeout_graceful_shutdown=_GRACE,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.certificate_key,
        )
        host = settings.host if _is_own(settings.host) else settings.names[0]
        host = f"[{host}]" if ":" in host else host
        at = f"{'https' if settings.certificate else 'http'}://{host}:{listener.getsockname()[1]}"
        named = "\n".join(f"  {scheme.name:24} {scheme.digest[:16]}  {at}/survey/{scheme.name}/" for scheme in parsed)
        with Listener.guarding(listener, limits) as guarded:
            _Server(config, limits, f"collecting at {at} into {folder}\n{named}").run(sockets=[guarded])


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
            f"{file} must be a JSON object with an object for each scheme's name, such as "
            '{"survey": {"title": "Household survey", "questions": {}}}'
        )
    for texts in wording.values():
        if isinstance(texts, dict) and str(texts.get("language", "")).endswith(".toml"):
            texts["language"] = str(file.parent / texts["language"])  # relative to this file
    return wording


def _check_certificate(settings: Settings) -> None:
    if settings.certificate is None or settings.certificate_key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certificate, settings.certificate_key)
    except OSError as error:  # includes ssl.SSLError
        cause = getattr(error, "reason", None) or error.strerror or "not a certificate"
        raise SchemeError(
            f"the certificate or its key cannot be used ({cause}); use a PEM certificate and the PEM key that belongs to it"
        ) from None


def listening(host: str, port: int) -> socket.socket:
    """Return a bound socket; raises StoreError if the address cannot be bound.

    The protocol IPPROTO_TCP is explicit because asyncio sets TCP_NODELAY only then.  Otherwise a response's body waits 40 ms
    until the sender acknowledges the headers.
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
        raise StoreError(f"cannot listen on {host}:{port} ({error.strerror}); choose another --port") from None
    return listener
