"""The webhook that receives alerts: its address, its message format, and its answers.

LDPFLOW_NOTIFY_URL, or `notify` in the project's file: the address, which is a secret and never shown.  LDPFLOW_NOTIFY_AS, or
`notify_as`: the format, `json`, `slack` or `teams`; by default determined by the host.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dpcore.errors import SchemeError
from dpcore.rounds.project import SHAPES, Project

from .message_queue import Message

URL, SHAPE = "LDPFLOW_NOTIFY_URL", "LDPFLOW_NOTIFY_AS"
_PATIENCE = 30.0  # seconds
_TOO_MUCH = 429
_HOSTS = {"hooks.slack.com": "slack", "webhook.office.com": "teams", "logic.azure.com": "teams"}
_CARD = "http://adaptivecards.io/schemas/adaptive-card.json"


@dataclass(frozen=True)
class Answer:
    """The result of sending a message.  refused: the reason, '' if it was delivered; pause: requested seconds."""

    refused: str = ""
    pause: float = 0.0
    is_its_own: bool = False  # whether only this message is refused


@dataclass(frozen=True)
class Webhook:
    """An address and its format: 'json', 'slack' or 'teams'."""

    url: str = field(repr=False)
    shape: str

    @classmethod
    def configured(cls, project: Project | None) -> Webhook | None:
        """Return the configured webhook, None without one.  Raises SchemeError for an invalid address or format."""
        url = os.environ.get(URL) or (project and project.notify)
        if not url:
            return None
        if not url.startswith(("http://", "https://")):
            raise SchemeError(f"{URL} must be a URL that begins with http:// or https://")
        host = urlsplit(url).hostname or ""
        shapes = (shape for name, shape in _HOSTS.items() if host == name or host.endswith(f".{name}"))
        shape = os.environ.get(SHAPE) or (project and project.notify_as) or next(shapes, "json")
        if shape not in SHAPES:
            raise SchemeError(f"{SHAPE} must be one of {', '.join(SHAPES)}, got {shape!r}")
        return cls(url, shape)

    @property
    def host(self) -> str:
        """Its host, which may be shown; the rest of the address is a secret."""
        return urlsplit(self.url).hostname or ""

    def send(self, message: Message) -> Answer:
        """Send a message and return the result; redirections are not followed."""
        import httpx

        headers = {"Idempotency-Key": message.key}
        try:
            answer = httpx.post(self.url, json=shaped(message.body, self.shape), headers=headers, timeout=_PATIENCE)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Answer(f"did not answer ({type(error).__name__})")  # the error's own text contains the address
        if answer.is_success:
            return Answer()
        pause = answer.headers.get("Retry-After", "")
        return Answer(
            f"answered {answer.status_code}",
            float(pause) if pause.isdigit() else 0.0,
            is_its_own=answer.is_client_error and answer.status_code != _TOO_MUCH,
        )


def shaped(body: Mapping[str, str], shape: str) -> dict[str, Any]:
    """Return a message in the webhook's format: unchanged, or for Slack's incoming webhooks or Teams' workflows."""
    if shape == "slack":
        return {"text": body["text"]}
    if shape == "teams":
        text = {"type": "TextBlock", "text": body["text"].removesuffix(body["url"]).strip(), "wrap": True}
        link = {"type": "Action.OpenUrl", "title": "Open in Prefect", "url": body["url"]}
        card = {"$schema": _CARD, "type": "AdaptiveCard", "version": "1.4", "body": [text], "actions": [link]}
        return {
            "type": "message",
            "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
        }
    return dict(body)
