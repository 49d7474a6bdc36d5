"""What modules, commands and flows load, in one table: of all that is dear, exactly what their line says.

It is held by modules and not by time: what a line lacks is refused, and what it has must be loaded, or it is out of date.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from tests.helpers.loaded import ROOT, Loaded, loaded

TABLES = "duckdb numpy pandas pyarrow"  # pyarrow loads pandas for the first array
SCIPY = "scipy.interpolate scipy.linalg scipy.optimize scipy.special"
READS = "dpcore.functionals dpcore.protocol.syntax.mechanism_design"  # a scheme that people wrote
STUDIES = "dpcore.laboratory dpcore.functionals numpy pandas pyarrow"
PAGES = "dpcore.results.pages"
LANDS = f"{PAGES} {SCIPY} {TABLES} dpcore.results.plots matplotlib"
FLOW = f"{PAGES} jinja2 {TABLES} dpcore.functionals"
DEAR = set(
    f"{LANDS} {READS} {STUDIES} jinja2 cryptography distributed fastapi matplotlib.pyplot numba prefect pywt rich scipy.stats "
    "typer uvicorn dpcore.audit dpcore.collector dpcore.rounds.planning".split()
)

QUICK = {  # done in one folder, in this order
    "import dpcore": "",
    "import dpcore.wire.ledger_file": "",
    "import dpcore.cli": "typer",
    "ldpflow --help": "typer",
}
QUICK_COMMANDS = {  # beside what `import dpcore.cli` loads
    "ldpflow scheme --help": "",
    "ldpflow benchmark --help": "dpcore.laboratory",
    "ldpflow init own": "",
    "ldpflow up --help": "",
    "ldpflow conformance --help": "",
    "ldpflow key clinic --keys keys.toml": "dpcore.collector",
}
QUICK_NUMPY = {  # beside numpy, a tenth of a second
    "report canonical.toml": "",
    "report filters.toml": "pywt",
    "ldpflow scheme pets.toml": f"typer rich {READS}",
    "ldpflow scheme --json-schema": "typer dpcore.functionals",
    "ldpflow check names.toml names.parquet": f"typer rich pyarrow {READS}",
    "ldpflow privatize names.toml names.parquet names": f"typer rich pyarrow {READS}",  # pandas costs half a second
}
SLOW = {
    "import dpcore.client": "numpy",  # `report canonical.toml` shows that this and the next load no more
    "import dpcore.wire.json_report": "numpy",
    "import dpcore.conformance": "numpy",
    "ldpflow deploy --help": "typer",
    "ldpflow watch --help": "typer",
    "ldpflow status --help": "typer",
    "report splines.toml": "numpy",
    "ldpflow vectors cases": f"typer numpy {READS}",
    "ldpflow receive said.toml said.csv said.parquet": f"typer numpy pandas pyarrow {READS}",
    "ldpflow audit pets.toml --trials 1000": f"typer rich numpy {READS} dpcore.audit scipy.special",
    "ldpflow privatize pets.toml people.csv others": f"typer rich numpy pyarrow {READS}",
    "ldpflow reproduce --list": f"typer rich {STUDIES} dpcore.rounds.planning",
    "ldpflow serve pets.toml --into taken --port 0": f"typer numpy {READS} dpcore.collector fastapi uvicorn pandas pyarrow",
    "ldpflow collect pets.toml others --round r": f"typer rich {TABLES} {READS}",
    "ldpflow estimate pets.toml --round r": f"typer rich {READS} {LANDS} dpcore.audit",
    "ldpflow query from_runs": "typer rich duckdb",
    "ldpflow forget r --dry-run": f"typer {TABLES}",
    "ldpflow backup ../kept.tar": f"typer rich {TABLES}",
    "ldpflow restore ../kept.tar ../own": f"typer rich {TABLES}",
    "ldpflow show": f"typer rich {PAGES} {TABLES} dpcore.functionals",
    "ldpflow run pets.toml --seed 1": f"typer rich {READS} {LANDS} dpcore.audit",
    "ldpflow benchmark speed --help": f"typer {STUDIES}",
    "ldpflow publish round.html": f"typer rich jinja2 {PAGES} {TABLES} dpcore.functionals dpcore.results.plots matplotlib",
    "ldpflow export latest_estimates estimates.csv": "typer duckdb numpy pyarrow",
    "ldpflow cleanup": f"typer {TABLES}",
    "ldpflow backfill 2026-11-01 2026-11-02 pets.toml --dry-run": f"typer duckdb numpy {READS}",
    "ldpflow audit pets.toml --trials 1000 --out c.md --warehouse w.duckdb": (
        f"typer rich {TABLES} {READS} dpcore.audit scipy.special dpcore.results.plots matplotlib"
    ),
    "ldpflow plan pets.toml --aim income:mean --epsilon 1 --error 300": (
        f"typer dpcore.audit rich numpy pyarrow {SCIPY} {READS} dpcore.rounds.planning"
    ),
    "ldpflow dry-run pets.toml --clients 100 --rounds 1": (
        f"typer rich numpy pandas pyarrow {SCIPY} {READS} dpcore.rounds.planning"
    ),
    "ldpflow benchmark coverage --help": f"typer {STUDIES} dpcore.audit scipy.special",
}
FLOWS = {  # beside what Prefect loads
    "import ldpflow_flows.round": f"{FLOW} typer",  # a worker starts a process for every round
    "import ldpflow_flows.services.up": "",
    "import ldpflow_flows.services.environment": "",
    "import ldpflow_flows.services.key": "",
    "import ldpflow_flows.monitoring": "",
    "import ldpflow_flows.names": "",
    "import ldpflow_flows.server": "",
    "import ldpflow_flows.services": "",
    "import ldpflow_flows.settings": "",
    "import ldpflow_flows.tasks": "",
    "import ldpflow_flows.tasks.parameters": "",
    "import ldpflow_flows.monitoring.webhook": "",
}
SLOW_FLOWS = {
    "import ldpflow_flows.dry_runs": f"{FLOW} dpcore.rounds.planning",
    "import ldpflow_flows.audit": f"{FLOW} dpcore.audit",
    "import ldpflow_flows.backfill": f"{FLOW} typer",
    "import ldpflow_flows.cleanup": FLOW,
    "import ldpflow_flows.collect": FLOW,
    "import ldpflow_flows.services.deployments": "",
    "import ldpflow_flows.estimate": FLOW,
    "import ldpflow_flows.tasks.permitted_folders": "numpy pandas pyarrow",
    "import ldpflow_flows.monitoring.metrics": "dpcore.results.pages",
    "import ldpflow_flows.publish": FLOW,
    "import ldpflow_flows.tasks.task_runner": "numpy pandas pyarrow",
    "import ldpflow_flows.simulate": FLOW,
    "import ldpflow_flows.tasks.stage": FLOW,
    "import ldpflow_flows.monitoring.status": "dpcore.results.pages",
    "import ldpflow_flows.tasks.steps": FLOW,
    "import ldpflow_flows.studies": f"{FLOW} dpcore.laboratory dpcore.audit dpcore.rounds.planning scipy.special",
    "import ldpflow_flows.monitoring.watch": "dpcore.results.pages jinja2",
    "import ldpflow_flows.studies.settings": f"{FLOW} dpcore.laboratory dpcore.audit dpcore.rounds.planning scipy.special",
}
TABLE = (  # what is done, what that loads, what all of it has before, and which tests they are
    (QUICK, "", ()),
    (QUICK_COMMANDS, "dpcore.cli", ()),
    (QUICK_NUMPY, "numpy", ()),
    (SLOW, "", (pytest.mark.slow,)),
    (FLOWS, "prefect", (pytest.mark.flows,)),
    (SLOW_FLOWS, "prefect", (pytest.mark.flows, pytest.mark.slow)),
)

PETS = """
name = "consumer_expenditure"
clients = 30
[attributes.urban_rural]
type = "categorical"
categories = ["urban", "rural"]
epsilon = 2
[attributes.income]
type = "numeric"
lower = 0
upper = 250_000
degree = 0
finest_level = 2
cells = 64
epsilon = 2
functionals = ["mean", "cdf(50000)"]
"""
REPEATED = (
    'name = "said"\n[attributes.smoked]\ntype = "categorical"\ncategories = ["yes", "no"]\nchannel = [[3, 1], [1, 3]]\n'
)
SPLINES = (
    'name = "s"\nclients = 900\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\nfinest_level = 4\n'
)


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], dict[str, Loaded]]:
    """A function: what each of a part of the table loads, found where one of it is asked for."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "pets.toml").write_text(PETS, encoding="utf-8")
    (folder / "people.csv").write_text("urban_rural,income\n" + "urban,41000\nrural,500\n" * 30, encoding="utf-8")
    pq.write_table(
        pa.table({"urban_rural": ["urban", "rural"] * 30, "income": [41000.0] * 60}), folder / "names.parquet"
    )
    (folder / "names.toml").write_text(PETS, encoding="utf-8")
    (folder / "said.toml").write_text(REPEATED, encoding="utf-8")
    (folder / "said.csv").write_text("smoked\n" + "yes\nno\n" * 30, encoding="utf-8")
    for name, text in (("canonical", PETS), ("splines", SPLINES), ("filters", SPLINES + 'basis = "bior2.4"\n')):
        (folder / f"{name}.toml").write_text(dp.Scheme.from_toml(text).canonical, encoding="utf-8")

    @cache
    def of(part: int) -> dict[str, Loaded]:
        entries, first, _ = TABLE[part]
        return loaded(
            folder, first, {name: [word.replace("from_runs", "from runs") for word in name.split()] for name in entries}
        )

    return of


