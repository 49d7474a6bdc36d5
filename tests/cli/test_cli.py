"""The command line as a person uses it."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from dpcore import cli
from dpcore.rounds.steps import landing, preparation
from dpcore.wire import write_whole
from tests.helpers import undrawn
from tests.helpers.kept_open import kept_open
from tests.helpers.schemes import QUESTION

pytestmark = pytest.mark.usefixtures("light_warehouses")

ROOT = Path(__file__).parents[2]
SCHEME = str(ROOT / "data/schemes/consumer_expenditure.toml")
HEAD, *ATTRIBUTES = Path(SCHEME).read_text(encoding="utf-8").split("\n[attributes.")
SOME = [each for each in ATTRIBUTES if each.startswith(("urban_rural]", "race]", "kids_count]", "income]"))]
# A column of each kind, and a curve that takes no time, without groups and mean.
COARSE = "\n[attributes.".join([HEAD, *SOME])
for there, instead in (
    ("degree = 2  ", "degree = 1\nfinest_level = 3"),
    (next(line for line in COARSE.splitlines() if '"quantile(0.25)"' in line), 'functionals = ["cdf(50000)"]'),
    (next(line for line in HEAD.splitlines() if line.startswith("pairs = ")), ""),
):
    assert there in COARSE
    COARSE = COARSE.replace(there, instead)
GOOD = {"UrbanRural": 1, "Race": 2, "KidsCount": 1, "Income": 41000}


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def ldpflow(*arguments: str, at: Path) -> Done:
    """What `ldpflow ARGUMENTS` does in a folder; in this process, for a new one takes seconds to import everything."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(at), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def records(path: Path, rows: int = 30, **changes: object) -> Path:
    lines = [",".join(GOOD)]
    for i in range(rows):
        row = {**GOOD, **(changes if i == 20 else {})}
        lines.append(",".join(str(value) for value in row.values()))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `ldpflow run` has run."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "coarse.toml").write_text(COARSE, encoding="utf-8")
    command = ("run", "coarse.toml", "--clients", "10000", "--seed", "7", "--round", "2026-11-20")
    with kept_open():
        done = ldpflow(*command, at=folder)
    assert done.returncode == 0, done.stderr
    (folder / "out.txt").write_text(done.stdout)
    return folder


@pytest.fixture
def coarse(created: Path, tmp_path: Path) -> str:
    """A scheme's file in a folder, and an empty warehouse where its rounds land."""
    (tmp_path / "data/var").mkdir(parents=True)
    shutil.copy(created, tmp_path / "data/var/warehouse.duckdb")
    (tmp_path / "coarse.toml").write_text(COARSE, encoding="utf-8")
    return "coarse.toml"


def test_run_prints_what_a_person_wants(ran: Path) -> None:
    out = (ran / "out.txt").read_text()
    for words in (
        "urban rural",
        "income",
        "mean",
        "true value",
        "covered",
        "epsilon",
        "warehouse",
        "pictures",
        "intervals cover",
    ):
        assert words in out
    assert (ran / "data/var/warehouse.duckdb").exists()
    pictures = sorted(path.name for path in (ran / "data/var/figures").glob("*/*.png"))
    assert {"income.png", "race.png", "income_numbers.png"} <= set(pictures)
    assert not list((ran / "data/var/runs").glob("*/reports"))  # deleted after landing


def test_show_prints_a_landed_round_again(ran: Path) -> None:
    for words in ((), ("2026-11-20", "--scheme", "consumer_expenditure")):
        assert ldpflow("show", *words, at=ran).stdout == (ran / "out.txt").read_text()
    one_line(ldpflow("show", "2026-11-21", at=ran), ["no landed round '2026-11-21'", "2026-11-20"])


def test_show_draws_pictures_that_an_interrupted_round_left_undrawn(tmp_path: Path) -> None:
    (tmp_path / "question.toml").write_text(QUESTION, encoding="utf-8")
    run = undrawn.run(tmp_path / "question.toml", seed=1, round_="r", data=tmp_path / "data/var")
    shown = ldpflow("show", "r", at=tmp_path)
    assert shown.stdout.endswith(f"pictures   data/var/figures/{run.plan.run_id}\n")
    assert sorted(Path(run.plan.figures).glob("*.png"))
    assert ldpflow("show", "r", at=tmp_path).stdout == shown.stdout


