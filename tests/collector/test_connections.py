"""What comes before a request: connections that hold the door, hosts that are another's, lengths that are said twice over."""

from __future__ import annotations

import json
import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dpcore.collector.http import rate_limits
from dpcore.collector.http.server_protocol import ConnectionLimits, Listener
from dpcore.collector.store.sealing import landing
from dpcore.errors import SchemeError
from tests.helpers import collectors
from tests.helpers.collectors import HOST, PATH, SCHEME, Sender, collector

HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
WHOLE = HALF + b"no\r\n\r\n"
HALF_BODY = b"POST /schemes/colours/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
HALF_BODY += b"Content-Length: 200\r\n\r\n{"


def connected(port: int, source: str = HOST) -> socket.socket:
    return socket.create_connection((HOST, port), timeout=10, source_address=(source, 0))


def answered(port: int, source: str = HOST) -> tuple[bytes, float]:
    """The first line of an answer, and the seconds that it took from the connection on."""
    began = time.monotonic()
    with connected(port, source) as connection:
        connection.sendall(WHOLE)
        return connection.recv(65536).partition(b"\r\n")[0], time.monotonic() - began


SOON = 8  # seconds, of a machine that does other things, too; whoever is kept out waits for a deadline of ten


@contextmanager
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@pytest.mark.parametrize(("files", "half"), [(None, HALF), (1024, HALF), (1024, HALF_BODY)])
def test_a_thousand_half_sent_requests_keep_nobody_out(tmp_path: Path, files: int | None, half: bytes) -> None:
    """Neither who comes from elsewhere nor who comes from the same address; with as few files open as systems allow."""

    def few() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    (tmp_path / "colours.toml").write_text(collectors.TEXT, encoding="utf-8")
    serving = collectors.Serving(tmp_path / "into", tmp_path / "colours.toml", before=few)
    try:
        port = serving.wait()
        with many_files(), ExitStack() as held:
            began = time.monotonic()
            for number in range(1005):  # of bodies some addresses' share: who has sent more than others gives way
                source = HOST if half == HALF else f"127.0.1.{number % 12}"
                connection = held.enter_context(connected(port, source))
                connection.sendall(half)
            assert time.monotonic() - began < 3  # a queue that is full asks for the connection again after seconds
            for source in ("127.0.0.2", HOST):
                for _ in range(3):
                    line, seconds = answered(port, source)
                    assert line == b"HTTP/1.1 200 OK"
                    assert seconds < SOON
        status, said = serving.stop()
        assert status == 0
        assert "Too many open files" not in said
    finally:
        if serving.process.poll() is None:
            serving.kill()


