"""Fixtures shared by every kind of test."""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import re
import shutil
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[1]
# Hypothesis would fail an example that takes a fifth of a second, as any may where something else takes the core; and what it
# draws anew in each run fails for whoever happens to wait.  New examples are the night's: --hypothesis-profile=night.
settings.register_profile("any machine", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("night", deadline=None, max_examples=1000, print_blob=True)
settings.register_profile(  # where a bug is planted, one example that fails will do
    "planted", deadline=None, derandomize=True, max_examples=40, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("planted" if "PLANTED_BUG" in os.environ else "any machine")

_WHOLE = re.compile(r"^pytestmark = (\[.*?^\]|.*?$)", re.DOTALL | re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out unread a file whose every test has a mark that is not wanted: what it imports, as Prefect, takes seconds.

    Where only flows are wanted, so is a file that does not name them.
    """
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    if config.option.markexpr.startswith("flows") and "mark.flows" not in text:
        return True
    whole = _WHOLE.search(text)
    marks = re.findall(r"pytest\.mark\.(slow|flows|nightly)\b", whole[1]) if whole else []
    return any(f"not {mark}" in config.option.markexpr for mark in marks) or None


@pytest.hookimpl(tryfirst=True)  # before it is asked which tests are wanted
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is for the night alone is slow, too."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector leave alone what is imported, which it looked through every second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


atexit.register(gc.unfreeze)  # let it go through everything at the very end, or libraries say that it leaks


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def small_text() -> str:
    """A scheme small enough to try everything on."""
    from tests.helpers.schemes import SMALL

    return SMALL


@pytest.fixture(scope="session")
def small():  # type: ignore[no-untyped-def]
    from dpcore.protocol.scheme import Scheme
    from tests.helpers.schemes import SMALL

    return Scheme.from_toml(SMALL)


@pytest.fixture
def people():  # type: ignore[no-untyped-def]
    """A function: n people of the small scheme, as columns."""
    import numpy as np

    def make(n: int, seed: int = 3) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        return {
            "side": rng.choice(["left", "right"], n, p=[0.7, 0.3]),
            "colour": rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]),
            "height": 0.5 + 2 * rng.beta(2, 5, n),
        }

    return make


@pytest.fixture
def plain_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages have no pictures, which are most of the time that a page takes."""
    from dpcore.results.pages.pictures import Picture

    monkeypatch.setattr(Picture, "drawn", lambda *_: [])


@pytest.fixture(scope="session", autouse=True)
def runs_may_use_what_tests_make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the flows use the tests' own folders, as an operator names his."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LDPFLOW_FOLDERS", f"data,{tmp_path_factory.getbasetemp()}")
        yield


@pytest.fixture(scope="session")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse in which nothing has landed, as it was made; copy it before you write."""
    from dpcore.results.warehouse import open_for_writing

    path = tmp_path_factory.mktemp("created") / "deep" / "er" / "warehouse.duckdb"  # the folders are made
    with open_for_writing(path):
        pass
    return path


@pytest.fixture
def fresh(created: Path, tmp_path: Path) -> Path:
    """A warehouse of the test's own, in which nothing has landed: a copy takes a hundredth of what making one does."""
    return Path(shutil.copy(created, tmp_path / "warehouse.duckdb"))


@pytest.fixture(scope="session")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse in which the shipped schemes have landed at small size; copy it before you write.

    consumer_expenditure: rounds 2026-11-18 to -20 of 30,000 simulated households.  health_insurance: round 2026-11-20, the
    sample's people, whose reports were collected; two of them no client could have sent.
    It is made once for all processes of the tests; one that comes while it is being made waits.
    """
    base = tmp_path_factory.getbasetemp()
    data = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "landed"
    with data.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (data / "whole").exists():
            shutil.rmtree(data, ignore_errors=True)  # of a process that was stopped
            _land_shipped_schemes(data)
            (data / "whole").touch()
    return data / "warehouse.duckdb"


@pytest.fixture
def light_warehouses() -> Iterator[None]:
    """Let the warehouses of a test stay open, unpublished."""
    from tests.helpers.kept_open import kept_open

    with kept_open():
        yield


@pytest.fixture(scope="session")
def outlined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`landed` with coarse densities, and one estimate for the three rounds: for tests that only ask whether queries run."""
    data = tmp_path_factory.mktemp("outlined")
    for scheme in ("consumer_expenditure", "health_insurance"):
        text = (ROOT / f"data/schemes/{scheme}.toml").read_text(encoding="utf-8")
        text = re.sub("^degree = .", "degree = 0\nfinest_level = 2\ncells = 64", text, flags=re.MULTILINE)
        text = re.sub(
            '^mechanism = "dyadic_wave".*',
            'mechanism = "wavelet_laplace"\ndegree = 0\nfinest_level = 2\ncells = 64',
            text,
            flags=re.MULTILINE,
        )
        text = text.replace('estimator = "log_spline"', 'estimator = "projection"')
        (data / f"{scheme}.toml").write_text(text, encoding="utf-8")
    _land_shipped_schemes(data, data, is_outline=True)
    return data / "warehouse.duckdb"


@pytest.fixture(scope="session")
def schooling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse in which a rehearsal of schooling_and_wages has landed, of the sample's men; copy it before you write."""
    from dpcore.results import warehouse
    from tests.helpers import undrawn
    from tests.helpers.kept_open import kept_open

    data, records = tmp_path_factory.mktemp("schooling"), ROOT / "data/samples/cps_1988.parquet"
    scheme = ROOT / "data/schemes/schooling_and_wages.toml"
    with kept_open():
        undrawn.run(scheme, records=records, round_="2026-11-20", seed=7, data=data)
    (found,) = data.glob(f"runs/*/{warehouse.REHEARSAL}")
    return found


def _land_shipped_schemes(data: Path, schemes: Path = ROOT / "data/schemes", *, is_outline: bool = False) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpcore.audit import publication
    from dpcore.protocol.scheme import Scheme
    from dpcore.results import warehouse
    from dpcore.rounds.exchange import outgoing_reports
    from tests.helpers import undrawn
    from tests.helpers.kept_open import kept_open

    insurance = schemes / "health_insurance.toml"
    outgoing_reports.send(Scheme.from_toml(insurance), ROOT / "data/samples/health_insurance.parquet", data / "reports")
    first = min((data / "reports").glob("*.parquet"))
    table = pq.read_table(first)
    visits = table["visits"].to_pylist()
    visits[5] = visits[11] = 200  # there are eleven categories
    column = pa.array(visits, type=table.schema.field("visits").type)
    pq.write_table(table.set_column(table.column_names.index("visits"), table.schema.field("visits"), column), first)
    with kept_open(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "published", cache(publication.published))  # three rounds ask alike
        hands = undrawn.Alike() if is_outline else undrawn.Undrawn()
        for round_ in ("2026-11-18", "2026-11-19", "2026-11-20"):
            undrawn.run(schemes / "consumer_expenditure.toml", hands, round_=round_, clients=30_000, data=data)
        undrawn.run(insurance, reports=data / "reports", round_="2026-11-20", data=data)
    warehouse.publish_copy(data / "warehouse.duckdb")