def test_show_says_what_moved_and_why_numbers_are_refused(tmp_path: Path) -> None:
    scheme = tmp_path / "question.toml"
    mean = 'values = [0, 1]\nfunctionals = ["mean"]\n'
    scheme.write_text(f'{QUESTION}{mean}[labels.side]\ncategories = ["left", "right", "top"]\n', encoding="utf-8")
    for round_, urban in (("2026-11-19", 150), ("2026-11-20", 60)):
        kinds = ["urban"] * urban + ["rural"] * (200 - urban)
        sides = ["left", "right"] * 95 + ["top"] * 10
        people = {"urban_rural": kinds, "side": sides}
        pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
        undrawn.run(scheme, records=tmp_path / "people.csv", round_=round_, data=tmp_path / "data/var")
    said = ldpflow("show", "2026-11-20", at=tmp_path).stdout
    assert "change since round 2026-11-19" in said
    assert "moved" in said
    assert "fewer than 50 reports are in this group" in said


def test_running_twice_lands_once(ran: Path) -> None:
    told = {"clients": 10_000, "seed": 7, "round_": "2026-11-20", "data": ran / "data/var"}
    run = preparation.prepare(ran / "coarse.toml", **told)
    assert [run.folder] == list((ran / "data/var/runs").iterdir())  # the same run
    landing.land(run)
    done = ldpflow("query", "select count(*) as n, min(state) as state from runs", "--format", "json", at=ran)
    assert json.loads(done.stdout) == [{"n": 1, "state": "landed"}]


def test_query_writes_values_that_its_format_has_no_word_for(ran: Path) -> None:
    sql = "select 'inf'::double as a, 'nan'::double as b, [1.5, 'nan'::double] as c, {'x': '-inf'::double} as d"
    csv = ldpflow("query", sql, "--format", "csv", at=ran)
    assert csv.stdout.splitlines() == ["a,b,c,d", "inf,,\"[1.5, nan]\",{'x': -inf}"]
    done = ldpflow("query", sql, "--format", "json", at=ran)
    assert json.loads(done.stdout) == [{"a": None, "b": None, "c": [1.5, None], "d": {"x": None}}]


def test_query_of_two_columns_of_a_name_keeps_both_and_json_refuses_them(ran: Path) -> None:
    sql = "select now() as a, 1 as a"
    csv = ldpflow("query", sql, "--format", "csv", at=ran).stdout.splitlines()
    assert csv[0] == "a,a"
    assert csv[1].endswith(",1")
    one_line(ldpflow("query", sql, "--format", "json", at=ran), ["different column names, got a, a"])


def test_no_table_holds_a_record(ran: Path) -> None:
    wide = ldpflow("query", "from runs", at=ran).stdout.splitlines()
    assert wide[0] == "row 1"
    assert f"  {'state':<13}  landed" in wide
    done = ldpflow("query", "select distinct statistic from aggregates order by 1", "--format", "csv", at=ran)
    assert done.stdout.split() == ["statistic", "count", "reports", "sum"]


@pytest.mark.slow
def test_export_and_estimate_again(ran: Path) -> None:
    done = ldpflow("export", "latest_estimates", "estimates.csv", at=ran)
    assert done.returncode == 0, done.stderr
    assert "income" in (ran / "estimates.csv").read_text()
    again = ldpflow("estimate", "coarse.toml", "--round", "2026-11-20", at=ran)
    assert again.returncode == 0, again.stderr
    assert again.stdout == (ran / "out.txt").read_text()