def test_headers_have_a_deadline_and_a_pause_between_bytes_gains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a body that nobody reads; a body that is read has a deadline of its own."""
    monkeypatch.setattr(rate_limits, "HEADER_SECONDS", 0.6)
    with collector(tmp_path) as sender:
        unread = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        body = b"POST /schemes/colours/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        body += b"Content-Length: 50\r\n\r\n"
        for begun, ends in ((HALF, True), (b"", True), (WHOLE + HALF, True), (unread, True), (body, False)):
            with connected(sender.port) as connection:
                began = time.monotonic()
                connection.sendall(begun)
                connection.settimeout(0.1)
                is_open = True
                patience = 5 if ends else 1.5  # seconds: others may have the core
                while is_open and time.monotonic() - began < patience:
                    try:
                        is_open = connection.recv(65536) != b""
                        connection.sendall(b"x" if begun else b"")
                    except TimeoutError:
                        connection.sendall(b"x" if begun else b"")
                    except OSError:
                        is_open = False
                assert is_open != ends, begun
        assert sender.get("/health").status == 200


def test_a_handshake_of_tls_has_the_deadline_of_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    import asyncio

    monkeypatch.setattr(rate_limits, "HEADER_SECONDS", 0.3)

    async def scene() -> None:
        doors = ConnectionLimits(10)
        from dpcore.collector.serve import listening

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with Listener.guarding(listening(HOST, 0), doors) as listener:
            server = await asyncio.start_server(lambda *_: None, sock=listener, ssl=context)
            reader, writer = await asyncio.open_connection(HOST, listener.getsockname()[1])
            writer.write(b"\x16\x03\x01")  # of a handshake, and no more
            async with asyncio.timeout(30):
                while len(doors) == 0:
                    await asyncio.sleep(0)
                came = time.monotonic()
                while len(doors) == 1:
                    await asyncio.sleep(0.05)
                    doors.sweep()
                assert time.monotonic() - came > 0.2
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()
            server.close()

    asyncio.run(scene())


def test_doors_end_who_waits_longest_and_leave_who_works() -> None:
    now = [0.0]
    doors = ConnectionLimits(2, ("10.0.0.0/8",), 4, lambda: now[0])
    with ExitStack() as held:

        def come(address: str) -> tuple[socket.socket, socket.socket] | None:
            now[0] += 1
            ours, theirs = (held.enter_context(each) for each in socket.socketpair())
            return (ours, theirs) if doors.enter(ours, address) else None

        def is_ended(guest: tuple[socket.socket, socket.socket]) -> bool:
            guest[1].setblocking(False)
            try:
                return guest[1].recv(1) == b""
            except BlockingIOError:
                return False

        first, second = come("192.0.2.1"), come("192.0.2.1")
        assert first
        assert second
        doors.works(first[0].fileno())
        third = come("192.0.2.1")  # of this address the second waits longest
        assert third
        assert [is_ended(each) for each in (first, second, third)] == [False, True, False]
        doors.works(third[0].fileno())
        assert come("192.0.2.1") is None
        proxied = [come("10.1.2.3") for _ in range(3)]  # of all, there is room for two more
        assert all(proxied)
        assert [is_ended(each) for each in proxied if each] == [True, False, False]
        assert len(doors) == 4
        doors.waits(third[0].fileno())
        now[0] += rate_limits.HEADER_SECONDS
        doors.sweep()
        assert not is_ended(first)
        assert len(doors) == 1
        now[0] += rate_limits.REQUEST_SECONDS
        doors.sweep()
        assert is_ended(first)
        for guest in (first, second, third):
            doors.leave(guest[0].fileno())
        assert len(doors) == 0
        assert come("192.0.2.1")
        assert come("192.0.2.1")
        assert all(come(f"2001:db8::{k}") for k in range(2))
        many = come("2001:db8::3")
        assert many
        assert len(doors) == 4


LENGTHS = {
    "Content-Length: 5\r\nTransfer-Encoding: chunked": b"HTTP/1.1 400 Bad Request",
    "Transfer-Encoding: chunked\r\nContent-Length: 5": b"HTTP/1.1 400 Bad Request",
    "content-length: 0\r\ntransfer-encoding: CHUNKED": b"HTTP/1.1 400 Bad Request",
    "Content-Length: 5\r\nContent-Length: 6": b"HTTP/1.1 400 Bad Request",
    "Content-Length: 5, 6": b"HTTP/1.1 400 Bad Request",
    "Content-Length: +5": b"HTTP/1.1 400 Bad Request",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked": b"HTTP/1.1 400 Bad Request",
    "Transfer-Encoding: gzip, chunked": b"HTTP/1.1 400 Bad Request",
    "Content-Length: 5": b"HTTP/1.1 422 ",  # the rest of the test would find a fault here
}  # what a request says of its length, and the first line of the answer


def test_a_length_that_is_said_twice_over_closes_the_connection(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """What follows could be a request that a proxy took for the body."""
    with collector(tmp_path) as sender:
        for lengths, line in LENGTHS.items():
            with subtests.test(lengths), connected(sender.port) as connection:
                head = f"POST {PATH}/reports HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n{lengths}\r\n\r\n"
                connection.sendall(head.encode() + b"0\r\n\r\n" + WHOLE)
                found = b""
                connection.settimeout(2)
                while more := connection.recv(65536):
                    found += more
                    if found.count(b"HTTP/1.1 ") == 2 and found.endswith(b"}"):
                        break
                assert found.startswith(line)
                assert found.count(b"HTTP/1.1 ") == (1 if b"400" in line else 2)
                if b"400" in line:
                    headers, _, content = found.partition(b"\r\n\r\n")
                    assert b"connection: close" in headers.lower()
                    assert json.loads(content)["reason"] == "not understood"


def test_what_asks_for_another_host_is_refused(tmp_path: Path) -> None:
    """As a page elsewhere does whose name was made to lead here."""
    cases = {
        "127.0.0.1": 201,
        "127.0.0.1:9": 200,
        "localhost:8080": 200,
        "LOCALHOST": 200,
        "survey.example.org": 200,
        "Survey.Example.org.:443": 200,
        "evil.example": 421,
        "survey.example.org.evil.example": 421,
        "127.0.0.2": 421,
        "127.0.0.1.evil.example": 421,
        "192.0.2.1": 421,
        "[::1]": 421,
        "": 421,
    }
    with collector(tmp_path, names=("survey.example.org",)) as sender:
        content = collectors.single(1)
        for host, status in cases.items():
            answer = sender.ask("POST", f"{PATH}/reports", content, Host=host, Content_Type="application/json")
            assert (host, answer.status) == (host, status)
            if status == 421:
                assert answer.said["reason"] == "another host"
        assert sender.ask("GET", "/health", Host="evil.example").status == 421
        assert sender.ask("GET", "/nothing", Host="evil.example").status == 421
        with connected(sender.port) as connection:
            connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert list(landing(tmp_path, SCHEME.digest).glob("*.parquet"))


def test_names_are_hosts() -> None:
    assert rate_limits.named(["Survey.example.org", "192.0.2.7", "2001:DB8::0:1"]) == {
        "survey.example.org",
        "192.0.2.7",
        "2001:db8::1",
    }
    assert rate_limits.is_asked_here("[2001:db8::1]:443", rate_limits.named(["[2001:DB8::0:1]"]), "::")
    assert rate_limits.is_asked_here("192.0.2.7", frozenset(), "::ffff:192.0.2.7")
    assert rate_limits.is_asked_here("localhost", frozenset(), "::1")
    assert not rate_limits.is_asked_here("localhost", frozenset(), "192.0.2.7")
    for wrong in ("https://survey.example.org", "survey.example.org:443", "a b", "*"):
        with pytest.raises(SchemeError, match="without a scheme or port"):
            rate_limits.named([wrong])


def test_every_page_says_who_may_frame_it(tmp_path: Path) -> None:
    """Which a page cannot say itself; the rest it says, too, for where it is served by others."""
    with collector(tmp_path) as sender:
        page = Sender(sender.port).get("/survey/colours/")
        policy = page.headers["content-security-policy"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        none = ("default-src", "base-uri", "form-action", "frame-ancestors")
        assert {name: rules[name] for name in none} == dict.fromkeys(none, "'none'")
        assert rules["script-src"] == rules["connect-src"] == "'self'"
        assert policy.removesuffix("; frame-ancestors 'none'") in page.content.decode()
