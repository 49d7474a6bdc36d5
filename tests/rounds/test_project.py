"""A team's project: what its file may say, what commands take from it, and what a new one holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore.errors import SchemeError
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.project import FILE, Project, start


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, as `ldpflow init` makes it."""
    start(tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


def project(text: str) -> Project:
    Path(FILE).write_text(text, encoding="utf-8")
    found = Project.read()
    assert found is not None
    return found


def test_a_new_project_is_understood_and_is_never_written_over(folder: Path) -> None:
    made = Project.read()
    assert made is not None
    digest = Scheme.from_toml(folder / "schemes/survey.toml").digest
    assert made.of_rounds()["reports"] == f"data/collected/reports/{digest[:16]}"
    assert made.used == ["data/var", "schemes/survey.toml", "data/collected", "schemes"]
    assert (made.schedule, made.time_zone) == ("15 2 * * *", "UTC")
    assert "/.prefect/" in (folder / ".gitignore").read_text()
    (folder / "README.md").unlink()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(SchemeError, match="already exists; name another folder"):
        start(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_without_the_file_is_no_project(tmp_path: Path) -> None:
    assert Project.read(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("scheme = ", "not valid TOML"),
        ("clients = 5", "no scheme; add a line"),
        ('scheme = "a.toml"\nseed = 3', "unknown key seed; its keys are scheme, "),
        ('scheme = "a.toml"\nmin_clients = "5"', "min_clients must be a whole number, got '5'"),
        ('scheme = "a.toml"\nmin_clients = true', "min_clients must be a whole number, got True"),
        ('scheme = "a.toml"\nmin_clients = -5', "min_clients: must be a whole number between 0 and"),
        ('scheme = "a.toml"\nkeep_reports = 1', "keep_reports must be true or false, got 1"),
        (
            'scheme = "a.toml"\nclients = 5\nreports = "r"',
            "use one of clients, records, reports, got clients and reports",
        ),
        ('scheme = "a.toml"\nschedule = "daily"', "schedule must be in cron syntax"),
        ('scheme = "a.toml"\ntime_zone = "Berlin"', "time_zone must be a name such as"),
        ('scheme = "a.toml"\ntime_zone = "../etc"', "time_zone must be a name such as"),
        ('scheme = "a.toml"\nlanguage = "fr"', "language must be one of en, de, es, or a .toml file"),
        ('scheme = "a.toml"\nnotify_as = "mail"', "notify_as must be one of json, slack, teams, got 'mail'"),
        ('scheme = "a.toml"\nmetrics_port = 65536', "metrics_port must be a port between 1 and 65535, got 65536"),
        ('scheme = "a.toml"\nport = 0', "port must be a port between 1 and 65535, got 0"),
        *(
            (f'scheme = "a.toml"\nhost = "{host}"', f"host must be an IPv4 address of this machine, .*, got '{host}'$")
            for host in (
                "",
                "localhost",
                "127.0.0.1:4200",
                "http://127.0.0.1",
                "::1",
                "127.1",
                "224.0.0.1",
                "255.255.255.255",
            )
        ),
        ('scheme = "a.toml"\nhost = 4200', "host must be a text, got 4200"),
        ('scheme = "a.toml"\nmetrics_port = 0', "metrics_port must be a port between 1 and 65535, got 0"),
        ('scheme = "a.toml"\nnotify = "chat.example.org/KEY"', r"begins with http:// or https://$"),
        ('scheme = "a.toml"\nfolders = [1]', "folders must be a list of texts"),
        ('scheme = "a.toml"\n[collector]\nport = 1', "collector needs a folder for reports"),
        (
            'scheme = "a.toml"\n[collector]\ninto = "c"\nport = "8080"',
            "collector: port must be a port between 1 and 65535",
        ),
        (
            'scheme = "a.toml"\n[collector]\ninto = "c"\nport = 65536',
            "collector: port must be a port between 1 and 65535",
        ),
    ],
)
def test_what_is_not_understood_is_refused(text: str, why: str, folder: Path) -> None:
    with pytest.raises(SchemeError, match=why):
        project(text)


def test_commands_take_what_it_says_for_their_defaults(folder: Path) -> None:
    found = project('scheme = "a.toml"\ndata = "d"\nreports = "r"\nmin_clients = 7\nfolders = ["/srv"]\n')
    told = {"scheme": "a.toml", "data": "d", "reports": "r", "min_clients": 7}
    assert found.defaults(["run"])["run"] == told
    assert found.defaults(["backfill", "a", "b"])["backfill"] == told
    others = {key: value for key, value in told.items() if key != "reports"}
    for words in (["run", "--seed", "7"], ["run", "--clients=9"], ["run", "--records", "x.csv"]):
        assert found.defaults(words)["run"] == others  # other people are meant
    assert found.defaults(["scheme", "a.toml"])["scheme"] == {}
    places = {"data": "d", "min_clients": 7}
    assert found.defaults(["cleanup"])["cleanup"] == places  # it deletes the reports that it is told
    assert found.defaults(["publish"])["publish"] == places  # it asks for a scheme's name
    assert found.used == ["d", "a.toml", "r", "/srv"]
    speaks = project('scheme = "a.toml"\nlanguage = "de"\n')
    assert speaks.defaults(["publish"])["publish"] == speaks.defaults(["scheme"])["scheme"] == {"language": "de"}
