"""Every path of the collector with its bodies and answers, of its OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from dpcore.collector.http import service
from tests.programs.reference import markdown

_BEFORE = """A collector serves the same at `/openapi.json`. [The collector's page](../../../dpcore/collector/README.md)
describes keys, limits, and what a client does after each answer. REF is a scheme's name or its digest."""


def page() -> str:
    """Return the page."""
    app = FastAPI(title="ldpflow collector")
    app.include_router(service._router)
    document = app.openapi()
    paths = [(verb.upper(), path, told) for path, verbs in document["paths"].items() for verb, told in verbs.items()]
    answers: dict[str, dict[str, None]] = {}
    parts = [_BEFORE]
    for verb, path, told in paths:
        good = {status: one for status, one in told["responses"].items() if status < "300"}
        gives = "; ".join(f"{status} {_bodies(one)}" for status, one in sorted(good.items()))
        bad = sorted(status for status, one in told["responses"].items() if status not in good and one != _OF_FASTAPI)
        for status in bad:
            one = told["responses"][status]
            answers.setdefault(status, {})[f"{one['description']} {_bodies(one)}"] = None
        parts += [f"## {verb} {_said(path)}", str(told.get("description", "")), *_body(told)]
        parts += [f"Gives {gives}. Otherwise {', '.join(bad)}."]
    rows = [(status, " Or: ".join(said)) for status, said in sorted(answers.items())]
    parts += ["## Other answers", markdown.table(("status", "what, and the body"), rows), "## Bodies"]
    for name, model in document["components"]["schemas"].items():
        if model.get("properties") and name not in ("HTTPValidationError", "ValidationError"):
            rows = [
                (f"`{field}`", _kind(each), each.get("description", "")) for field, each in model["properties"].items()
            ]
            parts += [f"### {name}", model.get("description", ""), markdown.table(("field", "is", "what"), rows)]
    return markdown.page("HTTP", *parts)


def _said(path: str) -> str:
    return path.replace("{ref}", "REF").replace("{file}", "FILE")


_OF_FASTAPI = {
    "description": "Validation Error",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/HTTPValidationError"}}},
}  # which no collector answers


def _body(told: dict[str, Any]) -> list[str]:
    content = told.get("requestBody", {}).get("content", {})
    if not content:
        return []
    rows = []
    for kind, one in content.items():
        fields = ", ".join(f"`{name}`" for name in one["schema"].get("properties", {}))
        rows.append((f"`{kind}`", ". ".join(filter(None, (fields, one["schema"].get("description", ""))))))
    return [markdown.table(("sent as", "what"), rows)]


def _bodies(one: dict[str, Any]) -> str:
    said = []
    for kind, each in one.get("content", {}).items():
        schema = each["schema"]
        name = schema.get("$ref") or schema.get("items", {}).get("$ref")
        model = name.rpartition("/")[2] if name else ""
        many = "a list of " if "items" in schema else ""
        said.append(f"{many}[{model}](#{model.lower()})" if model else f"`{kind}`")
    return ", ".join(said)


def _kind(field: dict[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    return {"string": "a text", "integer": "a whole number", "number": "a number", "object": "a number of each reason"}[
        field["type"]
    ]
