"""Limits per sender: requests per second, bytes (counted while they arrive) and seconds."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache

from dpcore.errors import SchemeError

MOST_CONNECTIONS = 1000  # open connections of all senders together
HEADER_SECONDS = 10.0  # limit for the headers of a request
REQUEST_SECONDS = 120.0  # limit for a request, until its sender has read the response
BODY_SECONDS = 30.0  # limit for the arrival of a body
BODY_ROOM = 256 << 20  # bytes of all incomplete bodies together
_BURST = 2.0  # seconds' worth of requests that may arrive at once
_NAME = re.compile(r"[0-9A-Za-z._-]+|\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?")  # or an IPv6 address
_MOST_SENDERS = 100_000  # senders in memory; the one without requests for the longest time is dropped first


class TooLarge(Exception):
    """Raised for a body above its limit; the rest of it is not read."""


class TooSlow(Exception):
    """Raised for a body that does not arrive in time."""


class TokenBuckets:
    """One token bucket per sender: `rate` requests a second, with bursts of two seconds' worth."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, sender: str, rate: float) -> float:
        """Count a request and return 0, or return the seconds until one is allowed."""
        now, most = self._clock(), max(1.0, _BURST * rate)
        left, since = self._left.pop(sender, (most, now))
        left = min(most, left + max(0.0, now - since) * rate)
        allowed = left >= 1
        self._left[sender] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST_SENDERS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / rate


def network(address: str) -> str:
    """Return the part of an address that identifies a sender: all of an IPv4 address, the first 64 bits of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "nowhere"
    if parsed.version == 6:
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


@lru_cache(maxsize=256)
def is_asked_here(host: str, names: frozenset[str], at: str) -> bool:
    """Return whether a request's Host is this collector: a configured name, or the address that received the request.

    An address always leads to its own machine.  A name leads wherever its owner points it, possibly here, so names must be
    listed.

    >>> [is_asked_here(host, frozenset({"survey.example.org"}), "127.0.0.1") for host in ("localhost:80", "evil.example")]
    [True, False]
    """
    name = canonical(host)
    if name in names or name == canonical(f"[{at}]" if ":" in at else at):
        return True
    return name == "localhost" and network(at.partition("%")[0]) in ("127.0.0.1", "::/64")


def canonical(host: str) -> str:
    """Return the name or address in a Host header, without the port, in lower case, an address in its shortest form."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    name = name.lower().removesuffix(".")
    try:
        parsed = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def named(names: Sequence[str]) -> frozenset[str]:
    """Return the allowed host names in canonical form; raises SchemeError for an invalid name or address."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise SchemeError(
                f"--name must be a host without a scheme or port, such as survey.example.org, got {name[:60]!r}"
            )
    return frozenset(canonical(f"[{name.strip('[]')}]" if ":" in name else name) for name in names)


def trusted(text: str) -> tuple[str, ...]:
    """Parse the addresses and networks, separated by commas, whose X-Forwarded-For is trusted; raises SchemeError.

    >>> trusted("127.0.0.1, 10.0.0.0/8")
    ('127.0.0.1', '10.0.0.0/8')
    """
    proxies = tuple(proxy.strip() for proxy in text.split(",") if proxy.strip())
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            raise SchemeError(
                f"--proxy must be addresses or networks such as 127.0.0.1,10.0.0.0/8, got {proxy[:40]!r}; "
                "list the addresses of your proxies only"
            ) from None
    return proxies


def also_mapped(proxies: Sequence[str]) -> list[str]:
    """Add the IPv4-mapped IPv6 form of each IPv4 address or network, which dual-stack sockets report.

    >>> also_mapped(["10.0.0.0/8"]) == ["10.0.0.0/8", str(ipaddress.ip_network("::ffff:10.0.0.0/104"))]
    True
    """
    mapped = [
        str(ipaddress.ip_network((0xFFFF << 32 | int(proxy.network_address), 96 + proxy.prefixlen)))
        for proxy in map(ipaddress.ip_network, proxies)
        if proxy.version == 4
    ]
    return [*proxies, *mapped]


class BodyMemory:
    """Memory of incomplete bodies: above `most` bytes in total, the body that has been arriving longest is aborted."""

    def __init__(self, most: int = BODY_ROOM) -> None:
        self._most = most
        self._sizes: dict[asyncio.Timeout, int] = {}  # the oldest first
        self._total = 0

    def begin(self, ends: asyncio.Timeout) -> None:
        self._sizes[ends] = 0

    def take(self, ends: asyncio.Timeout, size: int) -> None:
        """Count bytes of a body, and abort the oldest bodies until the rest fits."""
        if ends in self._sizes:
            self._sizes[ends] += size
            self._total += size
        while self._total > self._most:
            longest = next(iter(self._sizes))
            self.end(longest)
            longest.reschedule(0)

    def end(self, ends: asyncio.Timeout) -> None:
        self._total -= self._sizes.pop(ends, 0)


async def body(chunks: AsyncIterator[bytes], announced: str | None, most: int, memory: BodyMemory) -> bytes:
    """Read a body of at most `most` bytes; announced: the sender's Content-Length, if there is one.

    Raises TooLarge above `most` bytes, and TooSlow after BODY_SECONDS or if `memory` aborts this body.
    """
    if announced is not None and announced.isdigit() and int(announced) > most:
        raise TooLarge
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS) as ends:
            memory.begin(ends)
            try:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > most:
                        raise TooLarge
                    parts.append(chunk)
                    memory.take(ends, len(chunk))
            finally:
                memory.end(ends)
    except TimeoutError:
        raise TooSlow from None
    return b"".join(parts)