@pytest.mark.parametrize("part", [pytest.param(part, marks=marks) for part, (_, _, marks) in enumerate(TABLE)])
def test_what_is_dear_is_loaded_where_it_is_needed(loads: Callable[[int], dict[str, Loaded]], part: int) -> None:
    differences = []
    for name, done in loads(part).items():
        assert done.status == 0, f"{name}: {done.said}"
        modules, expected = DEAR & set(done.modules), set(TABLE[part][0][name].split())
        brought = {"scipy.linalg"} if "scipy.special" in expected else set()  # by scipy since 1.18
        if unneeded := modules - expected - brought:
            differences.append(f"{name}: loads {unneeded} needlessly")
        if missing := expected - modules:
            differences.append(f"{name}: does not load {missing} any more; take it out of the table")
    assert not differences, "\n".join(differences)


def test_the_table_has_every_command_and_every_flow() -> None:
    from dpcore.cli import app

    commands = {
        command.callback.__name__.replace("_", "-") for command in app.registered_commands if command.callback
    } | {"benchmark"}
    done = [name.split() for entries, *_ in TABLE for name in entries]
    assert {words[1] for words in done if words[0] == "ldpflow"} - {"--help"} == commands
    modules = (path.relative_to(ROOT / "flows").with_suffix("") for path in (ROOT / "flows").rglob("*.py"))
    flows = {".".join(["ldpflow_flows", *module.parts]).removesuffix(".__init__") for module in modules} - {
        "ldpflow_flows"
    }
    assert {name.split()[1] for name in (*FLOWS, *SLOW_FLOWS)} == flows


def test_help_is_shown_before_anything_is_loaded(loads: Callable[[int], dict[str, Loaded]]) -> None:
    """It takes a fifth of a second; numpy alone would take as long again."""
    done = loads(0)["ldpflow --help"]
    assert "benchmark" in done.said
    assert {
        name for name in done.modules if name.split(".")[0] in ("dpcore", "ldpflow_flows") and "dpcore.cli." not in name
    } == {
        "dpcore",
        "dpcore.cli",
        "dpcore.errors",
        "dpcore.rounds",
        "dpcore.rounds.defaults",
        "dpcore.rounds.settings",
    }
    assert not {"asyncio", "concurrent.futures", "importlib.metadata", "pydantic"} & set(done.modules)
