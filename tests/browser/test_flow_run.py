"""What a person sees in Prefect's UI, in a real browser: the first scheduled round finishing, its pages, and a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dpcore.results.pages.template import fitted, table
from ldpflow_flows.services import up
from tests.browser import chromium
from tests.helpers.services import Up, artifacts, ask, deployment, ended, running, soon, start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.flows,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
HIDDEN = (  # pixels of the widest table, or of the page, that are seen only by scrolling
    "Math.max(document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll('table')].map("
    "one => one.parentElement.scrollWidth - one.parentElement.clientWidth))"
)
PICTURES = "[...document.querySelectorAll('img')].filter(one => one.src.startsWith('data:'))"


@pytest.fixture(scope="module")
def service(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(root, tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def port(service: Up) -> str:
    return service.port


@pytest.fixture(scope="module")
def tab(service: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Tab]:
    """A browser that was asked for the key already."""
    with chromium.tab(tmp_path_factory.mktemp("profile")) as found:
        found.visit(f"http://{up.HOST}:{service.port}/", until="Login")  # the address that `make up` names
        found.log_in(service.key, until="Dashboard")
        yield found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def scheduled(port: str, round_: str, data: Path) -> str:
    """The id of the first run of a schedule that begins soon, but not before the server plans runs, once a minute."""
    daily = deployment(port, "daily")
    first = datetime.now(UTC) + timedelta(seconds=90)
    body = {
        "active": True,
        "schedule": {"interval": 86_400, "anchor_date": first.isoformat()},
        "parameters": {"clients": 50_000, "round": round_, "data": str(data)},
    }
    ask(port, f"/api/deployments/{daily['id']}/schedules", [body])
    runs = {"flow_runs": {"deployment_id": {"any_": [daily["id"]]}}, "sort": "EXPECTED_START_TIME_ASC"}

    def planned() -> Any:
        found = ask(port, "/api/flow_runs/filter", runs)
        return [run["id"] for run in found if run["parameters"].get("data") == str(data)]

    found = soon(planned, 90)
    assert found, "the schedule planned no run"
    return str(found[0])


@pytest.mark.nightly("waits")
def test_the_first_scheduled_round_is_seen_finishing(
    port: str, tab: chromium.Tab, tmp_path: Path, screenshots: Path
) -> None:
    home = f"http://{up.HOST}:{port}"
    tab.visit(f"{home}/deployments", until="daily")
    assert "weekly" in tab.text()
    tab.screenshot(screenshots / "deployments.png", whole=False)

    run = scheduled(port, "2026-11-20", tmp_path)
    tab.visit(f"{home}/runs/flow-run/{run}", until="consumer-expenditure-2026-11-20", seconds=300)
    tab.wait("aggregated: 1 of 1 batches", 300)
    assert ended(port, run)["type"] == "COMPLETED"
    tab.wait("Completed")
    tab.screenshot(screenshots / "flow_run.png", whole=False)
    tab.visit(f"{home}/runs/flow-run/{run}", until="Completed")  # anew: an open page keeps the artifacts it first read
    tab.click("Artifacts", until="consumer-expenditure-income")
    for shown in (
        "consumer-expenditure-estimates",
        "consumer-expenditure-progress",
        "50,000 reports counted, 0 rejected",
    ):
        assert shown in tab.text()
    tab.screenshot(screenshots / "flow_run_artifacts.png", whole=False)
    tab.visit(f"{home}/runs", until="consumer-expenditure-2026-11-20")
    tab.screenshot(screenshots / "runs.png", whole=False)


@pytest.fixture(scope="module")
def shown(port: str, data: Path) -> dict[str, Any]:
    """The artifacts of the second of two rounds, whose clients are so few that some numbers are refused."""
    for round_ in ("2026-11-20", "2026-11-21"):
        run = start(port, clients=20_000, round=round_, data=data)
        assert ended(port, run)["type"] == "COMPLETED"
    return artifacts(port, run)


def test_the_pages_of_a_round_tell_all_of_it(
    port: str, tab: chromium.Tab, shown: dict[str, Any], screenshots: Path
) -> None:
    home = f"http://{up.HOST}:{port}"
    front, income, estimates = (
        shown[f"consumer-expenditure-{name}"]["id"] for name in ("round", "income", "estimates")
    )

    tab.visit(f"{home}/artifacts/artifact/{front}", until="Location", height=1900)
    for text in (
        "Checks",
        "rejected share",
        "Rejected reports",
        "epsilon in all 2 rounds since 2026-11-20",
        "ε = 10.2",
    ):
        assert text in tab.text(), text
    tab.screenshot(screenshots / "round.png", whole=False)

    tab.visit(f"{home}/artifacts/artifact/{income}", until="Estimates by group", height=1900)
    assert tab.evaluate(f"{PICTURES}.length") == 2
    assert tab.evaluate(f"{PICTURES}.every(one => one.complete && one.naturalWidth > 300)")
    assert "previous round 2026-11-20" in tab.text()
    tab.screenshot(screenshots / "attribute.png", whole=False)

    tab.visit(f"{home}/artifacts/artifact/{estimates}", until="expenditure", height=1900)
    for heading in ("attribute", "quantity", "estimate", "interval", "true value"):
        assert heading in tab.text()
    tab.screenshot(screenshots / "estimates.png", whole=False)


def test_nothing_of_a_round_is_off_a_small_screen(
    port: str, tab: chromium.Tab, shown: dict[str, Any], screenshots: Path
) -> None:
    said = "the noise is too large for this functional"
    for key, artifact in shown.items():
        data = str(artifact["data"])
        assert (said in data) == (key == "consumer-expenditure-income"), key
        assert ("refused" in data) == key.endswith(("income", "estimates", "changes", "groups")), key
        tables = artifact["type"] == "table" or data.count("\n|-")
        assert hidden(port, tab, artifact["id"], tables) <= 1, key
        tab.screenshot(screenshots / f"small_{key}.png", whole=False)


@pytest.mark.parametrize("kind", ["as it was", "table", "markdown"])
@pytest.mark.parametrize(
    "long", ["mean", "share at or below 110,000,000 kilowatt hours of the quarter", "%" * 99, "W" * 99, "\u5bb6" * 99]
)
def test_a_table_is_measured_and_fits_whatever_is_in_it(port: str, tab: chromium.Tab, kind: str, long: str) -> None:
    row = {
        "attribute": "a_long_name" * 5,
        "quantity": long,
        "estimate": "110,000 kWh",
        "interval": "−120,000 to 30,000",
    }
    rows = [row | {"moved": "perhaps"}] * 3
    if kind == "as it was":
        rows[1] = row | {"estimate": "refused: " + "the noise is too large; " * 9, "moved": "no"}
    data = table(rows, "attribute", "quantity")
    if kind != "markdown":
        data = json.dumps(fitted(rows, "attribute", "quantity") if kind == "table" else rows)
    made = ask(
        port,
        "/api/artifacts/",
        {"key": "measured", "type": "markdown" if kind == "markdown" else "table", "data": data},
    )
    assert (hidden(port, tab, made["id"], 1) > 1) == (kind == "as it was")


def hidden(port: str, tab: chromium.Tab, artifact: str, tables: int) -> float:
    """How much of an artifact's page is off a window of 1280 by 800."""
    tab.visit(f"http://{up.HOST}:{port}/artifacts/artifact/{artifact}", until="Created", width=1280, height=800)
    assert soon(lambda: tab.evaluate("document.querySelectorAll('table').length") >= tables, 30)
    assert not tables or soon(lambda: tab.evaluate("document.querySelectorAll('td').length"), 30)
    seen: list[float] = []

    def is_settled() -> bool:
        """Rows are laid out after they are there: what was measured is measured again."""
        seen.append(float(tab.evaluate(HIDDEN)))
        return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3]

    assert soon(is_settled, 30)
    return seen[-1]


