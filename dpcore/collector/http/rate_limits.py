"""How much one sender may send: requests a second, bytes, which are counted as they come, and seconds for it."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache

from dpcore.errors import SchemeError

MOST_CONNECTIONS = 1000  # at once, of all senders
HEADER_SECONDS = 10.0  # that a connection may be open without a whole request's headers
REQUEST_SECONDS = 120.0  # that a request may take, until its sender has read the answer
BODY_SECONDS = 30.0  # that a body may take to arrive
BODY_ROOM = 256 << 20  # bytes of bodies that are still arriving
_BURST = 2.0  # seconds of requests that may come at once
_NAME = re.compile(r"[0-9A-Za-z._-]+|\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?")  # or an address of version 6
_MOST_SENDERS = 100_000  # that are remembered; who has been quiet longest is forgotten first


class TooLarge(Exception):
    """A body that is longer than it may be; the rest of it has not been read."""


class TooSlow(Exception):
    """A body that did not come in time."""


class Buckets:
    """A token bucket for each sender: `rate` requests a second, and two seconds' worth at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, sender: str, rate: float) -> float:
        """Return 0 and count a request, or the seconds after which there is room for one."""
        now, most = self._clock(), max(1.0, _BURST * rate)
        left, since = self._left.pop(sender, (most, now))
        left = min(most, left + max(0.0, now - since) * rate)
        allowed = left >= 1
        self._left[sender] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST_SENDERS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / rate


def network(address: str) -> str:
    """Return what of an address is one sender: all of it, or the first 64 bits where it is of version 6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "nowhere"
    if parsed.version == 6:
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


@lru_cache(maxsize=256)
def is_asked_here(host: str, names: frozenset[str], at: str) -> bool:
    """Return whether a request's Host is one of ours: a name that we were told, or the address that the request came to.

    An address leads to its machine alone; a name leads where its owner lets it, who may send a browser here.

    >>> [is_asked_here(host, frozenset({"survey.example.org"}), "127.0.0.1") for host in ("localhost:80", "evil.example")]
    [True, False]
    """
    name = canonical(host)
    if name in names or name == canonical(f"[{at}]" if ":" in at else at):
        return True
    return name == "localhost" and network(at.partition("%")[0]) in ("127.0.0.1", "::/64")


def canonical(host: str) -> str:
    """Return the name or address in a Host, without its port: in small letters, an address as it is written shortest."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    name = name.lower().removesuffix(".")
    try:
        parsed = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def named(names: Sequence[str]) -> frozenset[str]:
    """Return the names by which requests may ask, in small letters; raises SchemeError for what is no name or address."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise SchemeError(
                f"--name must be a host without a scheme or port, such as survey.example.org, got {name[:60]!r}"
            )
    return frozenset(canonical(f"[{name.strip('[]')}]" if ":" in name else name) for name in names)


def trusted(text: str) -> tuple[str, ...]:
    """Return addresses and networks, separated by commas, whose X-Forwarded-For is believed; raises SchemeError.

    >>> trusted("127.0.0.1, 10.0.0.0/8")
    ('127.0.0.1', '10.0.0.0/8')
    """
    proxies = tuple(proxy.strip() for proxy in text.split(",") if proxy.strip())
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            raise SchemeError(
                f"--proxy must be addresses or networks such as 127.0.0.1,10.0.0.0/8, got {proxy[:40]!r}; who believes "
                "everybody lets anyone be anyone"
            ) from None
    return proxies


def also_mapped(proxies: Sequence[str]) -> list[str]:
    """Return addresses and networks with the form that those of version 4 have where a socket listens to version 6, too.

    >>> also_mapped(["10.0.0.0/8"]) == ["10.0.0.0/8", str(ipaddress.ip_network("::ffff:10.0.0.0/104"))]
    True
    """
    mapped = [
        str(ipaddress.ip_network((0xFFFF << 32 | int(proxy.network_address), 96 + proxy.prefixlen)))
        for proxy in map(ipaddress.ip_network, proxies)
        if proxy.version == 4
    ]
    return [*proxies, *mapped]


class Room:
    """What bodies take while they arrive: beyond `most` bytes together, the one that has been at it longest is ended."""

    def __init__(self, most: int = BODY_ROOM) -> None:
        self._most = most
        self._taken: dict[asyncio.Timeout, int] = {}  # in the order in which they began
        self._all = 0

    def begin(self, ends: asyncio.Timeout) -> None:
        self._taken[ends] = 0

    def take(self, ends: asyncio.Timeout, size: int) -> None:
        """Count bytes of a body that has begun, and end others until all that are left have room."""
        if ends in self._taken:
            self._taken[ends] += size
            self._all += size
        while self._all > self._most:
            longest = next(iter(self._taken))
            self.end(longest)
            longest.reschedule(0)

    def end(self, ends: asyncio.Timeout) -> None:
        self._all -= self._taken.pop(ends, 0)


async def body(chunks: AsyncIterator[bytes], announced: str | None, most: int, room: Room) -> bytes:
    """Return a body of at most so many bytes; announced: its length, where the sender has said it.

    Raises TooLarge before more than `most` bytes have been kept, TooSlow where it takes longer than BODY_SECONDS, or longer
    than all others that have no room beside it.
    """
    if announced is not None and announced.isdigit() and int(announced) > most:
        raise TooLarge
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS) as ends:
            room.begin(ends)
            try:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > most:
                        raise TooLarge
                    parts.append(chunk)
                    room.take(ends, len(chunk))
            finally:
                room.end(ends)
    except TimeoutError:
        raise TooSlow from None
    return b"".join(parts)
