"""Who is in: how many connections there are, of one address and in all, and how long each may do nothing.

A connection waits from its start, or from its last answer, until the next request's headers are whole; a TLS handshake that is
not done waits, too.  Who waits too long is ended, and where there is no room for another, who has waited longest; where nobody
waits, whose body has been arriving longest.  So whoever opens a thousand connections and sends half of a header, or of a body,
closes the door to nobody, not at the same address either.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dpcore.collector.http import rate_limits

_SPARE = 300  # of the files that a process may open: the store's, and connections that are ended and not closed yet


@dataclass(eq=False)
class _Guest:
    """A connection; since: when it began to wait, or its request to be carried out."""

    met: socket.socket
    sender: str
    since: float


class Doors:
    """The connections of a collector, each known by its socket's number while it is open."""

    def __init__(
        self,
        of_one: int,
        exempt: Sequence[str] = (),
        most: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """of_one: how many an address may have.  exempt: proxies, through which many come.  most: in all."""
        self._of_one, self._most, self._clock = of_one, most or _most(), clock
        self._exempt = [ipaddress.ip_network(network) for network in exempt]
        self._waiting: dict[int, _Guest] = {}  # in the order in which they began to
        self._working: dict[int, _Guest] = {}
        self._arriving: dict[int, _Guest] = {}  # of those, whose bodies are not whole, in the order in which they began
        self._waiting_of: dict[str, dict[int, _Guest]] = {}
        self._count: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._working)

    def enter(self, met: socket.socket, address: str) -> bool:
        """Return whether there is room for a connection, which then waits; another may be ended for it."""
        sender = "" if self._is_exempt(address) else rate_limits.network(address)
        if sender and self._count[sender] >= self._of_one:
            own = self._waiting_of.get(sender)
            rivals = own or {number: guest for number, guest in self._arriving.items() if guest.sender == sender}
        elif len(self) >= self._most:
            rivals = self._waiting or self._arriving
        else:
            rivals = None
        if rivals is not None:
            if not rivals:
                return False
            self._end(next(iter(rivals)))
        self._count[sender] += 1
        self._put(met.fileno(), _Guest(met, sender, self._clock()))
        return True

    def leave(self, number: int) -> None:
        """Forget a connection, where it is not forgotten already."""
        guest = self._take(number)
        if guest is not None:
            self._count[guest.sender] -= 1
            if not self._count[guest.sender]:
                del self._count[guest.sender]

    def waits(self, number: int) -> None:
        """Note that nothing of a connection is under way, from now on or since before."""
        guest = self._working.pop(number, None)
        self._arriving.pop(number, None)
        if guest is not None:
            guest.since = self._clock()
            self._put(number, guest)

    def works(self, number: int, *, arrives: bool = False) -> None:
        """Note that a request of a connection is being carried out; arrives: whether some of its body is yet to come."""
        if number in self._waiting:
            guest = self._take(number)
            if guest is not None:
                guest.since = self._clock()
                self._working[number] = guest
        if not arrives:
            self._arriving.pop(number, None)
        elif number in self._working:
            self._arriving.setdefault(number, self._working[number])

    def sweep(self) -> None:
        """End who has waited, or been carried out, for too long."""
        now = self._clock()
        for guests, most in ((self._waiting, rate_limits.HEADER_SECONDS), (self._working, rate_limits.REQUEST_SECONDS)):
            while guests and now - next(iter(guests.values())).since >= most:
                self._end(next(iter(guests)))

    def _put(self, number: int, guest: _Guest) -> None:
        self._waiting[number] = guest
        self._waiting_of.setdefault(guest.sender, {})[number] = guest

    def _take(self, number: int) -> _Guest | None:
        self._arriving.pop(number, None)
        guest = self._working.pop(number, None) or self._waiting.pop(number, None)
        waiting = None if guest is None else self._waiting_of.get(guest.sender)
        if guest is not None and waiting is not None:
            waiting.pop(number, None)
            if not waiting:
                del self._waiting_of[guest.sender]
        return guest

    def _end(self, number: int) -> None:
        """Let the event loop find a connection at its end, which then closes it."""
        met = (self._working.get(number) or self._waiting[number]).met
        self.leave(number)
        with suppress(OSError):  # the sender has gone
            met.shutdown(socket.SHUT_RDWR)

    def _is_exempt(self, address: str) -> bool:
        if not self._exempt:
            return False
        sender = ipaddress.ip_address(address.partition("%")[0])
        sender = getattr(sender, "ipv4_mapped", None) or sender
        return any(sender in network for network in self._exempt)


class Listener(socket.socket):
    """A listening socket at the doors: asyncio accepts of it who may enter."""

    doors: Doors

    @classmethod
    def of(cls, listener: socket.socket, doors: Doors) -> Listener:
        """Return a socket in place of one that is bound, and is none afterwards."""
        guarded = cls(listener.family, listener.type, listener.proto, fileno=listener.detach())
        guarded.doors = doors
        return guarded

    def listen(self, backlog: int = 0) -> None:
        """Let as many wait for the door as the system allows, however few asyncio accepts at a time: a burst loses none."""
        super().listen(max(backlog, socket.SOMAXCONN))

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and its address; raises ConnectionAbortedError where it may not enter, as if it had gone."""
        plain, address = super().accept()
        met = _Met(plain.family, plain.type, plain.proto, fileno=plain.detach())
        met.doors = self.doors
        if not self.doors.enter(met, address[0]):
            met.close()
            raise ConnectionAbortedError
        return met, address


class _Met(socket.socket):
    """A connection that is known at the doors until it is closed."""

    doors: Doors

    def close(self) -> None:
        if self.fileno() >= 0:
            self.doors.leave(self.fileno())
        super().close()


def _most() -> int:
    """How many connections fit beside all else into the files that this process may open."""
    import resource  # POSIX only, as nothing else here is

    return max(10, min(rate_limits.MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _SPARE))
