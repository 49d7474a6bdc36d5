"""How a webhook is told, what it may answer, and that its address is shown nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from dpcore.errors import SchemeError
from dpcore.rounds.project import Project
from ldpflow_flows.monitoring import webhook
from ldpflow_flows.monitoring.webhook import Answer, Message, Webhook
from tests.helpers.ports import free_port
from tests.helpers.services import receiver

BODY = {
    "text": "ldpflow: round x: Failed. No file. http://127.0.0.1:4200/runs/flow-run/1",
    "flow": "round",
    "run": "x",
    "state": "Failed",
    "message": "No file.",
    "url": "http://127.0.0.1:4200/runs/flow-run/1",
}
MESSAGE = Message("1/Failed/2", BODY)


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (webhook.URL, webhook.SHAPE):
        monkeypatch.delenv(name, raising=False)


def test_a_message_is_posted_with_its_key_and_taken_with_2xx() -> None:
    with receiver() as (url, sent):
        assert Webhook(url, "json").send(MESSAGE) == Answer()
    assert sent == [BODY]
    assert sent.keys == [MESSAGE.key]


@pytest.mark.parametrize(
    ("status", "headers", "wanted"),
    [
        (500, {}, Answer("answered 500")),
        (503, {"Retry-After": "40"}, Answer("answered 503", 40.0)),
        (503, {"Retry-After": "Mon, 23 Nov 2026 02:15:00 GMT"}, Answer("answered 503")),
        (429, {"Retry-After": "7"}, Answer("answered 429", 7.0)),
        (404, {}, Answer("answered 404", is_its_own=True)),
        (301, {"Location": "http://127.0.0.1:9/"}, Answer("answered 301")),
        (204, {}, Answer()),
    ],
)
def test_what_it_answers(status: int, headers: dict[str, str], wanted: Answer) -> None:
    with receiver(answer=lambda _: (status, headers)) as (url, _):
        assert Webhook(url, "json").send(MESSAGE) == wanted


def test_one_that_does_not_answer_is_told_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Webhook(f"http://127.0.0.1:{free_port()}/hooks/SECRET", "json")
    answer = secret.send(MESSAGE)
    assert answer == Answer("did not answer (ConnectError)")
    assert "SECRET" not in repr(secret)
    monkeypatch.setattr(webhook, "_ANSWER_PATIENCE", 0.2)
    with receiver(seconds=1.0) as (url, _):
        assert Webhook(url, "json").send(MESSAGE) == Answer("did not answer (ReadTimeout)")


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("https://hooks.slack.com/services/T/B/K", "slack"),
        ("https://firm.webhook.office.com/webhookb2/1", "teams"),
        ("https://prod-1.westeurope.logic.azure.com/workflows/1", "teams"),
        ("https://chat.example.org/hooks/KEY", "json"),
        ("https://nothooks.slack.com.example.org/", "json"),
    ],
)
def test_its_shape_is_known_by_its_host_unless_somebody_says_it(
    url: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Webhook.configured(Project(notify=url)) == Webhook(url, shape)
    assert Webhook.configured(Project(notify=url, notify_as="teams")) == Webhook(url, "teams")
    monkeypatch.setenv(webhook.SHAPE, "slack")
    assert Webhook.configured(Project(notify=url, notify_as="teams")) == Webhook(url, "slack")
    monkeypatch.setenv(webhook.URL, "http://127.0.0.1/other")
    assert Webhook.configured(Project(notify=url)) == Webhook("http://127.0.0.1/other", "slack")


def test_nobody_is_told_unless_somebody_is_named_and_bad_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Webhook.configured(None) is None
    assert Webhook.configured(Project()) is None
    monkeypatch.setenv(webhook.URL, "chat.example.org/SECRET")
    with pytest.raises(SchemeError, match=r"must be a URL that begins with http:// or https://$"):
        Webhook.configured(None)
    monkeypatch.setenv(webhook.URL, "http://127.0.0.1/")
    monkeypatch.setenv(webhook.SHAPE, "mail")
    with pytest.raises(SchemeError, match="LDPFLOW_NOTIFY_AS must be one of json, slack, teams, got 'mail'"):
        Webhook.configured(None)


def test_what_each_shape_is() -> None:
    assert webhook.shaped(BODY, "json") == BODY
    assert webhook.shaped(BODY, "slack") == {"text": BODY["text"]}
    card: dict[str, Any] = webhook.shaped(BODY, "teams")["attachments"][0]["content"]
    assert card["body"][0]["text"] == "ldpflow: round x: Failed. No file."
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open in Prefect", "url": BODY["url"]}]