FIELD = (  # the input of a parameter in the form of a custom run
    "[...document.querySelectorAll('.schema-form-property')].find(one => one.innerText.startsWith('{} '))"
    "?.querySelector('input, textarea')"
)


def test_a_run_whose_form_changes_one_parameter_keeps_the_deployments_others(
    port: str, tab: chromium.Tab, tmp_path: Path, screenshots: Path
) -> None:
    daily = deployment(port, "daily")
    own = {"clients": 20_000, "round": "custom", "min_clients": 50, "data": str(tmp_path), "keep_reports": True}
    ask(port, f"/api/deployments/{daily['id']}", {"parameters": own}, "PATCH")
    try:
        home = f"http://{up.HOST}:{port}/deployments/deployment/{daily['id']}"
        tab.visit(f"{home}/run", until="min_clients", height=2600)
        field = FIELD.format("min_clients")
        assert soon(lambda: tab.evaluate(f"{field}?.value") == "50", 30)
        tab.evaluate(f"({field}.focus(), {field}.select())")
        tab.do("Input.insertText", text="19000")
        assert soon(lambda: tab.evaluate(f"{field}.value") == "19000", 30)
        tab.screenshot(screenshots / "custom_run.png", whole=False)
        tab.click("Submit", until="Next Run", seconds=60)  # the deployment's own page
        made = {"flow_runs": {"deployment_id": {"any_": [daily["id"]]}}, "sort": "EXPECTED_START_TIME_DESC"}

        def custom() -> list[Any]:
            runs = ask(port, "/api/flow_runs/filter", made)
            return [run for run in runs if run["parameters"].get("data") == str(tmp_path) and not run["auto_scheduled"]]

        [run] = soon(custom, 60)
        fields = daily["parameter_openapi_schema"]["properties"]
        sent = run["parameters"].keys() - own.keys()  # the form sends every field
        others = {name: fields[name].get("default") for name in sent}
        assert run["parameters"] == others | own | {"min_clients": 19_000}
        assert ended(port, run["id"])["name"] == "Completed"
    finally:
        ask(port, f"/api/deployments/{daily['id']}", {"parameters": daily["parameters"]}, "PATCH")


