"""Who gets in at `make up`: nobody without the key, no page but our own, and with the key nothing but the named folders.

The attacks are those of a page that somebody on this machine has open: sent by curl, and by such a page in a real browser.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from ldpflow_flows.services import up
from tests.browser import chromium
from tests.browser.serving import serving
from tests.helpers.services import PATIENCE, Up, ask, basic, deployment, ended, key_in, running, soon, start, state

pytestmark = [pytest.mark.slow, pytest.mark.flows]
BROWSER = pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium")
EVIL = "https://evil.example"
PEOPLE = "urban_rural,income\n" + "".join(f"{1 + n % 2},{n * 100}\n" for n in range(400))


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the operator named."""
    return tmp_path_factory.mktemp("allowed")


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that he did not name, with real people's records in it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def service(root: Path, allowed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(root, tmp_path_factory.mktemp("up") / "home", LDPFLOW_FOLDERS=f"data,{allowed}") as found:
        yield found


@pytest.fixture(scope="module")
def base(service: Up) -> str:
    return f"http://{up.HOST}:{service.port}"


@pytest.fixture(scope="module")
def daily(service: Up) -> str:
    return str(deployment(service.port, "daily")["id"])


def attack(outside: Path, name: str) -> dict[str, Any]:
    """The body of a request for a run over people's records."""
    return {
        "name": name,
        "parameters": {"records": str(outside / "people.csv"), "data": str(outside / "taken")},
    }


def curl(url: str, *words: str, body: Any = None) -> tuple[int, str]:
    """The status and body of an answer; 0 where nothing answers."""
    given = [] if body is None else ["--data-binary", json.dumps(body)]
    asked = ["curl", "--silent", "--max-time", str(PATIENCE), "--write-out", "\n%{http_code}", *words, *given, url]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    text, _, status = said.rpartition("\n")
    return int(status), text


def runs_called(service: Up, name: str) -> list[Any]:
    return ask(service.port, "/api/flow_runs/filter", {"flow_runs": {"name": {"any_": [name]}}})


JSON, PLAIN, NOTHING = (["-H", f"Content-Type:{kind}"] for kind in (" application/json", " text/plain", ""))


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("kind", [JSON, PLAIN, NOTHING], ids=["json", "plain", "no-type"])
@pytest.mark.parametrize("whose", ["evil", "ours", "nobody"])
def test_nothing_is_told_or_started_without_the_key(
    whose: str, kind: list[str], service: Up, base: str, daily: str, outside: Path
) -> None:
    origin = {"evil": ["-H", f"Origin: {EVIL}"], "ours": ["-H", f"Origin: {base}"], "nobody": []}[whose]
    status, told = curl(f"{base}/api/deployments/filter", *kind, *origin, body={})
    assert status == (403 if whose == "evil" else 401)
    assert "daily" not in told
    name = f"taken-{whose}-{kind[1][-5:]}"
    status, told = curl(f"{base}/api/deployments/{daily}/create_flow_run", *kind, *origin, body=attack(outside, name))
    assert status == (403 if whose == "evil" else 401)
    assert runs_called(service, name) == []
    for path in ("/api/flow_runs/count", "/api/admin/settings", "/api/variables/filter", "/api/block_documents/filter"):
        assert curl(f"{base}{path}", *kind, *origin)[0] in (401, 403)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_a_foreign_page_or_host_is_refused_even_with_the_key(service: Up, base: str) -> None:
    url, key = f"{base}/api/deployments/filter", ["--user", service.key]
    assert curl(url, *JSON, *key, body={})[0] == 200
    assert curl(url, *JSON, "--user", f"{service.key}x", body={})[0] == 401
    for origin in (EVIL, "null", f"{base}.evil.example", f"http://{up.HOST}:1"):
        assert curl(url, *JSON, *key, "-H", f"Origin: {origin}", body={})[0] == 403
    for host in ("evil.example", f"{up.HOST}.evil.example:{service.port}", f"evil.example:{service.port}", ""):
        assert curl(url, *JSON, *key, "-H", f"Host: {host}" if host else "Host;", body={})[0] == 400
        assert curl(base, "-H", f"Host: {host}" if host else "Host;")[0] == 400
    preflight = ["--request", "OPTIONS", "-H", "Access-Control-Request-Method: POST", "--include"]
    assert "access-control-allow" not in curl(url, *preflight, "-H", f"Origin: {EVIL}")[1].lower()
    own = f"http://localhost:{service.port}"
    assert f"access-control-allow-origin: {own}" in curl(url, *preflight, "-H", f"Origin: {own}")[1].lower()


