"""What a project brings to be left running: the unit is sound; lines of image and compose file run, none of them as root."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpcore as dp
from dpcore import wire
from dpcore.results import warehouse
from dpcore.rounds.project import start
from tests.flows import postgresql
from tests.helpers import undrawn
from tests.helpers.image import Image, network, running

ROOT = Path(__file__).parents[2]
EXPOSED = 20  # of 100: what systemd-analyze finds left open, with a network and the disk's folders needed
KEY = "ldpflow:a-key-of-the-test"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here")
def test_the_unit_is_understood_and_leaves_little_open(tmp_path: Path) -> None:
    start(tmp_path)
    program = tmp_path / ".venv/bin/ldpflow"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    unit = tmp_path / "ldpflow.service"
    text = (tmp_path / "systemd/ldpflow.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/srv/survey", str(tmp_path)), encoding="utf-8")
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    judge = ["systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={EXPOSED}", unit]
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout
    assert re.search(r"^User=(?!root)\w+$", text, re.MULTILINE)
    assert "✗ User=/DynamicUser=" not in judged.stdout


def test_no_service_of_the_compose_file_is_root() -> None:
    services = yaml.safe_load((ROOT / "data/project/compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"database", "server", "worker", "watch", "collector"}
    for name, service in services.items():
        assert name == "database" or service["cap_drop"] == ["ALL"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    lines = (ROOT / "data/project/Containerfile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("USER ")][-1] != "USER root"
    assert services["database"]["user"] == "postgres"


@pytest.mark.slow
def test_what_the_page_says_of_keeping_and_reading_runs(tmp_path: Path) -> None:
    project = tmp_path / "survey"
    start(project)
    scheme, people = dp.Scheme.from_toml(project / "schemes/survey.toml"), {"mode": ["car"] * 60, "distance": [7] * 60}
    wire.write_reports(project / "in/a.parquet", scheme, dp.privatize(scheme, people, dp.seeded(1)), "2026-11-20")
    where = {"reports": project / "in", "data": project / "data/var", "min_clients": 0}
    undrawn.run(project / "schemes/survey.toml", round_="2026-11-20", **where)
    blocks = re.findall(r"```sh\n(.*?)```", (project / "RUNNING.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    [kept] = [block for block in blocks if "ldpflow backup" in block]
    [read] = [block for block in blocks if "chgrp" in block]
    (tmp_path / "backups").mkdir()
    code = read.replace("chgrp analysts", f"chgrp {os.getgid()}") + kept.replace("/backups/", f"{tmp_path}/backups/")
    here = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-ec", code], cwd=project, env=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    published = "data/var/warehouse.published.duckdb"
    assert stat.S_IMODE((project / published).stat().st_mode) == 0o640
    count = "select count(*) as n from latest_runs"
    assert warehouse.query(project / published, count)["n"][0] == 0  # it was forgotten, and is in the other folder
    assert warehouse.query(project / "survey-2" / published, count)["n"][0] == 1


def test_the_pages_secrets_are_made_as_it_says_and_keys_are_hashes(tmp_path: Path) -> None:
    start(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", (tmp_path / "RUNNING.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    [block] = [block for block in blocks if "docker compose" in block]
    here = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    lines = "\n".join(line for line in block.splitlines() if not line.startswith("docker "))
    done = subprocess.run(
        ["bash", "-ec", lines], cwd=tmp_path, env={"PATH": here}, capture_output=True, text=True, check=True
    )
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    assert done.stdout.split()[0] not in (tmp_path / "keys.toml").read_text(encoding="utf-8")
    asked = {name for text in (tmp_path / ".env").read_text().splitlines() for name in [text.partition("=")[0]]}
    needed = set(re.findall(r"\$\{(\w+):\?", (tmp_path / "compose.yaml").read_text(encoding="utf-8")))
    assert asked == needed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project with the wheel and a file of keys in it."""
    start(tmp_path / "project")
    build = [Path(sys.executable).parent / "uv", "build", "--quiet", "--wheel", "--no-build-isolation"]
    subprocess.run([*build, "--python", sys.executable, "--out-dir", tmp_path / "project"], cwd=ROOT, check=True)
    (tmp_path / "project/keys.toml").write_text('anyone = ["read", "submit"]\n')
    return tmp_path / "project"


