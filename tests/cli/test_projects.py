"""A project on the command line: begun, asked in its folder, and refused in one line where its file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore import __version__
from dpcore.errors import DPCoreError
from dpcore.rounds.run import Run
from dpcore.rounds.steps import landing, sequence
from tests.cli.test_cli import ldpflow
from tests.helpers.kept_open import kept_open


def test_a_project_is_begun_once(tmp_path: Path) -> None:
    done = ldpflow("init", "own", at=tmp_path)
    assert done.returncode == 0
    assert "own/ldpflow.toml" in done.stdout
    again = ldpflow("init", "own", at=tmp_path)
    assert again.returncode == 1
    assert again.stderr == "ldpflow: own/Containerfile: already exists; name another folder\n"


def test_its_folder_says_what_commands_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of simulated people, of whom the file says how many, in a place that it says."""
    monkeypatch.setattr(landing, "draw", lambda _run, _compared: [])
    ldpflow("init", "own", at=tmp_path)
    text = '[attributes.urban_rural]\ntype = "categorical"\ncategories = ["urban", "rural"]\nepsilon = 2\n'
    (tmp_path / "own/a.toml").write_text(f'name = "consumer_expenditure"\nclients = 900\n{text}')
    (tmp_path / "own/ldpflow.toml").write_text('scheme = "a.toml"\ndata = "kept"\nclients = 700\n')
    with kept_open():
        assert ldpflow("run", at=tmp_path / "own").returncode == 0
    said = ldpflow("query", "select clients from runs", "--format", "csv", at=tmp_path / "own")
    assert said.stdout.split() == ["clients", "700"]
    assert (tmp_path / "own/kept/warehouse.duckdb").is_file()
    begun = []

    def begin(run: Run, _hands: object, show: object) -> None:
        begun.append(run.plan.clients)
        raise DPCoreError("enough")

    monkeypatch.setattr(sequence, "carry_out", begin)
    assert ldpflow("run", "--clients", "800", at=tmp_path / "own").stderr == "ldpflow: enough\n"
    assert begun == [800]  # what is said goes before


def test_a_file_that_is_wrong_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ldpflow.toml").write_text("scheme = 5\n")
    done = ldpflow("query", "from runs", at=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "ldpflow: ldpflow.toml: scheme must be a text, got 5\n"
    assert ldpflow("--help", at=tmp_path).returncode == 0
    assert ldpflow("init", "other", at=tmp_path).returncode == 0


def test_without_a_project_or_a_scheme_one_line_says_how_to_begin(tmp_path: Path) -> None:
    done = ldpflow("run", at=tmp_path)
    assert done.returncode == 1
    assert "`ldpflow init FOLDER` makes a project with one" in done.stderr


def test_options_of_a_file_need_the_file(tmp_path: Path) -> None:
    for option in (("--format", "csv"), ("--delimiter", ";")):
        done = ldpflow("init", "own", *option, at=tmp_path)
        assert done.returncode == 2
        assert "options about a file of records need --from FILE" in done.stderr
    assert not (tmp_path / "own").exists()


def test_its_version_is_told(tmp_path: Path) -> None:
    done = ldpflow("--version", at=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"ldpflow {__version__}\n")
