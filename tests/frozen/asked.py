"""What the flows ask Prefect for, frozen: names, limits, retries, forms, and what its server does by itself about runs."""

from __future__ import annotations

import json
from typing import Any

from tests.frozen import behaviour


def flows() -> behaviour.Document:
    """Every flow and task as it is declared, and every automation."""
    # Prefect takes a second to import, and quick tests that need none read this file, too.
    from ldpflow_flows.services import deployments
    from tests.helpers.flow_cases import FLOWS, TASKS

    tasks = [
        [
            made.name,
            str(made.task_run_name),
            str(made.timeout_seconds),
            made.retries,
            str(made.retry_delay_seconds),
            made.retry_jitter_factor,
            sorted(made.tags),
        ]
        for made in sorted(TASKS, key=lambda made: str(made.name))
    ]
    whole = sorted(FLOWS, key=lambda made: str(made.name))
    forms = [
        [made.name, " ".join((definition, key)), *_told(told)]
        for made in whole
        for definition, schema in made.parameters.model_dump()["definitions"].items()
        for key, told in schema["properties"].items()
    ]
    for made in whole:
        forms += [[made.name, key, *_told(told)] for key, told in made.parameters.model_dump()["properties"].items()]
    return {
        "tasks": behaviour.section(["task", "run", "seconds", "retries", "delays", "jitter", "tags"], tasks),
        "flows": behaviour.section(
            ["flow", "seconds", "threads"], [[made.name, str(made.timeout_seconds), _threads(made)] for made in whole]
        ),
        "forms": behaviour.section(["flow", "field", "says"], forms),
        "automations": behaviour.section(
            ["automation", "is"],
            [[core.name, json.dumps(_ordered(core.model_dump(mode="json")))] for core in deployments.automations()],
        ),
        "constants": behaviour.section(["events", "taken"], [[deployments.HEARTBEAT, deployments.BEGUN]]),
    }


def _threads(made: Any) -> int:
    return int(made.task_runner._max_workers)


def _told(field: dict[str, Any]) -> list[str]:
    text = json.dumps({key: value for key, value in field.items() if key != "position"}, sort_keys=True)
    return [text.replace(str(behaviour.ROOT), "ROOT")]


def _ordered(value: Any) -> Any:
    """The same with what was a set in order, and without what is drawn anew."""
    if isinstance(value, dict):
        return {key: _ordered(part) for key, part in value.items() if key != "id"}
    return sorted(map(_ordered, value), key=str) if isinstance(value, list) else value