def test_what_went_wrong_is_found_from_the_ui_alone(
    port: str, tab: chromium.Tab, data: Path, screenshots: Path
) -> None:
    home = f"http://{up.HOST}:{port}"
    run = start(port, scheme="data/schemes/absent.toml", data=data)
    assert ended(port, run)["type"] == "FAILED"
    tab.visit(f"{home}/runs/flow-run/{run}", until="Failed")
    tab.wait("no scheme file at data/schemes/absent.toml")
    tab.click("Artifacts", until="round-failure")
    tab.visit(f"{home}/artifacts/artifact/{artifacts(port, run)['round-failure']['id']}", until="What to do")
    assert "no scheme file at data/schemes/absent.toml" in tab.text()
    assert "press Retry" in tab.text()
    tab.screenshot(screenshots / "failure.png", whole=False)


def test_the_ui_has_no_pages_that_load_a_tracker(port: str, tab: chromium.Tab) -> None:
    """Prefect's newer pages do, before anybody has logged in; the older ones invite to them where they are served."""
    home = f"http://{up.HOST}:{port}"
    tab.visit(f"{home}/dashboard", until="Flow Runs")
    assert "V2" not in tab.text()
    assert ask(port, "/ui-settings").count('"v2"') == 0


def test_nothing_was_fetched_from_elsewhere(port: str, tab: chromium.Tab) -> None:
    addresses = {url.split("/")[2] for url in tab.requests if url.startswith(("http", "ws"))}
    assert addresses == {f"{up.HOST}:{port}"}
