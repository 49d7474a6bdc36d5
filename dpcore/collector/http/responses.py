"""The models of a collector's response bodies, as its OpenAPI documents them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, computed_field

from dpcore.collector.store.intake import UNREADABLE
from dpcore.wire import REASONS
from dpcore.wire.inbox import LATE, SECOND

Reason = Literal[(*REASONS, UNREADABLE, SECOND, LATE)]  # type: ignore[valid-type]
DIGEST = "^[0-9a-f]{64}$"
_AGAIN = "Do not send it again: it would be refused again."
DETAILS = {  # meaning of each reason, and what to do; never quotes the request
    "too_large": "Longer than one report of the scheme. Send several reports to /schemes/REF/batches, one a line, of "
    "at most `longest_batch` bytes together, which /schemes lists.",
    "not_json": "Not a JSON object in UTF-8. Send one report to /schemes/REF/reports, several to /schemes/REF/batches.",
    "unknown_key": f"A key that no report has. {_AGAIN}",
    "missing_key": f"A key of reports is missing. {_AGAIN}",
    "wrong_type": f"A value of another type than reports have. {_AGAIN}",
    "unknown_format": "Another version of reports. Update the client or the collector.",
    "wrong_scheme": "Made under another scheme. Send it to the path of that scheme, or fetch the bundle of this one and "
    "make a new report.",
    "malformed_id": "The report's id must be 16 random bytes in base64url without padding.",
    "malformed_token": "The client's token must be 16 bytes in base64url without padding.",
    "malformed_round": "The round must be empty or at most 63 letters, digits and ._:- such as 2026-11-20.",
    "malformed_payload": "An answer must be base64url without padding.",
    "incomplete": "Not the set of attributes that the scheme requires in one report.",
    "wrong_unit": "Not the attribute that the token determines.",
    "wrong_length": "An answer is shorter or longer than its level determines.",
    "unknown_level": "An answer has a level that the mechanism does not have.",
    "wrong_level": "Not the level that the token determines.",
    "out_of_range": "An answer has integers that no client can send.",
    "not_canonical": "Right content in another spelling. Keep the order of keys of the specification, without spaces and "
    "escapes.",
    UNREADABLE: "Not an Arrow stream with the columns of a batch; see the HTTP reference.",
    SECOND: "This client has reported for this round before; its first report is counted.",
    LATE: "The round has been counted; reports for it are not accepted any more.",
    "no such place": "No such path, scheme or file. /schemes lists the schemes.",
    "no such method": "This path does not support this method. The HTTP reference lists the methods of each path.",
    "not understood": "Not a well-formed HTTP request.",
    "a key is needed": "Send a key that the collector knows, as `Authorization: Bearer KEY`.",
    "the key may not do that": "The operator gives rights to keys with `ldpflow key`.",
    "another content type is needed": "One report is application/json; a batch is application/x-ndjson or "
    "application/vnd.apache.arrow.stream; neither is compressed.",
    "another host": "The collector answers for the hosts that `ldpflow serve --name` lists.",
    "too slow": "The body did not arrive in time. Send it again.",
    "too many requests": "Send it again after the seconds that Retry-After states.",
    "busy": "Send it again later, with growing pauses.",
    "the store cannot be written": "Send it again later; the operator's log states why.",
    "internal": "A fault of the collector. Send it again later; the operator's log states why.",
}


class SchemeEntry(BaseModel):
    """A scheme that the collector accepts reports for."""

    name: str = Field(description="The scheme's name, which paths below `schemes` accept as well.")
    digest: str = Field(pattern=DIGEST, description="SHA-256 of its canonical text, which every report names.")
    epsilon: float = Field(description="Privacy loss of one report with all attributes, natural-log units.")
    longest_report: int = Field(description="Maximum length of one report in bytes.")
    longest_batch: int = Field(description="Maximum length of a batch in bytes.")


class Taken(BaseModel):
    """One report has been accepted, now or before."""

    answer: Literal["accepted", "already have it"] = Field(
        description="accepted: the report is on the disk and will be counted once; already have it: it was on the disk "
        "before. A collector that shares a folder answers accepted each time if another collector owns the report."
    )


class Refused(BaseModel):
    """One report, or a batch as a whole, has been refused; only the refusal is counted."""

    answer: Literal["refused"] = "refused"
    reason: Reason = Field(description="The first error.")

    @computed_field(description="What the reason means and what to do.")  # type: ignore[prop-decorator]
    @property
    def detail(self) -> str:
        return DETAILS[self.reason]


class BatchTaken(BaseModel):
    """The outcome of a batch, report by report; if it is sent again, accepted reports count as `already_have`."""

    accepted: int = Field(
        ge=0,
        description="Reports that are on the disk now and were not before, or that another collector of the folder owns.",
    )
    already_have: int = Field(ge=0, description="Reports that were accepted before, or that the batch contains twice.")
    refused: dict[Reason, int] = Field(description="Number of refused reports by the first error of each.")


class Trouble(BaseModel):
    """Nothing was accepted, for a reason that has nothing to do with the report's content."""

    answer: Literal["not taken"] = "not taken"
    reason: Literal[
        "no such place",
        "no such method",
        "not understood",
        "a key is needed",
        "the key may not do that",
        "another content type is needed",
        "another host",
        "too slow",
        "too many requests",
        "busy",
        "the store cannot be written",
        "internal",
    ] = Field(description="Why nothing was accepted.")

    @computed_field(description="What the reason means and what to do.")  # type: ignore[prop-decorator]
    @property
    def detail(self) -> str:
        return DETAILS[self.reason]


