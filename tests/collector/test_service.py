"""The collector over HTTP on 127.0.0.1: what it answers, to whom, and what it keeps to itself."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

import dpcore as dp
from dpcore import wire
from dpcore.collector.backend import ServedScheme
from dpcore.collector.browser_client import joined
from dpcore.collector.http import rate_limits
from dpcore.collector.http.access_keys import Access, Key, add_key
from dpcore.collector.http.responses import DETAILS, Reason, Trouble
from dpcore.collector.serve import Settings, _wording, listening, serve
from dpcore.collector.store.sealing import landing
from dpcore.errors import DPCoreError, SchemeError, StoreError
from dpcore.protocol import tokens
from dpcore.protocol.scheme import Scheme
from tests.helpers import client_cases, collectors
from tests.helpers.collectors import HOST, PATH, SCHEME, Sender, collector
from tests.helpers.schemes import HOUSEHOLDS
from tests.helpers.services import check_metrics
from tests.helpers.tapes import Tape, only


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("collected")


@pytest.fixture(scope="module")
def sender(folder: Path) -> Iterator[Sender]:
    """A collector of two schemes for anyone."""
    with collector(folder, SCHEME, Scheme.from_toml(client_cases.ONE)) as found:
        yield found


def test_schemes_are_handed_out_by_name_and_by_digest(sender: Sender) -> None:
    listed = sender.get("/schemes").said
    assert [entry["name"] for entry in listed] == ["colours", "one_of_three"]
    assert listed[0]["digest"] == SCHEME.digest
    for ref in ("colours", SCHEME.digest):
        text = sender.get(f"/schemes/{ref}")
        assert (text.status, text.headers["content-type"]) == (200, "application/toml")
        assert hashlib.sha256(text.content).hexdigest() == SCHEME.digest
        manifest = sender.get(f"/schemes/{ref}/bundle/manifest.json").said
        assert manifest["digest"] == SCHEME.digest
        assert sender.get(f"/schemes/{ref}/bundle/scheme.toml").content == text.content


def test_the_page_and_the_browsers_client_are_served(sender: Sender) -> None:
    page = sender.get("/survey/colours/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["content-security-policy"].endswith("; frame-ancestors 'none'")
    assert f'data-reports="../../schemes/{SCHEME.digest}/reports"' in page.content.decode()
    for module in ("ldpflow.mjs", "consent.mjs"):
        assert sender.get(f"/survey/colours/{module}").headers["content-type"].startswith("text/javascript")
    client = sender.get("/survey/colours/ldpflow.mjs").content
    assert client.decode() == joined(resources.files("dpcore.collector") / "static")  # in one file
    assert sender.get("/survey/colours/consent.html").status == 404 or b"data-bundle" in page.content


def test_one_report_is_accepted_once(sender: Sender) -> None:
    content = collectors.single(1)
    answers = [sender.one(content) for _ in range(2)]
    assert [(answer.status, answer.said) for answer in answers] == [
        (201, {"answer": "accepted"}),
        (200, {"answer": "already have it"}),
    ]


def test_a_batch_is_taken_report_by_report(sender: Sender) -> None:
    content = collectors.stream(50, 2)
    assert sender.stream(content).said == {"accepted": 50, "already_have": 0, "refused": {}}
    assert sender.stream(content).said == {"accepted": 0, "already_have": 50, "refused": {}}
    first, second = collectors.single(3), collectors.single(4)
    lines = b"\n".join([first, b"", second[:-1], second, first, b"x" * 9999])
    refused = {"not_json": 2, "too_large": 1}
    assert sender.lines(lines).said == {"accepted": 2, "already_have": 1, "refused": refused}
    assert sender.lines(first + b"\n").said == {"accepted": 0, "already_have": 1, "refused": {}}


def test_one_line_break_after_a_report_is_no_part_of_it(sender: Sender) -> None:
    """A shell's `echo` and `curl --data-binary @FILE` send one."""
    said = [sender.one(collectors.single(5) + end).said for end in (b"\n", b"\r\n", b"")]
    assert said == [{"answer": "accepted"}] + [{"answer": "already have it"}] * 2
    for end in (b"\n\n", b" ", b"\r", b"\n\r\n"):
        assert sender.one(collectors.single(6) + end).said["reason"] in ("not_canonical", "too_large")