def test_scheme_prints_digest_and_total(tmp_path: Path) -> None:
    done = ldpflow("scheme", SCHEME, at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "each client: local epsilon 5.0986 per round (4 + ln 3" in done.stdout


def test_scheme_says_which_mechanism_was_taken_and_why(tmp_path: Path) -> None:
    number = '[attributes.{}]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n{}\n'
    asked = number.format("x", "") + number.format("y", "degree = 1") + number.format("z", 'mechanism = "dyadic_wave"')
    (tmp_path / "s.toml").write_text(f'name = "s"\n{asked}', encoding="utf-8")
    assert "the default" not in ldpflow("scheme", "s.toml", at=tmp_path).stdout
    said = ldpflow("scheme", "s.toml", "--verbose", at=tmp_path).stdout
    assert "ratio 2.718277 <= e^epsilon" in said
    assert "by shuffling, if " in said
    assert "x: dyadic_wave, the default, with the lowest error\n" in said
    assert "y: wavelet_laplace, the first mechanism with degree\n" in said
    assert "z: " not in said


def test_scheme_says_which_attributes_do_not_use_its_functionals(tmp_path: Path) -> None:
    text = 'name = "s"\nfunctionals = ["cdf(2)"]\n[attributes.x]\ntype = "categorical"\ncategories = ["1", "3"]\n\n'
    (tmp_path / "s.toml").write_text(text + "values = [1, 3]\nepsilon = 1\n", encoding="utf-8")
    assert (
        "x: only its mean is estimated, because the scheme's functionals are"
        in ldpflow("scheme", "s.toml", at=tmp_path).stdout
    )


@pytest.mark.parametrize("ending", ["csv.gz", "parquet"])
def test_records_come_from_standard_input(tmp_path: Path, ending: str) -> None:
    people = pd.DataFrame({"x": [0.5, 2.0]})
    people.to_parquet(tmp_path / "p.parquet") if ending == "parquet" else people.to_csv(tmp_path / f"p.{ending}")
    (tmp_path / "s.toml").write_text(
        'name = "s"\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n', encoding="utf-8"
    )
    content = (tmp_path / f"p.{ending}").read_bytes()
    for arguments, words in (
        (("check",), "1         0       0         0"),
        (("privatize", "out.parquet"), "2 reports in"),
    ):
        command = [sys.executable, "-m", "dpcore", arguments[0], "s.toml", "-", *arguments[1:], "--format", ending]
        done = subprocess.run(command, input=content, capture_output=True, cwd=tmp_path, timeout=120)
        assert done.returncode == 0, done.stderr
        assert words in done.stdout.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", f"p.{ending}", "s.toml"]


def test_scheme_prints_what_editors_complete_by(tmp_path: Path) -> None:
    done = ldpflow("scheme", "--json-schema", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["required"] == ["name", "attributes"]
    assert not list(tmp_path.iterdir())
    assert "expected one scheme file, or two to compare, got 0" in ldpflow("scheme", at=tmp_path).stderr


def test_a_bad_record_is_one_line_and_lands_nothing(tmp_path: Path, coarse: str) -> None:
    for changes, parts in (
        ({"UrbanRural": 3}, ["'UrbanRural'", "record 21", "urban, rural"]),
        ({"Income": ""}, ["'Income'", "record 21"]),
        ({"Race": "NaN"}, ["'Race'", "record 21"]),
        ({"Income": "lots"}, ["'Income'", "record 21", "numbers"]),
    ):
        records(tmp_path / "people.csv", **changes)
        one_line(ldpflow("run", coarse, "--records", "people.csv", at=tmp_path), parts)
        assert not list(tmp_path.glob("data/var/runs/*/reports/*")), changes
    landed = ldpflow("query", "select distinct state from runs", "--format", "json", at=tmp_path)
    assert json.loads(landed.stdout) in ([], [{"state": "failed"}])  # the failures may be on record, nothing else


def test_a_missing_column_is_one_line(tmp_path: Path, coarse: str) -> None:
    text = records(tmp_path / "people.csv").read_text().replace("Race", "Origin")
    (tmp_path / "people.csv").write_text(text)
    done = ldpflow("run", coarse, "--records", "people.csv", at=tmp_path)
    one_line(done, ["'Race'"])


BAD_SCHEMES = [
    (("epsilon = 1", "epsilon = -1"), ["epsilon", "-1"]),
    (("clients =", "klients ="), ["'klients'", "accepted"]),
    (('outside = "clip"', 'outside = "drop"'), ["outside", "'drop'"]),
    (('"cdf(50000)"', '"cdf()"'), ["attributes.income", "cdf()"]),
    (('"cdf(50000)"', '"derivative(3, 50000)"'), ["attributes.income", "derivative(3, 50000)", "degree"]),
    (('"cdf(50000)"', '"derivative(0, 300000)"'), ["attributes.income", "outside"]),
    (('functionals = ["mean"]', 'functionals = ["entropy"]'), ["attributes.kids_count", "entropy"]),
    (('"cdf(50000)"', '"mean"'), ["attributes.income", "differ"]),
    (('level_rule = "lepski" ', 'level_rule = "fixed"\nlevel = 19 '), ["attributes.income", "level", "19"]),
]


def test_a_bad_scheme_is_one_line(tmp_path: Path) -> None:
    for change, parts in BAD_SCHEMES:
        (tmp_path / "bad.toml").write_text(Path(SCHEME).read_text().replace(*change))
        one_line(ldpflow("run", "bad.toml", at=tmp_path), parts)
        assert not (tmp_path / "data").exists(), change


def test_refused_where_the_scheme_says_so(tmp_path: Path) -> None:
    strict = COARSE.replace('outside = "clip"', 'outside = "refuse"')
    (tmp_path / "strict.toml").write_text(strict)
    records(tmp_path / "people.csv", Income=300_000)
    done = ldpflow("run", "strict.toml", "--records", "people.csv", at=tmp_path)
    one_line(done, ["'Income'", "record 21", "[0, 250000]"])
    assert "300" not in done.stderr.replace("250000", "")


@pytest.mark.slow
def test_real_records_and_a_rehearsal(tmp_path: Path, coarse: str) -> None:
    records(tmp_path / "people.csv", rows=400)
    done = ldpflow("run", coarse, "--records", "people.csv", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "true value" not in done.stdout
    rehearsal = ldpflow("run", coarse, "--records", "people.csv", "--seed", "3", at=tmp_path)
    assert rehearsal.returncode == 0
    assert "DRY RUN" in rehearsal.stdout
    sql = "select randomness, seed, (select count(*) from checks c where c.run_id = r.run_id and name = 'secure_randomness' "
    sql += "and not passed) as warned from runs r"
    [own] = tmp_path.glob("data/var/runs/*/rehearsal.duckdb")
    for where, row in (
        ((), {"randomness": "secure", "seed": None, "warned": 0}),
        (("--warehouse", str(own)), {"randomness": "seeded", "seed": None, "warned": 1}),
    ):
        assert json.loads(ldpflow("query", sql, "--format", "json", *where, at=tmp_path).stdout) == [row]


def test_a_copy_of_reports_is_refused(tmp_path: Path, coarse: str) -> None:
    records(tmp_path / "people.csv", rows=40)
    assert ldpflow("privatize", coarse, "people.csv", "reports", at=tmp_path).returncode == 0
    (tmp_path / "reports/again.parquet").write_bytes((tmp_path / "reports/00000.parquet").read_bytes())
    one_line(ldpflow("collect", coarse, "reports", at=tmp_path), ["copy", "count twice"])


def test_a_warehouse_that_is_none_is_refused_before_anyone_reports(tmp_path: Path, coarse: str) -> None:
    records(tmp_path / "people.csv", rows=40)
    (tmp_path / "w.csv").write_text("a,b\n1,2\n")
    done = ldpflow("run", coarse, "--records", "people.csv", "--warehouse", "w.csv", at=tmp_path)
    one_line(done, ["w.csv"])
    assert not list(tmp_path.rglob("*.parquet"))
    (tmp_path / "plain").write_text("")
    one_line(ldpflow("run", coarse, "--data", "plain", at=tmp_path), ["plain"])


@pytest.mark.slow
def test_a_round_whose_numbers_are_all_refused_is_still_a_round(tmp_path: Path) -> None:
    scheme = 'name = "consumer_expenditure"\n[attributes.expenditure]\ntype = "numeric"\nlower = 0\nupper = 50000\n'
    scheme += (
        'mechanism = "dyadic_wave"\nepsilon = 1\nestimator = "log_spline"\nfunctionals = ["integrated_square(2)"]\n'
    )
    (tmp_path / "s.toml").write_text(scheme)
    done = ldpflow("run", "s.toml", "--clients", "3000", "--seed", "1", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "expenditure, integrated square(2): " in done.stdout


@pytest.mark.slow
def test_ten_thousand_categories_are_printed_and_drawn_as_the_largest(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(10_000)]
    scheme = 'name = "many"\nclients = 300\n[attributes.c]\ntype = "categorical"\nmechanism = "auto"\nepsilon = 4\n'
    (tmp_path / "many.toml").write_text(scheme + f"categories = {json.dumps(names)}\n")
    (tmp_path / "people.csv").write_text("c\n" + "\n".join(names[:300]) + "\n")
    done = ldpflow("run", "many.toml", "--records", "people.csv", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("share of c") == 30
    landed = ldpflow("query", "select count(*) as n from frequencies", "--format", "json", at=tmp_path)
    assert json.loads(landed.stdout) == [{"n": 10_000}]


def test_privatize_collect_estimate(tmp_path: Path, coarse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing, "draw", lambda _run, _compared: [])
    curve = COARSE[COARSE.index("\n[attributes.income]") :]  # the check of its values takes longer than all the rest
    (tmp_path / coarse).write_text(COARSE.replace(curve, ""), encoding="utf-8")
    records(tmp_path / "people.csv", rows=400)
    done = ldpflow("privatize", coarse, "people.csv", "reports", at=tmp_path)
    assert "400 reports" in done.stdout
    twice = ldpflow("privatize", coarse, "people.csv", "reports", at=tmp_path)
    one_line(twice, ["already has reports"])
    assert ldpflow("collect", coarse, "reports", "--round", "r1", at=tmp_path).returncode == 0
    done = ldpflow("estimate", coarse, "--round", "r1", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "400 clients" in done.stdout
    assert list((tmp_path / "reports").glob("*.parquet"))  # the owner's reports stay


CANNOT_BE_DONE = [
    (["query", "select 1", "--warehouse", "none.duckdb"], ["none.duckdb", "ldpflow run"]),
    (["run", "none.toml"], ["no scheme file"]),
    (["run", SCHEME, "--records", "none.csv"], ["none.csv"]),
    (["run", str(ROOT / "data/schemes/health_insurance.toml")], ["--records"]),
    (["run", SCHEME, "--clients", "0"], ["clients", "0"]),
    (["run", SCHEME, "--clients", "99999999999999999999"], ["clients", "between 1 and 10^12"]),
    (["run", SCHEME, "--seed", "-1"], ["seed", "-1"]),
    (["estimate", SCHEME, "--round", "never"], ["never"]),
    (["collect", SCHEME, "nowhere"], ["nowhere"]),
]


def test_what_cannot_be_done_is_one_line(tmp_path: Path) -> None:
    for arguments, parts in CANNOT_BE_DONE:
        one_line(ldpflow(*arguments, at=tmp_path), parts)


def test_a_process_of_its_own_says_one_line_and_exits(tmp_path: Path) -> None:
    (tmp_path / "Containerfile").touch()
    command = [sys.executable, "-m", "dpcore.cli", "init", "."]  # it loads no numpy
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    one_line(Done(done.returncode, done.stdout, done.stderr), ["Containerfile: already exists"])


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), RuntimeError("Query interrupted")], ids=["here", "in DuckDB"])
def test_ctrl_c_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException) -> None:
    from dpcore.rounds.steps import preparation

    def stopped(*_: object, **__: object) -> None:
        raise stop

    monkeypatch.setattr(preparation, "prepare", stopped)
    done = ldpflow("run", SCHEME, at=tmp_path)
    assert done.returncode == 130
    assert done.stderr == "ldpflow: interrupted; landed rounds remain, and no round is partly landed\n"


def test_a_full_disk_is_one_line_that_names_the_file_and_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(beside: Path) -> None:
        beside.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28]")  # as pyarrow says it

    monkeypatch.setattr(cli, "app", lambda *_, **__: write_whole(tmp_path / "00001.parquet", full))
    one_line(ldpflow("run", at=tmp_path), ["00001.parquet: No space left on device; free disk space and run it again"])
    assert not list(tmp_path.iterdir())


def test_every_command_has_an_example(tmp_path: Path) -> None:
    done = ldpflow("--help", at=tmp_path)
    assert done.returncode == 0
    for command in ("run", "scheme", "privatize", "collect", "estimate", "query", "export", "publish", "audit"):
        assert command in done.stdout
        assert f"Example: ldpflow {command}" in ldpflow(command, "--help", at=tmp_path).stdout


@pytest.mark.slow
def test_publish_writes_one_page(ran: Path) -> None:
    done = ldpflow("publish", "--round", "2026-11-20", "round.html", at=ran)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote round.html: consumer_expenditure, round 2026-11-20\n"
    assert "consumer expenditure" in (ran / "round.html").read_text()


def test_a_page_that_cannot_be_written_is_one_line(ran: Path) -> None:
    one_line(ldpflow("publish", "--round", "never", "r.html", at=ran), ["no landed round 'never'", "2026-11-20"])
    one_line(ldpflow("publish", "data/var/warehouse.duckdb", at=ran), [".html"])
    one_line(ldpflow("publish", "r.html", "--warehouse", "none.duckdb", at=ran), ["none.duckdb", "ldpflow run"])


def one_line(done: Done, parts: list[str]) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.startswith("ldpflow: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_a_reader_that_closes_the_pipe_early_is_no_error() -> None:
    """As `head` does; what is printed last is written when the program ends."""
    code = "from dpcore import cli; cli.app = lambda *_, **__: print('a line'); cli.main([])"
    own = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0