@pytest.fixture
def image(project: Path, tmp_path: Path) -> Image:
    """The image as its file makes it."""
    made = Image(tmp_path / "root", project)
    made.build()
    return made


@pytest.mark.nightly("waits")
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="a root of its own needs root and unshare")
def test_in_an_empty_root_the_compose_files_commands_lead_to_a_landed_round(
    image: Image, project: Path, tmp_path: Path
) -> None:
    assert image.command == ["ldpflow", "up"]
    assert image.user == "10001:10001"
    subprocess.run(image.inside(["sh", "-c", "test $(id -u) = 10001 && ! touch /opt/x 2> /dev/null"]), check=True)
    services = yaml.safe_load((project / "compose.yaml").read_text(encoding="utf-8"))["services"]
    volumes = tmp_path / "volumes"
    with ExitStack() as held:
        there = held.enter_context(network())
        told = {"POSTGRES_PASSWORD": "secret", "PREFECT_KEY": KEY}
        held.enter_context(postgresql.in_network(there))

        def begin(name: str) -> Path:
            log = tmp_path / f"{name}.log"
            held.enter_context(running([*there, *command(image, services[name], told, volumes, project)], log))
            return log

        begin("server")
        wait(there, "http://127.0.0.1:4200/api/health", tmp_path / "server.log")
        wait(there, "http://127.0.0.1:4200/", tmp_path / "server.log")  # the UI, which is copied first
        begin("collector")
        wait(there, "http://127.0.0.1:8080/health", tmp_path / "collector.log")
        begin("worker")
        client = {**services["worker"], "command": ["python", "-c", ROUND]}
        deadline = time.monotonic() + 150
        while subprocess.run([*there, *command(image, client, told, volumes, project)], check=False).returncode:
            assert time.monotonic() < deadline, (tmp_path / "worker.log").read_text()
            time.sleep(2)
        [warehouse] = (volumes / "data").glob("var/warehouse.duckdb")
        assert warehouse.stat().st_uid == 10001
        tables = subprocess.run(
            [
                *there,
                "psql",
                "-h",
                "127.0.0.1",
                "-U",
                "prefect",
                "-tAc",
                "select count(*) from flow_run where state_type = 'COMPLETED'",
                "prefect",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(tables.stdout) >= 1


ROUND = """
from prefect.deployments import run_deployment
told = {"scheme": "schemes/survey.toml", "records": "data/people.csv", "min_clients": 1, "round": "2026-11-20"}
done = run_deployment("round/daily", parameters=told, timeout=200, poll_interval=1)
assert done.state.is_completed(), done.state
"""


def command(image: Image, service: dict[str, Any], told: dict[str, str], folder: Path, project: Path) -> list[str]:
    """A service's command in the image, with its variables and volumes, as compose would start it."""
    said = {name: filled(str(value), told) for name, value in service.get("environment", {}).items()}
    volumes = {}
    for volume in service.get("volumes", []):
        source, place = volume.split(":")[:2]
        path = project / source if source.startswith(".") else folder / source
        if not path.exists():
            path.mkdir(parents=True)
            os.chown(path, 10001, 10001)
            if source == "data":
                (path / "people.csv").write_text("mode,distance\n" + "train,12\n" * 200)
        if path.is_file():
            (image.root / place.lstrip("/")).touch()
        volumes[place] = path
    return image.inside(service["command"], volumes, **said)


def filled(text: str, told: dict[str, str]) -> str:
    return re.sub(r"\$\{(\w+):[?-]([^}]*)\}", lambda match: told.get(match[1], match[2]), text)


def wait(there: list[str], url: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while subprocess.run([*there, "curl", "-sf", "-o", "/dev/null", url], check=False).returncode:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.5)