def test_a_row_of_a_stream_that_no_client_sends_is_refused_and_the_others_taken(sender: Sender) -> None:
    batch = collectors.reports(20, 5)
    batch.answers["colour"].reports.values[3] = 3  # there are three
    answer = sender.stream(wire.write_stream(batch, SCHEME))
    assert answer.said == {"accepted": 19, "already_have": 0, "refused": {"out_of_range": 1}}


def test_a_wording_ends_no_script() -> None:
    page = ServedScheme.prepare(SCHEME, {"title": "</script><script>alert(1)"}).page[""].decode()
    assert "</script><script>alert" not in page
    assert "\\u003c/script>" in page


def test_a_batch_of_too_many_lines_or_rounds_is_refused_whole(sender: Sender) -> None:
    """Each line, and each round, costs far more than its bytes."""
    one = collectors.single(7)
    rounds = b"\n".join(one.replace(b'"round":""', b'"round":"r%d"' % k) for k in range(300))
    for content in (b"\n" * 100_000, b"1\n" * 50_000, rounds):
        answer = sender.lines(content)
        assert (answer.status, answer.said["reason"]) == (422, "unreadable_batch")
    few = b"\n" * 50 + collectors.single(700) + b"\n" * 14
    assert sender.lines(few).said == {"accepted": 1, "already_have": 0, "refused": {"not_json": 63}}


def test_a_second_report_of_a_token_for_a_round_is_refused(sender: Sender) -> None:
    first, second = (collectors.of_token(seed, 7, "2026-11-20") for seed in (1, 2))
    answers = [sender.one(content) for content in (first, second, first)]
    assert [(answer.status, answer.said.get("reason", answer.said["answer"])) for answer in answers] == [
        (201, "accepted"),
        (422, "second_of_token"),
        (200, "already have it"),
    ]
    third = collectors.of_token(3, 8, "2026-11-20")
    taken = {"accepted": 1, "already_have": 1, "refused": {"second_of_token": 1}}
    assert sender.lines(b"\n".join([first, second, third])).said == taken


def test_every_refusal_has_its_reason(sender: Sender, root: Path) -> None:
    """The frozen reports that must be refused, and those that must be taken, as they stand."""
    vectors = json.loads((root / "tests/vectors/one_of_three.json").read_text(encoding="utf-8"))
    path = f"/schemes/{vectors['digest']}"
    heard = set()
    for report in vectors["reports"]:
        answer, said = sender.one(report["content"].encode(), path), json.loads(report["content"])
        is_second = said["round"] and (said.get("client"), said["round"]) in heard
        assert answer.status in ((422,) if "client" in said and is_second else (200, 201))
        heard.add((said.get("client"), said["round"]))
    for case in vectors["refused_reports"]:
        answer = sender.one(case["content"].encode("utf-8", "surrogatepass"), path)
        assert answer.said == {"answer": "refused", "reason": case["reason"], "detail": DETAILS[case["reason"]]}
        assert answer.status == (413 if case["reason"] == "too_large" else 422)


def test_what_is_not_understood_says_so_and_shows_nothing(sender: Sender) -> None:
    content = collectors.single(5)
    cases = [
        (sender.ask("POST", f"{PATH}/reports", content, Content_Type="text/plain"), 415),
        (sender.ask("POST", f"{PATH}/reports", content), 415),
        (sender.ask("POST", f"{PATH}/reports", content, Content_Type="application/json", Content_Encoding="gzip"), 415),
        (sender.one(content, "/schemes/nothing"), 404),
        (sender.get("/schemes/nothing"), 404),
        (sender.get("/schemes/" + "x" * 500), 404),
        (sender.get("/schemes/colours/bundle/nothing"), 404),
        (sender.get("/schemes/colours/bundle/..%2f..%2fstore.sqlite"), 404),
        (sender.get("/survey/colours"), 404),
        (sender.get("/docs"), 404),
        (sender.ask("DELETE", "/schemes/colours"), 405),
        (sender.get(f"{PATH}/reports"), 405),
    ]
    for answer, status in cases:
        assert answer.status == status
        assert set(answer.said) == {"answer", "reason", "detail"}
        assert answer.said["answer"] == "not taken"
    assert sender.stream(b"PAR1").said["reason"] == "unreadable_batch"
    assert sender.stream(b"PAR1").status == 422


