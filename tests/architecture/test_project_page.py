"""The page of a new project, where nothing of ldpflow is but its wheel: its commands lead from `init` to a landed round."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from dpcore.results.warehouse.schema_migration import migrate, shipped_migrations
from tests.browser import chromium
from tests.browser.test_consent_page import FILL, READY
from tests.browser.test_consent_page import wait as shown_in
from tests.helpers import services
from tests.helpers.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.flows]
ROOT = Path(__file__).parents[2]
PATIENCE = 180
OLDER = "ldpflow: tell of failed runs"  # an automation of version 0.1


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, beside what it needs, which is not fetched again."""
    folder, here = tmp_path_factory.mktemp("installed"), Path(sys.executable).parent
    build = [here / "uv", "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*build, "--out-dir", folder / "dist"], cwd=ROOT, check=True)
    venv.create(folder / "venv", symlinks=True)
    [wheel] = (folder / "dist").glob("*.whl")
    install = [here / "uv", "pip", "install", "--quiet", "--no-deps", "--python", folder / "venv/bin/python", wheel]
    subprocess.run(install, cwd=folder, check=True)
    [packages] = (folder / "venv/lib").glob("python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")  # files *.pth in there are not read
    return folder


@pytest.fixture
def environment(installed: Path, tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("LANG", "DO_NOT_TRACK")}
    own = {"PATH": f"{installed}/venv/bin:/usr/bin:/bin", "HOME": str(tmp_path), "PREFECT_SERVER_API_PORT": free_port()}
    return kept | own | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(command: str, at: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(["bash", "-ec", command], cwd=at, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


@contextmanager
def up(at: Path, environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        ["ldpflow", "up"], cwd=at, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("up: "):
            break
    else:
        pytest.fail("".join(said))
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 0


def wait_for(pattern: str, at: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(list(at.glob(pattern))) < count:
        assert time.monotonic() < deadline, pattern
        time.sleep(0.2)


def status_with_a_worker(at: Path, environment: dict[str, str]) -> str:
    """What the status says once the worker has been heard of: beside other work it may start after everything else."""
    deadline = time.monotonic() + PATIENCE
    while "! worker" in (said := run("ldpflow status || true", at, environment)):
        assert time.monotonic() < deadline, said
        time.sleep(1)
    return said


def test_from_init_to_a_landed_round(installed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    run("ldpflow init survey", tmp_path, environment)
    own = tmp_path / "survey"
    (own / "flows").mkdir()  # a package of the team's
    (own / "flows/__init__.py").write_text('raise RuntimeError("this is another package")\n')
    blocks = re.findall(r"```sh\n(.*?)```", (own / "README.md").read_text(), flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) <= 8  # and `ldpflow init`, and `cd`
    collector = free_port()
    blocks = [block.replace("8080", collector) for block in blocks]
    settings = own / "ldpflow.toml"
    settings.write_text(settings.read_text().replace("8080", collector))

    first = blocks[0].splitlines()
    assert first[1].startswith("ldpflow up ")
    assert "epsilon" in run(first[0], own, environment)
    with up(own, environment):
        assert "accepted" in run(blocks[1], own, environment)
        wait_for("data/collected/reports/*/*.parquet", own, 1)
        said = run(blocks[2], own, environment)
        assert "bicycle" in said
        assert "distance" in (own / "round.html").read_text()
        well = status_with_a_worker(own, environment)
        assert not re.findall(r"^! (?!checks)", well, re.MULTILINE), well
        assert re.search("last round .*: 1 reports? counted, 0 rejected", well), well
        said = run("ldpflow run --min-clients 1 --round 2030-01-01 || echo refused", own, environment)
        assert "refused" in said
        assert "other rounds have counted 1" in said

        run("rm report.jsonl\n" + blocks[1], own, environment)  # another answer, counted by the flow
        wait_for("data/collected/reports/*/*.parquet", own, 2)
        python = f"{Path(sys.executable).parent}/prefect"
        options = "--param min_clients=1 --param round=b"  # the project's file states the others
        said = run(f"{python} deployment run round/daily {options} --watch", own, environment)
        assert "Completed" in said or "finished" in said, said
        run(f"{python} deployment schedule ls round/daily", own, environment)
    rounds = "ldpflow query \"select round, accepted from runs where state = 'landed' and not trial order by all\" --format csv"
    assert [line.split(",")[1] for line in run(rounds, own, environment).splitlines()[1:]] == ["1", "1"]
    assert not (own / "data/schemes").exists()


@pytest.mark.nightly("waits")
@pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium")
def test_an_older_folder_is_taken_over_with_what_was_set_in_it(
    installed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    run("ldpflow init survey", tmp_path, environment)
    own, collector, port = tmp_path / "survey", free_port(), environment["PREFECT_SERVER_API_PORT"]
    settings = own / "ldpflow.toml"
    settings.write_text(settings.read_text().replace("8080", collector))
    older_warehouse(own / "data/var/warehouse.duckdb")
    with up(own, environment):
        services._KEYS[port] = run("ldpflow up --key", own, environment).strip()
        older_deployments(port)
    with up(own, environment):
        daily, cleanup = services.deployment(port, "daily"), services.deployment(port, "weekly-cleanup")
        assert daily["entrypoint"] == "ldpflow_flows.round.run_round"
        assert daily["parameters"] == {"min_clients": 1}
        [schedule] = daily["schedules"]
        assert (schedule["schedule"]["cron"], schedule["slug"]) == ("5 4 * * *", "daily-round")
        assert cleanup["paused"]
        found = [each["name"] for each in services.ask(port, "/api/automations/filter", {})]
        assert OLDER not in found
        assert len(found) == 2
        with chromium.tab(tmp_path / "profile") as tab:
            answer(tab, f"http://127.0.0.1:{collector}/survey/survey/")
        wait_for("data/collected/reports/*/*.parquet", own, 1)
        run("ldpflow run --min-clients 1", own, environment)
    rounds = "ldpflow query \"select round, accepted from runs where state = 'landed' order by all\" --format csv"
    assert [line.split(",")[1] for line in run(rounds, own, environment).splitlines()[1:]] == ["10", "1"]


def older_warehouse(path: Path) -> None:
    """One that an older version left, with a round in it."""
    path.parent.mkdir(parents=True)
    with duckdb.connect(path) as connection:
        migrate(connection, shipped_migrations()[:15])
        connection.execute(
            "insert into runs by name select repeat('a', 16) as run_id, 'survey' as scheme, 'ab' as scheme_digest, "
            "'2020-01-01' as round, 'reports' as source, 10 as accepted, 0 as rejected, 'secure' as randomness, "
            "'landed' as state, now()::timestamp as started_at, now()::timestamp as finished_at, '0.1.0' as version"
        )


def older_deployments(port: str) -> None:
    """What an older version deployed, and people then set in the UI."""
    daily, cleanup = services.deployment(port, "daily"), services.deployment(port, "weekly-cleanup")
    of_daily = f"/api/deployments/{daily['id']}"
    told = {"entrypoint": "flows/round.py:run_round", "parameters": {"settings": {"min_clients": 1}}}
    services.ask(port, of_daily, told, "PATCH")
    schedule = {"schedule": {"cron": "5 4 * * *", "timezone": "UTC"}}
    services.ask(port, f"{of_daily}/schedules/{daily['schedules'][0]['id']}", schedule, "PATCH")
    services.ask(port, f"/api/deployments/{cleanup['id']}", {"paused": True}, "PATCH")
    trigger = {
        "type": "event",
        "expect": ["prefect.flow-run.Failed"],
        "posture": "Reactive",
        "threshold": 1,
        "within": 0,
    }
    services.ask(port, "/api/automations/", {"name": OLDER, "trigger": trigger, "actions": [{"type": "do-nothing"}]})


def answer(tab: chromium.Tab, url: str) -> None:
    """Answer the page's questions, look at the report, and send it."""
    tab.open(url, 1000)
    tab.evaluate(READY)
    tab.evaluate(FILL % json.dumps({"mode": "train", "distance": "12"}))
    tab.evaluate("document.getElementById('prepare').click()")
    shown_in(tab, "review")
    tab.evaluate("document.getElementById('send').click()")
    shown_in(tab, "sent")


def test_beside_no_project_one_line_says_what_to_do(
    installed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "bare").mkdir()
    said = run("ldpflow run || echo status $?", tmp_path / "bare", environment)
    assert said.splitlines()[0] == "status 1"
    assert "`ldpflow init FOLDER`" in said
    assert len(said.splitlines()) == 2
    assert run("ldpflow --version", tmp_path, environment).startswith("ldpflow 0.")


def test_the_wheel_has_no_studies(installed: Path, environment: dict[str, str], tmp_path: Path) -> None:
    [wheel] = (installed / "dist").glob("*.whl")
    assert wheel.stat().st_size <= 1_150_000
    for command in ("benchmark", "reproduce"):
        assert f"No such command '{command}'" in run(f"ldpflow {command} || echo refused", tmp_path, environment)
    names = "import os; os.chdir('survey')\nfrom ldpflow_flows.services.deployments import Project, deployments\n"
    names += "print(len(deployments(Project.read())), len(deployments(None)))"
    run("ldpflow init survey", tmp_path, environment)
    assert run(f'python -c "{names}"', tmp_path, environment).split() == ["7", "7"]
