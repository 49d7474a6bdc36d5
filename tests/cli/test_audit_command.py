"""`ldpflow audit` as a privacy engineer uses it: what is printed, written and landed, and a broken promise."""

from __future__ import annotations

import contextlib
import io
import json
from importlib import import_module
from pathlib import Path

import duckdb
import pytest

from dpcore import cli
from dpcore.errors import SchemeError
from dpcore.mechanisms import registry
from dpcore.protocol.scheme import Scheme
from dpcore.results import warehouse
from dpcore.rounds import audit_run, defaults
from tests.helpers.audits import few_by_hand
from tests.helpers.planted import CutDyadicWave, CutWave, CutWindow, OneTooMany, known_seed

TEXT = """
name = "pets"

[attributes.kind]
type = "categorical"
categories = ["cat", "dog", "fish", "bird", "none"]
epsilon = 1

[attributes.weight]
type = "numeric"
lower = 0
upper = 50
degree = 0
finest_level = 2
cells = 64
epsilon = "ln 3"
"""
KIND, WEIGHT = TEXT[: TEXT.index("[attributes.weight]")], TEXT[TEXT.index("[attributes.weight]") :]


@pytest.fixture
def pets(tmp_path: Path) -> str:
    (tmp_path / "pets.toml").write_text(TEXT, encoding="utf-8")
    return "pets.toml"


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let certificates have no picture."""
    monkeypatch.setattr(audit_run, "draw", lambda audit: None)


@pytest.fixture
def hardly_averaged(undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let averaging have two people and the law of remembered reports forty: what is wrong is found without either.

    With the 20 and 400 of an audit they take three quarters of its time.
    """
    module = import_module("dpcore.audit.certificate")
    monkeypatch.setattr(module, "_PEOPLE", (2, 2))
    few_by_hand(monkeypatch)


TRIALS = 2000  # what shows with these is a third below epsilon; enough for what is plainly wrong