@pytest.mark.parametrize("path", ["events/in", "events/out", "logs/out"])
def test_sockets_ask_for_the_key_and_for_a_page_of_ours(path: str, service: Up, base: str) -> None:
    url = f"ws://{up.HOST}:{service.port}/api/{path}"
    with pytest.raises(InvalidStatus), connect(url, proxy=None):
        pass
    for more in ({"origin": EVIL}, {"additional_headers": {"Host": "evil.example"}}):
        with pytest.raises(InvalidStatus), connect(url, proxy=None, subprotocols=["prefect"], **more):
            pass
    for token in ("ldpflow:guessed", ""):
        with connect(url, proxy=None, subprotocols=["prefect"], origin=base) as socket:
            socket.send(json.dumps({"type": "auth", "token": token}))
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=PATIENCE)
    with connect(url, proxy=None, subprotocols=["prefect"], origin=base) as socket:
        socket.send(json.dumps({"type": "auth", "token": service.key}))
        assert json.loads(socket.recv(timeout=PATIENCE)) == {"type": "auth_success"}


def test_a_run_keeps_to_the_named_folders_and_is_retried_as_its_page_says(
    service: Up, root: Path, allowed: Path, outside: Path, tmp_path: Path
) -> None:
    port = service.port
    (allowed / "people.csv").symlink_to(outside / "people.csv")
    linked = start(port, records=allowed / "people.csv", data=allowed / "data", round="linked", scheme=small(allowed))
    taken = start(port, clients=1000, data=outside / "taken", round="taken")
    for run, path in ((linked, allowed / "people.csv"), (taken, outside / "taken")):
        assert ended(port, run)["type"] == "FAILED"
        assert f"runs may only use {root / 'data'}, {allowed}, got {path}" in state(port, run)["message"]
    assert sorted(path.name for path in outside.iterdir()) == ["people.csv"]
    assert not list(allowed.rglob("plan.json"))

    (allowed / "people.csv").unlink()
    shutil.copy(outside / "people.csv", allowed)
    checkout = tmp_path / "checkout"  # as `make up` leaves it there: nothing but the folder says where the key is
    (checkout / ".prefect").mkdir(parents=True)
    shutil.copy(root / "pyproject.toml", checkout)
    shutil.copy(service.home / "profiles.toml", checkout / ".prefect")
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    prefect = Path(sys.executable).with_name("prefect")
    retried = subprocess.run(
        [prefect, "flow-run", "retry", linked],
        cwd=checkout,
        env=bare | {"PREFECT_API_URL": f"http://{up.HOST}:{port}/api"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert retried.returncode == 0, retried.stderr
    assert soon(lambda: state(port, linked)["type"] == "COMPLETED", 2 * PATIENCE), state(port, linked)


def test_prefects_folder_is_closed_and_nothing_else_in_it_has_the_key(service: Up) -> None:
    files = [service.home, *service.home.rglob("*")]
    assert {"prefect.db", "server.log", "worker.log", "profiles.toml"} <= {path.name for path in files}
    is_open = [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert {path.parent for path in is_open} <= {service.home / "storage"}  # of runs, in a folder that is closed itself
    secret = service.key.partition(":")[2]
    written = {
        path.name: path.read_bytes() for path in files if path.is_file()
    }  # after runs, with what they leave there
    given = (secret.encode(), basic(service.key).split()[1].encode())
    assert [name for name, content in written.items() if any(one in content for one in given)] == ["profiles.toml"]
    assert any("`ldpflow up --key` prints it" in line for line in service.said)
    assert not any(secret in line for line in service.said)


def small(folder: Path) -> Path:
    """A scheme of the two columns that the records have."""
    from tests.helpers.schemes import HOUSEHOLDS

    path = folder / "small.toml"
    path.write_text(HOUSEHOLDS, encoding="utf-8")
    return path


def test_the_temporary_server_of_make_run_asks_for_the_key_too(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    own = {"PREFECT_HOME": str(home), "PREFECT_PROFILES_PATH": f"{home}/profiles.toml"}
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    words = [sys.executable, "-m", "ldpflow_flows.round", "--clients", "2000000", "--data", str(tmp_path / "data")]
    process = subprocess.Popen(words, cwd=root, env=bare | own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ports = soon(
            lambda: [port for port in listening(process.pid) if curl(f"http://{up.HOST}:{port}/api/health")[0]]
        )
        assert ports
        for origin in ([], ["-H", f"Origin: {EVIL}"]):
            status, told = curl(f"http://{up.HOST}:{ports[0]}/api/flow_runs/filter", *NOTHING, *origin, "-i", body={})
            assert status == 401
            assert "access-control-allow-origin" not in told.lower()
        key = ["--user", key_in(home / "profiles.toml")]
        assert curl(f"http://{up.HOST}:{ports[0]}/api/flow_runs/filter", *JSON, *key, body={})[0] == 200
        assert soon(lambda: list((tmp_path / "data").glob("runs/*/plan.json"))), "it goes on with the key by itself"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)


def listening(pid: int) -> list[int]:
    """The ports on which the children of a process listen."""
    found = []
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found += [one.laddr.port for one in child.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
    return found


PAGE = """<!doctype html><title>a page of somebody else</title><script>
async function one(path, body, options) {
  try {
    const answer = await fetch(BASE + path, {method: "POST", body, ...options});
    return [answer.type, answer.status, await answer.text()];
  } catch (error) {
    return ["refused", 0, ""];
  }
}
function heard(path) {
  return new Promise(done => {
    const socket = new WebSocket(BASE.replace("http", "ws") + path, ["prefect"]);
    socket.onopen = () => { socket.send(JSON.stringify({type: "auth", token: "guessed"})); };
    socket.onmessage = message => done(message.data);
    socket.onclose = () => done("closed");
  });
}
async function attack(daily, body) {
  const found = {}, start = "/api/deployments/" + daily + "/create_flow_run";
  const json = {headers: {"Content-Type": "application/json"}}, kinds = {
    json: [json, body => body],
    plain: [{}, body => body],
    blind: [{mode: "no-cors"}, body => body],
    untyped: [{mode: "no-cors"}, body => new Blob([body])],
    cookies: [{mode: "no-cors", credentials: "include"}, body => body],
  };
  for (const [kind, [options, made]] of Object.entries(kinds)) {
    found["list " + kind] = await one("/api/deployments/filter", made("{}"), options);
    found["start " + kind] = await one(start, made(JSON.stringify({...body, name: body.name + kind})), options);
  }
  found["events"] = await heard("/api/events/out");
  found["logs"] = await heard("/api/logs/out");
  return found;
}
</script>"""


@BROWSER
def test_a_page_of_another_origin_reads_and_starts_nothing(
    service: Up, base: str, daily: str, outside: Path, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text(PAGE.replace("BASE", json.dumps(base)), encoding="utf-8")
    body = json.dumps(attack(outside, "page-"))
    with serving(tmp_path / "site") as (url, _), chromium.tab(tmp_path / "profile") as tab:
        tab.visit(base, until="Login")  # the browser knows the server, as the operator's does
        tab.log_in(service.key, until="Dashboard")
        tab.open(url, 1000)
        found = tab.evaluate(f"attack({json.dumps(daily)}, {body})")
    assert len(found) == 12
    assert {name: told for name, told in found.items() if told not in (["refused", 0, ""], ["opaque", 0, ""])} == {
        "events": "closed",
        "logs": "closed",
    }
    assert [runs_called(service, f"page-{kind}") for kind in ("json", "plain", "blind", "untyped", "cookies")] == [
        []
    ] * 5


@BROWSER
def test_a_name_that_somebody_turned_to_this_machine_shows_nothing(service: Up, tmp_path: Path) -> None:
    turned = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    with chromium.tab(tmp_path / "profile", turned) as tab:
        tab.open(f"http://evil.example:{service.port}/", 1000)
        assert tab.text() == "Invalid host header"
        status = "fetch('/api/deployments/filter', {method: 'POST', body: '{}'}).then(answer => answer.status)"
        assert tab.evaluate(status) in (400, 403)


@BROWSER
def test_the_ui_asks_for_the_key_once(service: Up, base: str, tmp_path: Path, screenshots: Path) -> None:
    with chromium.tab(tmp_path / "profile") as tab:
        tab.visit(base, until="Login")
        tab.screenshot(screenshots / "login.png", whole=False)
        tab.log_in(service.key, until="Dashboard")
        tab.visit(f"{base}/deployments", until="monthly-audit")
        tab.screenshot(screenshots / "after_login.png", whole=False)
        tab.visit(f"{base}/runs", until="consumer-expenditure-taken")
        assert tab.evaluate("document.querySelector('input[type=password]')") is None
        tab.screenshot(screenshots / "runs_after_login.png", whole=False)
        tab.visit(f"http://localhost:{service.port}/deployments", until="Login")  # another origin to the browser
        tab.log_in(service.key, until="monthly-audit")
