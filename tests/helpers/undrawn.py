"""Rounds whose pictures nobody looks at, which are most of a small round's time: whole but for that step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpcore.rounds import preparing, sequence
from dpcore.rounds.run import Run
from tests.helpers import warehouses


class Undrawn(sequence.Here):
    """Hands of this process that draw nothing."""

    def one(self, step: sequence.Work, run: Run, *given: Any) -> Any:
        return {} if step.__name__ == "draw" else super().one(step, run, *given)


def run(scheme: Path, **given: Any) -> Run:
    """Carry a round out as `ldpflow run` does and return it; given: what `preparing.prepare` takes."""
    made = preparing.prepare(scheme, **given)
    warehouses.put(Path(made.plan.warehouse))
    sequence.carry_out(made, Undrawn())
    return made
