"""The consent page in a real browser: what it says, what it sends, and that it sends nothing before it is told to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpcore as dp
from dpcore import wire
from dpcore.collector.store.sealing import landing
from dpcore.protocol.report import batch_of
from dpcore.protocol.scheme import Scheme
from tests.browser import chromium
from tests.browser.serving import serving
from tests.helpers import collectors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.BINARY is None, reason="needs Debian's chromium: apt-get install chromium"),
]
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
READY = """new Promise(resolve => { const look = () => document.getElementById("prepare")
    || document.getElementById("trouble").textContent ? resolve(true) : setTimeout(look, 50); look(); })"""
FILL = """(() => { for (const [name, value] of Object.entries(%s)) {
    const radio = document.querySelector(`input[type=radio][name="${name}"][value="${value}"]`);
    if (radio) radio.click(); else document.querySelector(`[name="${name}"]`).value = value; } })()"""
WORDING = {
    "questions": {"urban_rural": "Where do you live?", "kids_count": "How many children under 16 live with you?"}
}
REFUSE_ONE = """(() => { const send = fetch; window.fetch = async () => {
    window.fetch = send; return new Response('{"reason": "out_of_range"}', {status: 422}); }; })()"""
LOSE_AN_ANSWER = """(() => { const send = fetch; window.fetch = async (...request) => {
    window.fetch = send; await send(...request); throw new TypeError("the connection was lost"); }; })()"""
ANSWERS = {"urban_rural": "rural", "race": "asian", "kids_count": "2", "income": "41,000", "expenditure": "9800.50"}


@pytest.fixture
def site(tmp_path: Path, root: Path) -> Path:
    folder = tmp_path / "site"
    shutil.copytree(root / "dpcore/collector/static", folder)
    wire.write_bundle(folder / "bundle", scheme_of(root))
    page = (folder / "consent.html").read_text("utf-8")
    assert 'id="wording">{}' in page
    (folder / "consent.html").write_text(
        page.replace('id="wording">{}', f'id="wording">{json.dumps(WORDING)}'), "utf-8"
    )
    return folder


def scheme_of(root: Path) -> Scheme:
    return Scheme.from_toml(root / "data/schemes/consumer_expenditure.toml")


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[chromium.Tab]:
    with chromium.tab(tmp_path / "profile") as page:
        yield page


def assert_counted_once(tab: chromium.Tab, serving: collectors.Serving, folder: Path, scheme: Scheme) -> None:
    """Send the report under review, end the collector, and compare what it sealed with what the page showed."""
    sent = tab.evaluate("document.getElementById('bytes').textContent")
    tab.evaluate("document.getElementById('send').click()")
    wait(tab, "sent")
    assert "has arrived and is counted once" in text(tab, "arrived")
    assert tab.complaints == []
    assert serving.stop()[0] == 0
    (sealed,) = landing(folder, scheme.digest).glob("*.parquet")
    report = wire.read_report(sent.encode(), scheme)
    assert dp.aggregate(scheme, wire.read_reports(sealed, scheme)).equals(dp.aggregate(scheme, batch_of([report])))


def wait(tab: chromium.Tab, element: str) -> None:
    shown = f"!document.getElementById('{element}').hidden"
    tab.evaluate(f"new Promise(done => {{ const look = () => {shown} ? done(1) : setTimeout(look, 50); look(); }})")


def text(tab: chromium.Tab, element: str) -> str:
    return str(tab.evaluate(f"document.getElementById('{element}').innerText"))


def test_a_person_answers_sees_the_report_and_sends_it(
    site: Path, root: Path, tab: chromium.Tab, screenshots: Path
) -> None:
    with serving(site) as (url, posted):
        for width in (1000, 390):
            tab.open(f"{url}consent.html", width)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert "at most 99.4 % certainty" in text(tab, "means")  # ln 3 + 4
            assert "At most 75 % certainty" in text(tab, "urban_rural-gives")
            assert tab.evaluate(FITS)
            tab.evaluate("document.getElementById('prepare').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert "not answered yet" in text(tab, "urban_rural-wrong")
            assert tab.evaluate("document.activeElement.name") == "urban_rural"
            tab.evaluate(FILL % json.dumps(ANSWERS))
            assert text(tab, "urban_rural-wrong") == ""
            tab.screenshot(screenshots / f"consent_{width}_form.png")
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            assert tab.evaluate("document.activeElement.id") == "review-title"
            assert tab.evaluate(FITS)
            tab.evaluate("document.querySelector('#review details').open = true")
            tab.screenshot(screenshots / f"consent_{width}_review.png")
        shown = text(tab, "bytes")
        tab.evaluate("document.getElementById('back').click()")
        tab.evaluate("document.getElementById('prepare').click()")
        wait(tab, "review")
        assert text(tab, "bytes") == shown  # nobody draws until it looks right
        assert posted == []
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        tab.screenshot(screenshots / "consent_390_sent.png")
        assert [content.decode() for content in posted] == [shown]
        scheme = scheme_of(root)
        assert dp.aggregate(scheme, batch_of([wire.read_report(posted[0], scheme)])).n == 1
        assert all(request.startswith((url, "data:")) for request in tab.requests)
        assert tab.complaints == []
        assert tab.evaluate("[localStorage.length, sessionStorage.length, document.cookie.length]") == [1, 0, 0]
        kept = json.loads(tab.evaluate(f"localStorage.getItem('ldpflow {scheme.digest} ')"))
        assert set(kept) == {"reports", "last", "arrived"}  # neither answers nor the report
        assert (kept["reports"], kept["arrived"]) == (1, True)


def answer(tab: chromium.Tab) -> None:
    """Fill the form in and look at the report."""
    tab.evaluate(FILL % json.dumps(ANSWERS))
    tab.evaluate("document.getElementById('prepare').click()")
    wait(tab, "review")


def test_a_page_that_is_loaded_again_remembers(site: Path, tab: chromium.Tab, screenshots: Path) -> None:
    """And says what another report would tell, and sends one to whoever wants to all the same."""
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 1000)
        tab.evaluate(READY)
        assert text(tab, "means").startswith("Anyone who sees this report can guess which of two equally likely")
        answer(tab)
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        for width in (1000, 390):
            tab.open(f"{url}consent.html", width)
            tab.evaluate(READY)
            wait(tab, "before")
            assert not tab.evaluate("document.getElementById('form').checkVisibility()")
            assert "left this device on" in text(tab, "before-when")
            assert "and arrived" in text(tab, "before-when")
            assert "with at most 99.99 % certainty, instead of 99.4 %" in text(tab, "before-cost")
            assert "\u03b5 = 10.2 instead of 5.1" in text(tab, "before-cost")
            assert tab.evaluate(FITS)
            tab.screenshot(screenshots / f"consent_{width}_before.png")
        assert len(posted) == 1
        tab.evaluate("document.getElementById('again').click()")
        answer(tab)
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        assert len(posted) == 2
        assert posted[0] != posted[1]
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        assert "Anyone who sees all 3 reports" in text(tab, "before-cost")
        tab.evaluate("localStorage.setItem(Object.keys(localStorage)[0], 'nothing')")
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        assert "does not know whether it arrived" in text(tab, "before-when")
        assert tab.complaints == []


def test_a_report_that_may_have_arrived_is_remembered_and_another_tab_told(site: Path, tab: chromium.Tab) -> None:
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 1000)
        tab.evaluate(READY)
        answer(tab)
        # Another tab sends: this one, whose report is drawn already, does not.
        key = tab.evaluate(
            "import('./ldpflow.mjs').then(m => m.fetchBundle('bundle/')).then(s => `ldpflow ${s.digest} `)"
        )
        other = '{"reports":1,"last":"2026-11-22T10:00:00.000Z","arrived":true}'
        tab.evaluate(f"localStorage.setItem('{key}', '{other}')")
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "before")
        assert posted == []
        tab.evaluate("document.getElementById('again').click()")
        answer(tab)
        tab.evaluate(f"localStorage.setItem('{key}', '{other.replace('1', '2', 1)}')")
        tab.evaluate("dispatchEvent(new StorageEvent('storage'))")
        wait(tab, "before")
        tab.evaluate("localStorage.clear()")
        tab.open(f"{url}consent.html", 1000)
        tab.evaluate(READY)
        answer(tab)
        tab.evaluate(LOSE_AN_ANSWER)
        tab.evaluate("document.getElementById('send').click()")
        tab.evaluate("new Promise(done => setTimeout(done, 500))")
        assert len(posted) == 1
        tab.open(f"{url}consent.html", 1000)
        tab.evaluate(READY)
        wait(tab, "before")
        assert "This page does not know whether it arrived" in text(tab, "before-when")


def test_where_nothing_can_be_kept_the_page_says_so(site: Path, tab: chromium.Tab, screenshots: Path) -> None:
    refuse = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    tab.do("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        assert text(tab, "trouble") == ""
        assert "lets the page store nothing" in text(tab, "means")
        answer(tab)
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        assert "please do not answer again" in text(tab, "sent")
        tab.screenshot(screenshots / "consent_390_sent_unkept.png")
        assert len(posted) == 1


def test_every_question_can_be_found_and_read_without_seeing_it(site: Path, tab: chromium.Tab) -> None:
    with serving(site) as (url, _):
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        tab.do("Accessibility.enable")
        nodes = tab.do("Accessibility.getFullAXTree")["nodes"]
        found = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node]
        assert {name for role, name in found if role == "group"} >= {*WORDING["questions"].values(), "race"}
        assert {name for role, name in found if role == "textbox"} == {"income", "expenditure"}
        assert all(name for role, name in found if role in ("radio", "button", "combobox"))
        low = tab.evaluate(
            "[...document.querySelectorAll('button, .choices label, input[type=text]')]"
            ".filter(e => e.offsetParent && e.getBoundingClientRect().height < 44).length"
        )
        assert low == 0  # large enough for a thumb


def test_a_collector_that_does_not_answer_loses_nothing(site: Path, tab: chromium.Tab) -> None:
    page = (site / "consent.html").read_text("utf-8")
    (site / "consent.html").write_text(page.replace('data-reports="reports"', 'data-reports="nowhere"'), "utf-8")
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        tab.evaluate(FILL % json.dumps(ANSWERS))
        tab.evaluate("document.getElementById('prepare').click()")
        wait(tab, "review")
        for _ in range(2):
            tab.evaluate("document.getElementById('send').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 500))")
        assert "same report" in text(tab, "unsent")
        assert len(posted) == 2
        assert posted[0] == posted[1]


def test_who_was_refused_for_good_may_answer_otherwise(site: Path, tab: chromium.Tab) -> None:
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        tab.evaluate(FILL % json.dumps(ANSWERS))
        tab.evaluate(REFUSE_ONE)
        for press in ("prepare", "send"):
            tab.evaluate(f"document.getElementById('{press}').click()")
            wait(tab, "review")
        tab.evaluate("new Promise(done => setTimeout(done, 500))")
        assert "refused this report (out of range)" in text(tab, "unsent")
        assert tab.evaluate("document.getElementById('send').disabled")
        tab.evaluate("document.getElementById('back').click()")
        tab.evaluate(FILL % json.dumps(ANSWERS | {"race": "black"}))
        tab.evaluate("document.getElementById('prepare').click()")
        wait(tab, "review")
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        assert len(posted) == 1


def test_a_bundle_that_breaks_its_promise_is_not_shown(site: Path, tab: chromium.Tab) -> None:
    table = next((site / "bundle").glob("income.*.int32"))
    table.write_bytes(table.read_bytes()[:-1] + b"\x01")
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        assert "nothing has been sent" in text(tab, "trouble")
        assert not tab.evaluate("document.querySelectorAll('form input').length")
        assert posted == []


def test_what_a_running_collector_is_sent_is_accepted_and_counted_once(
    root: Path, tmp_path: Path, tab: chromium.Tab, screenshots: Path
) -> None:
    scheme, wording, folder = scheme_of(root), tmp_path / "wording.json", tmp_path / "collected"
    wording.write_text(json.dumps({scheme.name: {"title": "How households spend", **WORDING}}), "utf-8")
    file, sent = root / "data/schemes/consumer_expenditure.toml", []
    serving = collectors.Serving(folder, file, "--wording", str(wording))
    try:
        port = serving.wait()
        url = f"http://{collectors.HOST}:{port}/"
        for width in (1000, 390):
            tab.open(f"{url}survey/{scheme.name}/", width)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert text(tab, "title") == "How households spend"
            if sent:
                wait(tab, "before")
                tab.evaluate("document.getElementById('again').click()")
            assert "a few whole numbers that this page draws at random" in text(tab, "leaves")
            assert tab.evaluate(FITS)
            tab.evaluate(FILL % json.dumps(ANSWERS))
            tab.screenshot(screenshots / f"survey_{width}_form.png")
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            assert tab.evaluate(FITS)
            tab.screenshot(screenshots / f"survey_{width}_review.png")
            assert sum(request.endswith("/reports") for request in tab.requests) == 2 * len(sent)
            sent.append(tab.evaluate("document.getElementById('bytes').textContent"))
            tab.evaluate(LOSE_AN_ANSWER)  # it has arrived, and the page does not know
            tab.evaluate("document.getElementById('send').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 500))")
            assert "same report" in text(tab, "unsent")
            tab.screenshot(screenshots / f"survey_{width}_unsent.png")
            tab.evaluate("document.getElementById('send').click()")
            wait(tab, "sent")
            assert "had arrived before, and is counted once" in text(tab, "sent")
            tab.screenshot(screenshots / f"survey_{width}_sent.png")
        again = collectors.Sender(port).one(sent[0].encode(), f"/schemes/{scheme.name}")
        assert (again.status, again.said) == (200, {"answer": "already have it"})
        assert serving.stop()[0] == 0
    finally:
        if serving.process.poll() is None:
            serving.kill()
    assert all(request.startswith((url, "data:")) for request in tab.requests)
    assert tab.complaints == []
    (sealed,) = landing(folder, scheme.digest).glob("*.parquet")
    made = [wire.read_report(report.encode(), scheme) for report in sent]
    assert dp.aggregate(scheme, wire.read_reports(sealed, scheme)).equals(dp.aggregate(scheme, batch_of(made)))


COUNTED = """
name = "counted"
[attributes.income]
type = "categorical"
bins = [20000, 50000]
unit = "USD"
epsilon = 1
[attributes.hours]
type = "numeric"
lower = 0
upper = 80
missing = "category"
epsilon = 1
[attributes.children]
type = "numeric"
lower = 0
upper = 12
step = 1
missing = "category"
codes = { "no answer" = "missing" }
epsilon = 1
"""


def test_a_number_may_be_one_of_few_or_in_a_range_and_may_be_left_empty(
    site: Path, tab: chromium.Tab, screenshots: Path
) -> None:
    shutil.rmtree(site / "bundle")
    wire.write_bundle(site / "bundle", Scheme.from_toml(COUNTED))
    with serving(site) as (url, posted):
        tab.open(f"{url}consent.html", 390)
        tab.evaluate(READY)
        assert "3 ranges: below 20,000; 20,000 to below 50,000; 50,000 and above." in text(tab, "income-gives")
        tab.screenshot(screenshots / "survey_numbers.png")
        assert "0 to 80 counts as the nearer end. Leave it empty if you would rather not say" in text(
            tab, "hours-gives"
        )
        assert "nearest of 13 values. Leave it empty if you would rather not say" in text(tab, "children-gives")
        for said, shown in (("", "–"), ("no answer", "no answer"), ("3", "3")):
            tab.evaluate(
                FILL % json.dumps({"income": "41,000", "hours": said.replace("no answer", ""), "children": said})
            )
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            lines = text(tab, "lines").split("\n")
            assert (lines[2], lines[12].lower()) == ("41,000 USD", shown)
            assert any(range_ in lines[4] for range_ in ("below 20000", "20000 to below 50000", "50000 and above"))
            tab.evaluate("document.getElementById('back').click()")
        assert posted == []


IN_CLEAR = """
[labels.region]
categories = ["North", "South", "West"]
codes = { 3 = "West" }
[labels.app_version]
categories = ["1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "3.0", "3.1", "3.2"]
missing = "category"
"""


def test_what_is_sent_in_clear_is_named_before_anything_is_sent(
    site: Path, root: Path, tab: chromium.Tab, screenshots: Path
) -> None:
    scheme = Scheme.from_toml((root / "data/schemes/consumer_expenditure.toml").read_text("utf-8") + IN_CLEAR)
    shutil.rmtree(site / "bundle")
    wire.write_bundle(site / "bundle", scheme)
    with serving(site) as (url, posted):
        for width in (1000, 390):
            tab.open(f"{url}consent.html", width)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert text(tab, "promise-title") == "Your answers stay on this device, except region and app version"
            assert text(tab, "clear-title") == "Not hidden: region and app version"
            assert "the receiver of the report can read them" in text(tab, "clear-why")
            assert "may identify your report" in text(tab, "clear-risk")
            assert text(tab, "region-gives") == "Not hidden: this is sent as you answer it."
            assert "and knows your region and app version can guess which of two" in text(tab, "means")
            assert tab.evaluate(FITS)
            tab.evaluate(FILL % json.dumps(ANSWERS))
            tab.evaluate("document.getElementById('prepare').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert "not answered yet" in text(tab, "region-wrong")
            tab.evaluate(FILL % json.dumps({"region": "West", "app_version": "3.1"}))
            tab.screenshot(screenshots / f"labels_{width}_form.png")
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            assert not tab.evaluate("document.getElementById('clear').checkVisibility()")
            assert text(tab, "unprotected").startswith("But region and app version are sent exactly as you answered")
            shown = text(tab, "lines").split("\n")
            assert shown[shown.index("region") :] == [
                *("region", "Stays here", "Nothing", "Is sent, not hidden", "“West”"),
                *("app version", "Stays here", "Nothing", "Is sent, not hidden", "“3.1”"),
            ]
            assert tab.evaluate(FITS)
            tab.screenshot(screenshots / f"labels_{width}_review.png")
        assert posted == []
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        assert "All your answers except region and app version were never sent" in text(tab, "sent")
        report = wire.read_report(posted[0], scheme)
        assert (report.answers["region"], report.answers["app_version"]) == ((0, (2,)), (0, (7,)))
        kept = tab.evaluate(f"localStorage.getItem('ldpflow {scheme.digest} ')")
        assert set(json.loads(kept)) == {"reports", "last", "arrived"}
        assert tab.complaints == []


TOGETHER = """
name = "work"
[attributes.work]
type = "categorical"
column = "job"
categories = ["clerk", "driver", "nurse"]
epsilon = 1
[attributes.work_and_place]
type = "categorical"
of = ["job", "place"]
categories = [["clerk", "driver", "nurse"], ["town", "village"]]
epsilon = 2
[attributes.habits]
type = "categorical"
of = ["smoking", "drinking"]
categories = [["yes", "no"], ["yes", "no"]]
epsilon = 1
[attributes.income_and_age]
type = "numeric"
of = ["income", "age"]
lower = [0, 18]
upper = [200000, 90]
units = ["USD", "years"]
epsilon = 2
"""


def test_two_questions_may_be_answered_together_and_a_column_is_asked_once(
    site: Path, tab: chromium.Tab, screenshots: Path
) -> None:
    scheme = Scheme.from_toml(TOGETHER)
    shutil.rmtree(site / "bundle")
    wire.write_bundle(site / "bundle", scheme)
    with serving(site) as (url, posted):
        for width in (1000, 390):
            tab.open(f"{url}consent.html", width)
            tab.evaluate(READY)
            assert text(tab, "trouble") == ""
            assert "Your answer to “work” above is used here too" in text(tab, "work_and_place-gives")
            assert "One answer is drawn for both together" in text(tab, "habits-gives")
            assert tab.evaluate(FITS)
            tab.evaluate("document.getElementById('prepare').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert "not answered yet" in text(tab, "work-wrong")
            tab.evaluate(FILL % json.dumps({"work": "nurse", "habits-1": "no", "habits-2": "yes"}))
            tab.evaluate("document.getElementById('prepare').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert "not answered yet" in text(tab, "work_and_place-2-wrong")
            assert "0 to 200,000 counts as the nearer end" in text(tab, "income_and_age-1-gives")
            tab.evaluate(FILL % json.dumps({"income_and_age-1": "41,000", "income_and_age-2": "about 30"}))
            tab.screenshot(screenshots / f"together_{width}_form.png")
            tab.evaluate(FILL % json.dumps({"work_and_place-2": "village"}))
            tab.evaluate("document.getElementById('prepare').click()")
            tab.evaluate("new Promise(done => setTimeout(done, 300))")
            assert "Please write a number" in text(tab, "income_and_age-2-wrong")
            tab.evaluate(FILL % json.dumps({"income_and_age-2": "31"}))
            tab.evaluate("document.getElementById('prepare').click()")
            wait(tab, "review")
            shown = text(tab, "lines").split("\n")
            assert shown[shown.index("work and place") + 2] == "nurse; village"
            assert shown[shown.index("habits") + 2] == "no; yes"
            assert shown[shown.index("income and age") + 2] == "41,000 USD; 31 years"
            assert shown[shown.index("income and age") + 4].startswith(
                tuple(f"Of the {what}, cell " for what in ("place", "product", "first", "second"))
            )
            assert tab.evaluate(FITS)
            tab.screenshot(screenshots / f"together_{width}_review.png")
        tab.evaluate("document.getElementById('send').click()")
        wait(tab, "sent")
        assert set(wire.read_report(posted[0], scheme).answers) == {
            "work",
            "work_and_place",
            "habits",
            "income_and_age",
        }
        assert tab.complaints == []