def test_a_body_that_is_too_long_is_not_read(sender: Sender) -> None:
    """Whether its length was announced or not."""
    most = 1 << 20
    for head in (f"Content-Length: {10 * most}", "Transfer-Encoding: chunked"):
        with socket.create_connection((HOST, sender.port), timeout=10) as connection:
            lines = [
                f"POST {PATH}/batches HTTP/1.1",
                f"Host: {HOST}",
                "Content-Type: application/x-ndjson",
                head,
                "",
                "",
            ]
            connection.sendall("\r\n".join(lines).encode())
            sent = 0
            if "chunked" in head:
                piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
                try:
                    while sent < 4 * most:
                        connection.sendall(piece)
                        sent += 65536
                except OSError:
                    pass
            assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
            assert sent < 4 * most or "chunked" not in head or sent == 4 * most


def test_of_bodies_that_have_no_room_the_longest_under_way_is_ended() -> None:
    """Who holds bodies back fills nobody's memory, and keeps out nobody whose body comes at once."""

    async def held(pieces: int) -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield b"x" * 10
        await asyncio.sleep(60)

    async def whole() -> AsyncIterator[bytes]:
        for _ in range(4):
            await asyncio.sleep(0)
            yield b"x" * 10

    async def turns() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def scene() -> None:
        room = rate_limits.BodyMemory(100)
        slow = [asyncio.create_task(rate_limits.body(held(3), None, 100, room)) for _ in range(3)]
        await turns()
        assert not any(task.done() for task in slow)
        for _ in range(3):  # 90 bytes are held: 40 more end the first, and then there is room
            assert await rate_limits.body(whole(), None, 100, room) == b"x" * 40
            await turns()
            assert [task.done() for task in slow] == [True, False, False]
        assert isinstance(slow[0].exception(), rate_limits.TooSlow)
        for task in slow:
            task.cancel()

    asyncio.run(scene())


def test_metrics_health_and_openapi(sender: Sender) -> None:
    assert sender.get("/health").said == {"status": "ok"}
    sender.one(collectors.single(6))
    assert sender.get("/survey/of/nobody/anna").status == 404
    text = sender.get("/metrics").content.decode()
    check_metrics(text)
    assert "anna" not in text  # who asks writes nothing there
    assert 'ldpflow_reports_total{outcome="accepted",scheme="colours"}' in text
    assert SCHEME.digest not in text
    document = sender.get("/openapi.json").said
    assert set(document["paths"]) == {
        "/schemes",
        "/schemes/{ref}",
        "/schemes/{ref}/bundle/{file}",
        "/schemes/{ref}/reports",
        "/schemes/{ref}/batches",
        "/survey/{ref}/",
        "/survey/{ref}/{file}",
        "/health",
        "/metrics",
    }
    answers = document["paths"]["/schemes/{ref}/reports"]["post"]["responses"]
    assert {"200", "201", "400", "401", "403", "404", "408", "413", "415", "421", "422", "429", "500", "503"} == set(
        answers
    )


