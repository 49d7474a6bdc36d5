"""Conventions of the code that a test can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from grimp import build_graph

import dpcore as dp

PYTHON = sorted(p for d in ("dpcore", "flows") for p in (Path(__file__).parents[2] / d).rglob("*.py"))
PACKAGES = sorted((Path(__file__).parents[2] / "dpcore").glob("*/__init__.py"))


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


def test_imports_point_back_up_the_story(root: Path) -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_no_file_is_imported_by_what_it_imports(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no cycle of imports; an import inside a function, or for type checking alone, counts like any other."""
    monkeypatch.chdir(root)
    graph = build_graph("dpcore", "ldpflow_flows", cache_dir=".import_linter_cache")  # as the contracts are checked
    assert len(graph.modules) == len(PYTHON)
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()


def test_public_names_are_documented_and_exported() -> None:
    assert dp.__all__ == sorted(dp.__all__)
    for name in dp.__all__:
        assert getattr(dp, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'budget'; it has"):
        _ = dp.budget


def test_every_module_opens_with_what_it_is() -> None:
    assert [path for path in PYTHON if not re.match(r'"""[A-Z`].{20,}', text(path))] == []


def test_a_package_says_what_belongs_there_and_what_it_may_import() -> None:
    for package in PACKAGES:
        told = (ast.get_docstring(tree(package), clean=True) or "").split("\n\nModules:\n")[0]
        assert len(told.splitlines()) <= 6, f"{package}: five lines, and a blank one after the first"
        for words in ("Here:", "Not here:", "May import"):
            assert words in " ".join(told.split()), (package, words)


def test_the_lock_holds_no_host(root: Path) -> None:
    assert "://" not in text(root / "requirements.lock")
    assert not (root / "uv.lock").exists()


def test_all_that_is_installed_is_pinned_and_has_hashes(root: Path) -> None:
    """What installs the lock and what builds this package stand in it, too: a fresh checkout runs nothing unchecked."""
    entries = re.split(r"\n(?=\S)", text(root / "requirements.lock").removesuffix("\n"))
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+", entry), entry[:80]
    names = {entry.split("==")[0] for entry in entries}
    project = tomllib.loads((root / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    asked += [line for extra in extras for line in extra]
    assert {re.split(r"[\[<>=;]", line)[0] for line in asked} - {"ldpflow"} <= names
    recipe = re.search(r"^\$\(VENV\)/\.ok:.*\n((?:\t.*\n)+)", (root / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    installs = [line for line in recipe[1].splitlines() if "pip install" in line]
    assert len(installs) == 3
    for line in installs:
        assert "--require-hashes -r" in line or line.endswith("--no-deps --no-build-isolation -e ."), line
    of_uv = subprocess.run(["sed", "-n", r"/^uv==/,/[^\]$/p", "requirements.lock"], cwd=root, capture_output=True)
    assert [entry for entry in entries if entry.startswith("uv==")] == [of_uv.stdout.decode().removesuffix("\n")]


def test_a_client_needs_numpy_and_the_scheme_only(root: Path, tmp_path: Path) -> None:
    """A process that can import nothing but numpy and the standard library reads schemes, keeps a ledger and sends reports."""
    code = """
import sys

class NothingElse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {*sys.stdlib_module_names, "numpy", "dpcore"}:
            raise ImportError(f"a client has no {name}")

sys.meta_path.insert(0, NothingElse())
from pathlib import Path
from dpcore._random import secure
from dpcore.client import Client
from dpcore.privacy.budget import Budget
from dpcore.privacy.ledger import Ledger
from dpcore.protocol.scheme import Scheme
from dpcore.wire import FileStore, write_report

ledger = Ledger(Budget.parse("30"), FileStore(Path(sys.argv[1])))
for file in sys.argv[2:]:
    scheme = Scheme.from_toml(Path(file))
    record = {a.column: float(a.lower) if a.is_numeric else a.categories[0] for a in scheme.reported.values()}
    report = Client(scheme, secure(), secret=b"of this client alone", ledger=ledger).report(record)
    print(scheme.digest in write_report(report, scheme).decode())
"""
    files = sorted((root / "data/schemes").glob("*.toml"))
    command = [sys.executable, "-c", code, tmp_path / "ledger", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == ["True"] * len(files)


def test_every_citation_resolves_both_ways(root: Path) -> None:
    keys = set(re.findall(r"@\w+\{(\w+),", (root / "dpcore/references.bib").read_text()))
    code = "\n".join(map(text, PYTHON))
    cited = set(re.findall(r"\[([A-Z][A-Za-z]+(?:(?:19|20)\d\d|Overview))\]", code))
    assert cited <= keys, cited - keys
    assert keys <= cited, keys - cited


def test_nothing_on_the_clients_path_asks_for_a_generator_or_a_float(root: Path) -> None:
    """`generator()` belongs to `simulate`; privatize and the sampler it calls see words and integers."""
    import inspect

    from dpcore.mechanisms.registry import BY_KIND

    for name, kind in {name: kind for kinds in BY_KIND.values() for name, kind in kinds.items()}.items():
        assert Path(str(inspect.getsourcefile(kind))) in (root / "dpcore/mechanisms").glob(f"*/{name}.py")
        file = Path(str(inspect.getsourcefile(kind.privatize)))  # its own file, or one it shares
        client = ("privatize", "draw_levels", "draw")
        found = [n for n in ast.walk(tree(file)) if isinstance(n, ast.FunctionDef) and n.name in client]
        assert "privatize" in {function.name for function in found}
        for function in found:
            for node in ast.walk(function):
                assert not (isinstance(node, ast.Attribute) and node.attr in ("generator", "float64", "normal"))
                assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
                assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))


def test_what_a_dataclass_holds_is_not_changed() -> None:
    """But of two: a connection that waits, and a ledger that is open."""
    changing = []
    for path in PYTHON:
        if not re.search(r"@.*dataclass(?!.*frozen=True)", text(path)):  # most need no parser
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                told = [ast.unparse(one) for one in node.decorator_list]
                changing += [node.name for one in told if one.startswith("dataclass") and "frozen=True" not in one]
    assert sorted(changing) == ["_Connection", "_Held"]


def test_the_wheel_has_every_package_and_what_is_shipped(root: Path) -> None:
    """They are listed by name: the flows' folder has another name than their package.  Studies, schemes and samples are not."""
    told = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    there = {".".join(path.parent.relative_to(root).parts) for path in (root / "dpcore").rglob("__init__.py")}
    there |= {".".join(path.parent.relative_to(root).parts) for path in (root / "flows").rglob("__init__.py")}
    product = {
        name for name in there if not name.startswith(("dpcore.laboratory", "dpcore.cli.studies", "flows.studies"))
    }
    product = {re.sub("^flows", "ldpflow_flows", name) for name in product}
    assert sorted(told["packages"]) == sorted({*product, "ldpflow_project"})
    patterns = told["package-data"]["ldpflow_project"]
    files = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    shipped = {path for path in (root / "data" / "project").rglob("*") if path.is_file()}
    assert files == {root / "prefect.yaml", *shipped}


def test_flows_are_imported_by_a_name_that_no_project_has(root: Path) -> None:
    for path in [*PYTHON, *(root / "tests").rglob("*.py")]:
        assert not re.search(r"^\s*(?:from|import) flows\b", path.read_text("utf-8"), re.MULTILINE), path
    for path in (root / "flows").rglob("*.py"):
        assert "ldpflow_flows import" not in path.read_text("utf-8"), f"{path} imports its own by their whole name"
