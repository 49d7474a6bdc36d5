"""What the README shows works as shown, and it is short."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import dpcore as dp

MOST_LINES = 100


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def test_it_is_read_in_a_minute(readme: str) -> None:
    assert len(readme.splitlines()) <= MOST_LINES


def test_the_scheme_is_one(readme: str) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", readme, re.S)
    assert dp.Scheme.from_toml(text).epsilon == 2


@pytest.mark.slow
def test_the_scheme_gives_the_numbers_that_are_shown(readme: str, root: Path, tmp_path: Path) -> None:
    """Other noise, so other digits: the same rows, and the intervals shown cover the true values stated."""
    (text,) = re.findall(r"```toml\n(.*?)```", readme, re.S)
    command, shown = re.search(r"```sh\nldpflow (run .*?)\n```\n\n```text\n(.*?)```", readme, re.S).groups()  # type: ignore[union-attr]
    (tmp_path / "health.toml").write_text(text, encoding="utf-8")
    arguments = command.replace("data/samples", f"{root}/data/samples").split()
    done = subprocess.run(
        [sys.executable, "-m", "dpcore.cli", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert _quantities(shown) == _quantities(done.stdout.partition("epsilon    ")[0])
    ends = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) to ([\d.]+)", shown)]
    stated = re.search(r"true values in these records are ([\d., and]+) %, and ([\d.]+)", readme)
    assert stated is not None
    truth = [float(number) for number in re.findall(r"\d+\.\d+", stated[0])]
    assert len(ends) == len(truth) == 5
    assert all(low <= value <= high for (low, high), value in zip(ends, truth, strict=True))


def _quantities(printed: str) -> list[str]:
    return re.findall(r"(share of \w+|mean) ", printed)


def test_the_citation_names_the_version_of_the_package(root: Path) -> None:
    cited = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [cited[key] for key in ("version", "license")] == [project[key] for key in ("version", "license")]


def test_issue_templates_ask_what_is_needed_and_lead_privacy_defects_elsewhere(root: Path) -> None:
    folder = root / ".github/ISSUE_TEMPLATE"
    forms = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yml")}
    (private,) = forms.pop("config")["contact_links"]
    assert "SECURITY.md" in private["about"]
    for form in forms.values():
        assert {"name", "description", "body"} <= set(form)
        assert any(each.get("validations", {}).get("required") for each in form["body"])
