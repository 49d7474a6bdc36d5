"""The study of two attributes together: intervals and errors of their numbers, and the size of the test of independence."""

from __future__ import annotations

import pandas as pd

from dpcore._random import seeded
from dpcore.laboratory.studies import runner
from dpcore.laboratory.studies.runner import Cell, seed
from dpcore.laboratory.studies.targets.joint_distributions import joint_laws
from dpcore.pipeline import aggregate, joint, privatize
from dpcore.protocol.scheme import Scheme

OURS = "paired"
CHUNK = 25
_SIZE = 0.05  # of the test


def measure(method: str, cell: Cell, chunk: int, upto: int) -> pd.DataFrame:
    """Return sums of a chunk's rounds: who held, lengths, refusals, squared errors, told and estimate."""
    law = joint_laws()[cell.target]
    scheme = Scheme.from_toml(law.scheme(cell.epsilon, cell.clients))
    truths = {functional: law.truth(functional) for functional in law.asked}
    sums: dict[str, float] = {}

    def add(metric: str, value: float) -> None:
        sums[metric] = sums.get(metric, 0.0) + value

    repetitions = range(chunk * CHUNK, upto)
    for repetition in repetitions:
        people = law.people(cell.clients, seeded(seed(cell, OURS, repetition)).generator())
        batch = privatize(scheme, people, seeded(seed(cell, "reports", repetition)))
        estimate = joint(aggregate(scheme, batch), "x", "y")
        for functional, truth in truths.items():
            result, name = estimate.functional(functional), str(functional)
            add(f"refused:{name}", result.is_refused)
            add(f"shown:{name}", ((result.plug_in or 0.0) - truth) ** 2)
            if result.value is None or result.low is None or result.high is None:
                add(f"held:{name}", 0.0)
                continue
            add(f"held:{name}", result.low <= truth <= result.high)
            add(f"square:{name}", (result.value - truth) ** 2)
            add(f"length:{name}", result.high - result.low)
            add(f"told:{name}", (result.standard_error or 0.0) ** 2)
        if law.is_independent:
            tests = [estimate.independence(), *([estimate.trend()] if estimate.first.numbers is not None else [])]
            for test in tests:
                add(f"rejected:{test.name}", test.p_value < _SIZE)
    return runner.rows(method, cell, chunk, len(repetitions), sums)