def audit(*arguments: str, at: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(at), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(["audit", *arguments, "--trials", str(TRIALS)])
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("a command ends by exiting")


def test_a_scheme_that_keeps_its_promises(pets: str, fresh: Path, tmp_path: Path) -> None:
    fresh.rename(tmp_path / "w.duckdb")
    code, out, err = audit(pets, "--out", "c.md", "--warehouse", "w.duckdb", at=tmp_path)
    assert (code, err) == (0, "")
    for said in (
        "ln(178145/65536)",
        "randomized_response",
        "wavelet_laplace",
        "2 of 2 attributes",
        "promised 1 + ln 3",
    ):
        assert said in out
    page = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert page.startswith("# Privacy certificate: pets\n")
    assert "Every promise is kept." in page
    rows = warehouse.query(tmp_path / "w.duckdb", "select attribute, passed, epsilon <= promised as within from audits")
    assert sorted(rows["attribute"]) == ["", "kind", "weight"]
    assert rows["passed"].all()
    assert rows["within"].all()
    shown = warehouse.query(
        tmp_path / "w.duckdb",
        "select lower_bound < promised, borne_out from audits where attribute <> '' order by attribute",
    )
    assert shown.to_numpy().all()
    [again] = warehouse.query(tmp_path / "w.duckdb", "from checks where name = 'averaging'").to_dict("records")
    assert (again["passed"], again["observed"], again["threshold"]) == (True, 0, 0)
    assert "on 20 respondents" in again["detail"]
    assert "## What reports show" in page
    assert "![promised, proven and shown](c-pets.svg)" in page
    assert (tmp_path / "c-pets.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.slow
def test_auditing_twice_on_a_day_lands_once(pets: str, tmp_path: Path) -> None:
    for _ in range(2):
        assert audit(pets, "--warehouse", "w.duckdb", at=tmp_path)[0] == 0
    day = defaults.today()
    rows = warehouse.query(
        tmp_path / "w.duckdb", "select distinct run_id, scheme, audited_on, length(scheme_digest) from audits"
    )
    assert rows.values.tolist() in (
        [[rows["run_id"][0], "pets", day, 16]],
        [[rows["run_id"][0], "pets", defaults.today(), 16]],
    )
    assert warehouse.query(tmp_path / "w.duckdb", "select count(*) as n from checks")["n"][0] == 8
    assert warehouse.query(
        tmp_path / "w.duckdb", "from runs"
    ).empty  # nobody reported, and no round is hidden by an audit


@pytest.mark.usefixtures("hardly_averaged")
@pytest.mark.parametrize(
    "planted", [OneTooMany, pytest.param(CutWindow, marks=pytest.mark.slow)], ids=lambda kind: kind.__name__
)
def test_a_broken_promise_exits_with_1_after_everything_is_said(
    pets: str, fresh: Path, tmp_path: Path, planted: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.rename(tmp_path / "w.duckdb")
    monkeypatch.setitem(registry.CATEGORICAL, "randomized_response", planted)
    code, out, err = audit(pets, "--out", "c.json", "--warehouse", "w.duckdb", at=tmp_path)
    assert code == 1
    assert err.count("\n") == 1
    assert err.startswith("ldpflow: audit failed: kind of pets has epsilon = 1.")
    assert "above the promised 1 " in err
    assert "NO" in out
    assert "1 of 2 attributes hold" in out
    [written] = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["certificates"]
    assert written["holds"] is False
    assert [entry["holds"] for entry in written["attributes"]] == [False, True]
    rows = warehouse.query(tmp_path / "w.duckdb", "select attribute from audits where not passed order by 1")
    assert list(rows["attribute"]) == ["", "kind"]


@pytest.mark.usefixtures("hardly_averaged")
def test_clients_whose_reports_belie_the_promise_exit_with_1(
    pets: str, fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The integers are those of an honest mechanism, and so enumeration finds nothing; the code draws from a known seed."""
    fresh.rename(tmp_path / "w.duckdb")
    honest = Scheme.from_toml(TEXT).attributes["kind"].mechanism
    monkeypatch.setitem(registry.CATEGORICAL, "randomized_response", type(known_seed(honest)))
    code, out, err = audit(pets, "--out", "c.json", "--warehouse", "w.duckdb", at=tmp_path)
    assert code == 1
    assert err.startswith("ldpflow: audit failed: kind of pets: reports show an epsilon of at least 5.")
    assert "NO" in out
    [written] = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["certificates"]
    assert [entry["holds"] for entry in written["attributes"]] == [False, True]
    assert written["attributes"][0]["measured"]["hits"] == [TRIALS, 0]
    assert written["averaging"]["changed"] == 0
    rows = warehouse.query(tmp_path / "w.duckdb", "select passed, borne_out from audits where attribute = 'kind'")
    assert rows.values.tolist() == [[True, False]]


@pytest.mark.usefixtures("hardly_averaged")
def test_a_seed_that_landed_with_real_people_exits_with_1(fresh: Path, tmp_path: Path) -> None:
    """No landing lets one in; here the table's constraint was taken away."""
    with duckdb.connect(str(fresh)) as connection:
        connection.execute("create or replace table runs as from runs")
        connection.execute(
            "insert into runs (run_id, scheme, scheme_digest, round, source, randomness, seed, state, started_at, version) "
            "values ('0123456789abcdef', 'pets', '', 'r', 'records', 'seeded', 7, 'landed', now()::timestamp, '1')"
        )
    (tmp_path / "kinds.toml").write_text(KIND, encoding="utf-8")
    code, _, err = audit("kinds.toml", "--warehouse", str(fresh), at=tmp_path)
    assert code == 1
    assert "the seeds of 1 runs on real data" in err
    [row] = warehouse.query(fresh, "from checks where name = 'landed_seeds'").to_dict("records")
    assert (row["passed"], row["observed"]) == (False, 1)


@pytest.mark.usefixtures("hardly_averaged")
def test_a_certificate_of_a_broken_promise_says_not_to_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kinds.toml").write_text(KIND, encoding="utf-8")
    monkeypatch.setitem(registry.CATEGORICAL, "randomized_response", OneTooMany)
    assert audit("kinds.toml", "--out", "c.md", at=tmp_path)[0] == 1
    page = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert "Do not sign." in page
    assert "Every promise is kept" not in page


@pytest.mark.usefixtures("hardly_averaged")
@pytest.mark.parametrize("planted", [CutWave, CutDyadicWave], ids=lambda kind: kind.name)
def test_a_window_cut_off_at_an_edge_exits_with_1(
    tmp_path: Path, planted: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    wave = WEIGHT.replace("degree = 0\nfinest_level = 2\n", f'mechanism = "{planted.name}"\n')
    (tmp_path / "waves.toml").write_text(f'name = "pets"\n{wave}', encoding="utf-8")
    code, out, _ = audit("waves.toml", at=tmp_path)
    assert code == 0
    assert "1 of 1 attributes" in out
    monkeypatch.setitem(registry.NUMERIC, planted.name, planted)
    code, out, err = audit("waves.toml", at=tmp_path)
    assert code == 1
    assert "0 of 1 attributes" in out
    assert err.startswith("ldpflow: audit failed: weight of pets has epsilon = 1.")


@pytest.mark.slow
def test_several_schemes_share_a_certificate(pets: str, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(TEXT.replace('"pets"', '"more"'), encoding="utf-8")
    code, out, _ = audit(pets, "more.toml", "--out", "c.json", at=tmp_path)
    assert code == 0
    assert out.index("pets") < out.index("more")
    written = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["certificates"]
    assert [certificate["scheme"] for certificate in written] == ["pets", "more"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["none.toml"], ["no scheme file at none.toml"]),
        (["pets.toml", "--out", "c.pdf"], [".md", ".json", "'c.pdf'"]),
        (["tampered.toml"], ["tampered.toml: attributes.kind", "exceed e^epsilon"]),
    ],
    ids=["no file", "another ending", "a weight raised by hand"],
)
def test_what_cannot_be_audited_is_one_line(pets: str, tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    canonical = Scheme.from_toml(TEXT).canonical
    (tmp_path / "tampered.toml").write_text(canonical.replace("178145", "178146"), encoding="utf-8")
    code, _, err = audit(*arguments, at=tmp_path)
    assert code == 1
    assert err.startswith("ldpflow: ")
    assert err.count("\n") == 1
    for part in parts:
        assert part in err


def test_a_folder_without_schemes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemeError, match=r"no scheme files"):
        audit_run.scheme_files(tmp_path)
    with pytest.raises(SchemeError, match=r"no scheme files"):
        audit_run.scheme_files(tmp_path / "absent")