def test_keys_say_who_may_do_what(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('anyone = ["read"]\n', encoding="utf-8")
    own = {name: add_key(keys, name, may.split()) for name, may in {"clinic": "submit", "monitor": "watch"}.items()}
    assert keys.read_text().count("sha256") == 2
    assert not any(secret in keys.read_text() for secret in own.values())
    with pytest.raises(SchemeError, match="already has a key clinic"):
        add_key(keys, "clinic", ["submit"])
    access = Access.read(keys)
    assert "sha256" not in repr(access)
    with collector(tmp_path / "into", access=access) as nobody:
        clinic, monitor, stranger = (Sender(nobody.port, key) for key in (*own.values(), "guessed"))
        assert [each.get("/schemes").status for each in (nobody, clinic, monitor, stranger)] == [200, 200, 200, 401]
        content = collectors.single(7)
        assert [each.one(content).status for each in (nobody, stranger, monitor, clinic)] == [401, 401, 403, 201]
        assert [each.lines(content).status for each in (nobody, stranger, monitor, clinic)] == [401, 401, 403, 200]
        assert [each.get("/metrics").status for each in (nobody, clinic, monitor)] == [401, 403, 200]
        assert nobody.one(content).headers["www-authenticate"] == "Bearer"
        assert nobody.get("/health").status == 200


def test_a_key_is_the_one_whose_whole_hash_is_held(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"a key").hexdigest()
    other = digest[:-1] + "0123456789abcdef"[int(digest[-1], 16) - 1]
    for held, is_known in ((digest, True), (other, False), (digest[::-1], False)):
        known = Access(frozenset(), (Key(name="clinic", sha256=held, may=frozenset({"read"})),)).key_of("a key")
        assert (known is not None) == is_known
    (tmp_path / "keys.toml").write_text("", encoding="utf-8")
    assert Access.read(tmp_path / "keys.toml").anyone == frozenset()
    with only(Tape(1)):
        secret = add_key(tmp_path / "new.toml", "clinic", ["submit"])
    assert secret == tokens.to_text(Tape(1)(32))
    (key,) = Access.read(tmp_path / "new.toml").keys
    assert key.sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert (tmp_path / "new.toml").stat().st_mode & 0o777 == 0o600


def test_a_file_of_keys_that_says_something_else_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for text in [
        "anyone = 7",
        'anyone = ["everything"]',
        "other = 1",
        "[keys.clinic]",
        '[keys.clinic]\nsha256 = "secret"\nmay = ["read"]',
        f'[keys."Clinic 1"]\nsha256 = "{"0" * 64}"',
        f'[keys.clinic]\nsha256 = "{"0" * 64}"\nrate = 0',
        "not toml",
    ]:
        with subtests.test(text=text):
            (tmp_path / "keys.toml").write_text(text, encoding="utf-8")
            with pytest.raises(SchemeError) as refused:
                Access.read(tmp_path / "keys.toml")
            assert "\n" not in str(refused.value)
            assert "secret" not in str(refused.value)


def test_who_sends_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    with collector(tmp_path, rate=0.01) as sender:
        answers = [sender.get("/schemes") for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 429, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 100


@pytest.mark.parametrize(
    ("proxies", "statuses"), [((), [200, 429, 429, 429, 429]), ((HOST, "10.0.0.0/8"), [200, 200, 429, 429, 200])]
)
def test_forwarded_addresses_count_where_the_proxy_is_trusted(
    tmp_path: Path, proxies: tuple[str, ...], statuses: list[int]
) -> None:
    """What the sender itself puts in front is never believed, and a chain of trusted proxies is seen through."""
    forwarded = [
        "192.0.2.1",
        "192.0.2.2",
        "198.51.100.9, 192.0.2.2",
        "192.0.2.2:4711, 10.1.2.3",
        "192.0.2.2, 192.0.2.3",
    ]
    with collector(tmp_path, rate=0.01, proxies=proxies) as sender:
        answers = [sender.ask("GET", "/schemes", X_Forwarded_For=each) for each in forwarded]
    assert [answer.status for answer in answers] == statuses


def test_a_bucket_is_a_senders_own_and_survives_a_clock_that_goes_back() -> None:
    now = [100.0]
    buckets = rate_limits.TokenBuckets(lambda: now[0])
    assert [buckets.wait("a", 1) == 0 for _ in range(3)] == [True, True, False]
    assert buckets.wait("b", 1) == 0
    now[0] = 50.0
    assert buckets.wait("a", 1) > 0
    now[0] = 51.0
    assert buckets.wait("a", 1) == 0
    assert (
        rate_limits.network("2001:db8::1")
        == rate_limits.network("2001:db8::ffff")
        != rate_limits.network("2001:db8:0:1::1")
    )
    assert rate_limits.network("::ffff:192.0.2.1") == rate_limits.network("192.0.2.1")
    assert rate_limits.network("testclient") == "nowhere"


def test_a_host_is_ours_by_its_whole_name() -> None:
    names = frozenset({"survey.example.org"})
    asked = (
        "survey.example.org",
        "SURVEY.example.org:443",
        "evilsurvey.example.org",
        "example.org",
        "a.survey.example.org",
    )
    assert [rate_limits.is_asked_here(host, names, "127.0.0.1") for host in asked] == [True, True, False, False, False]


def test_other_sites_may_send_where_they_are_named(tmp_path: Path) -> None:
    with collector(tmp_path, origins=("https://survey.example.org",)) as sender:
        asks = {"Origin": "https://survey.example.org", "Access_Control_Request_Method": "POST"}
        allowed = sender.ask("OPTIONS", f"{PATH}/reports", **asks)
        assert allowed.headers["access-control-allow-origin"] == "https://survey.example.org"
        other = sender.ask("OPTIONS", f"{PATH}/reports", **(asks | {"Origin": "https://elsewhere.example.org"}))
        assert "access-control-allow-origin" not in other.headers


def test_requests_at_once_are_committed_together_and_counted_once(tmp_path: Path) -> None:
    """Eight senders of the same batches: one of them is told that they are accepted."""
    contents = [collectors.stream(20, 100 + k) for k in range(10)]
    accepted: list[int] = []
    with collector(tmp_path) as sender:

        def send() -> None:
            own = Sender(sender.port)
            accepted.extend(own.stream(content).said["accepted"] for content in contents)

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(accepted) == 200
    files = list(landing(tmp_path, SCHEME.digest).glob("*.parquet"))
    batches = [wire.read_reports(file, SCHEME) for file in files]
    assert dp.aggregate(SCHEME, *batches).equals(
        dp.aggregate(SCHEME, *(collectors.reports(20, 100 + k) for k in range(10)))
    )


def test_an_error_of_ours_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from dpcore.collector.store import intake

    def broken(rows: object) -> None:
        raise ValueError("what was sent: a secret")

    with collector(tmp_path) as sender, caplog.at_level(logging.DEBUG):
        content = collectors.stream(5, 8)
        monkeypatch.setattr(intake, "judge", broken)
        answer = sender.stream(content)
        assert (answer.status, answer.said["reason"]) == (500, "internal")
        monkeypatch.undo()
        assert sender.stream(content).said["accepted"] == 5
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(intake, "_lines", broken)
            assert sender.one(collectors.single(9)).said["reason"] == "internal"
            patch.setattr("dpcore.collector.http.service.SchemeEntry", lambda **_: broken(None))
            assert sender.get("/schemes").said["reason"] == "internal"
    assert "secret" not in caplog.text
    assert caplog.text.count("ValueError") == 3


def test_the_log_holds_no_body_no_address_and_no_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked, and however little a logger is told to keep to itself."""
    key = add_key(tmp_path / "keys.toml", "clinic", ["submit"])
    with collector(tmp_path / "into", access=Access.read(tmp_path / "keys.toml"), proxies=(HOST,)) as sender:
        clinic, stranger = Sender(sender.port, key), Sender(sender.port, "guessed key")
        bodies = [collectors.single(1), collectors.of_token(2, sent_for="r"), collectors.of_token(3, sent_for="r")]
        bodies += [
            b"no report at all",
            bodies[0].replace(b'"format"', b'"former"'),
            bodies[0].replace(b'"report":"', b'"report":"x'),
        ]
        with caplog.at_level(logging.DEBUG):
            for body in bodies:
                statuses = [each.one(body).status for each in (clinic, clinic, stranger)]
                assert statuses[2] == 401
            clinic.lines(b"\n".join(bodies))
            clinic.stream(collectors.stream(3, 4))
            clinic.ask(
                "POST", f"{PATH}/reports", bodies[0], X_Forwarded_For="192.0.2.77", Content_Type="application/json"
            )
    said = caplog.text + " ".join(str(vars(record)) for record in caplog.records if record.name != "asyncio")
    ids = [json.loads(body)["report"] for body in bodies[:3]]
    for told in (HOST, "192.0.2.77", key, "guessed key", "no report", "former", *ids):
        assert told not in said


def test_what_cannot_be_served_is_told_in_one_line(tmp_path: Path) -> None:
    scheme, file = tmp_path / "colours.toml", tmp_path / "file"
    scheme.write_text(collectors.TEXT, encoding="utf-8")
    file.write_text("nothing", encoding="utf-8")
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        cases = [
            (Settings(host="0.0.0.0"), "with --keys FILE"),
            (Settings(keys=file), "not TOML"),
            (Settings(proxy=HOST), "for example --name survey.example.org"),
            (Settings(names=("https://survey.example.org",)), "without a scheme or port"),
            (Settings(names=("survey.example.org:443",)), "without a scheme or port"),
            (Settings(certificate=file), "must be used together"),
            (Settings(certificate=file, certificate_key=file), "cannot be used"),
            (Settings(certificate=tmp_path / "none", certificate_key=file), "cannot be used"),
            (Settings(wording=file), "JSON object"),
            (Settings(proxy="127.0.0.1,*"), "list the addresses of your proxies only"),
            (Settings(), "cannot listen"),  # nor what is not refused for anything else
        ]
        for settings, said in cases:
            with pytest.raises(DPCoreError, match=said) as refused:
                serve([scheme], tmp_path / "into", replace(settings, port=taken.getsockname()[1]))
            assert "\n" not in str(refused.value)
    assert not (tmp_path / "into").exists()


def test_a_port_that_is_taken_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Kept(socket.socket):
        def __init__(self, *arguments: int) -> None:
            super().__init__(*arguments)
            made.append(self)

    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        monkeypatch.setattr(socket, "socket", Kept)
        with pytest.raises(StoreError, match="cannot listen"):
            listening(HOST, taken.getsockname()[1])
    assert [each.fileno() for each in made] == [-1]


@pytest.mark.parametrize("host", [HOST, "::1"])
def test_what_is_written_is_sent_at_once(host: str) -> None:
    """The sockets of asyncio's server wait for nobody's acknowledgement, as they would if the protocol were not named."""

    async def is_sent_at_once(listener: socket.socket) -> bool:
        found = asyncio.get_running_loop().create_future()

        async def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            found.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(met, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            option = await found
            writer.close()
        return bool(option)

    if ":" in host and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    with listening(host, 0) as listener:
        assert asyncio.run(is_sent_at_once(listener))


def test_a_wording_of_odds_that_cannot_be_told_is_refused(subtests: pytest.Subtests) -> None:
    for told, why in [
        ({"language": "fr"}, "en, de, es, or a .toml file"),
        ({"language": 1}, "must be a text"),
        ({"rounds": "12"}, "whole number"),
        ({"rounds": 0}, "rounds must lie"),
    ]:
        with subtests.test(told=told, why=why), pytest.raises(SchemeError, match=why):
            ServedScheme.prepare(Scheme.from_toml(HOUSEHOLDS), told)


def test_texts_of_a_surveys_own_lie_beside_its_wording(tmp_path: Path) -> None:
    shipped = resources.files("dpcore.protocol") / "texts" / "odds.en.toml"
    own = shipped.read_text("utf-8").replace('code = "en"', 'code = "fr"').replace("English", "Français")
    (tmp_path / "fr.toml").write_text(own, "utf-8")
    (tmp_path / "wording.json").write_text(json.dumps({"survey": {"language": "fr.toml"}}), "utf-8")
    told = _wording(tmp_path / "wording.json")["survey"]
    page = ServedScheme.prepare(Scheme.from_toml(HOUSEHOLDS), told).page[""].decode()
    embedded = json.loads(page.partition('id="odds-texts">')[2].partition("</script>")[0])
    assert embedded["first"] == "fr"
    assert [each["texts"]["code"] for each in embedded["languages"]] == ["en", "de", "es", "fr"]


def test_every_reason_has_a_detail_of_one_line() -> None:
    reasons = {*get_args(Reason), *get_args(Trouble.model_fields["reason"].annotation)}
    assert reasons == set(DETAILS)
    assert all("\n" not in detail and detail.endswith(".") for detail in DETAILS.values())
    assert "/batches" in DETAILS["too_large"]
