"""Rounds whose pictures nobody looks at, which are most of a small round's time: whole but for that step."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from dpcore.rounds.run import Run
from dpcore.rounds.steps import preparation, sequence
from tests.helpers import warehouses


class Undrawn(sequence.Here):
    """Hands of this process that draw nothing."""

    def one(self, step: sequence.Work, run: Run, *given: Any) -> Any:
        return [] if step.__name__ == "draw" else super().one(step, run, *given)


class Alike(Undrawn):
    """Estimate the first round, and land its estimates under the name of every later round of the same scheme."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Run | None = None

    def one(self, step: sequence.Work, run: Run, *given: Any) -> Any:
        if step.__name__ != "estimate":
            return super().one(step, run, *given)
        if self._first is None:
            self._first = run
            return super().one(step, run, *given)
        shutil.copytree(self._first.tables_folder, run.tables_folder, dirs_exist_ok=True)
        groups = run.tables_folder / "comparisons.parquet"
        pd.read_parquet(groups).assign(other_run_id=run.plan.run_id).to_parquet(groups)
        return run.tables_folder


def run(scheme: Path, hands: Undrawn | None = None, **given: Any) -> Run:
    """Carry a round out as `ldpflow run` does and return it; given: what `preparation.prepare` takes."""
    made = preparation.prepare(scheme, **given)
    warehouses.put(Path(made.plan.warehouse))
    sequence.carry_out(made, hands or Undrawn())
    return made