class Health(BaseModel):
    """Whether the collector can store reports; `metrics` has their numbers."""

    status: Literal["ok", "failing"] = Field(description="failing: the last attempt to write failed.")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of responses that many paths share."""
    answers: dict[int | str, dict[str, Any]] = {
        400: {"model": Trouble, "description": "The request is not understood."},
        401: {"model": Trouble, "description": "A key is needed: `Authorization: Bearer KEY`."},
        403: {"model": Trouble, "description": "The key may not do that."},
        404: {"model": Trouble, "description": "There is no such scheme or file."},
        408: {"model": Trouble, "description": "The body did not arrive in time; send it again."},
        413: {"model": Refused, "description": "Longer than allowed; the rest was not read."},
        415: {"model": Trouble, "description": "The content type is not one of those documented."},
        421: {"model": Trouble, "description": "The request names a host that this collector does not serve."},
        422: {"model": Refused, "description": "Refused; it would be refused again."},
        429: {"model": Trouble, "description": "Too many requests; wait for the seconds in `Retry-After`."},
        500: {"model": Trouble, "description": "An error of the collector; send it again later."},
        503: {"model": Trouble, "description": "It could not be stored now; send it again later."},
    }
    return {status: answers[status] for status in statuses}


REPORT: dict[str, Any] = {
    "type": "object",
    "required": ["format", "scheme", "report", "round", "answers"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": 1},
        "scheme": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "report": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
        "client": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
        "round": {"type": "string", "pattern": "^([0-9A-Za-z][0-9A-Za-z._:-]{0,62})?$"},
        "answers": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"}},
    },
    "description": "In this order, without spaces, escapes or repeated keys: a report has one spelling.",
}
A_LINE_EACH = {"type": "string", "description": "One report per line, each in the form of a single report."}


AGAIN: dict[int | str, dict[str, Any]] = {200: {"model": Taken, "description": "The report was accepted before."}}


def gives(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entry of a text or binary response with one of these content types."""
    return {200: {"content": {kind: {"schema": {"type": "string"}} for kind in kinds}}}


def takes(content: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI entry of a request body; content: its schema by content type."""
    return {
        "requestBody": {"required": True, "content": {kind: {"schema": schema} for kind, schema in content.items()}}
    }
