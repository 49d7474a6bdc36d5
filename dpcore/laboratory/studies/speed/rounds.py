"""How rounds' time grows with their clients: drawn from the law, where it should not, and report by report, where it is linear.

Seconds of a simulation and an estimate are the clock's: what else the machine does counts.  All else is of processor time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from dpcore import pipeline, populations
from dpcore._random import seeded
from dpcore.laboratory.studies.aims.accuracy import METHOD
from dpcore.laboratory.studies.contestants import ATTRIBUTE, contestants
from dpcore.laboratory.studies.speed.table import EPSILON, row, seconds
from dpcore.laboratory.studies.targets.densities import target
from dpcore.populations import Population
from dpcore.protocol.records.blocks import BLOCK, block_sizes
from dpcore.protocol.scheme import Scheme

TARGETS = ("beta_2_5", "claw", "lognormal")  # smooth, fine, and with an atom
FEW, MANY = 100_000, 1_000_000_000
SIMULATE, ESTIMATE, TOGETHER = "simulate_seconds", "estimate_seconds", "together_ratio"
ALONE, SLOPE, SECONDS = "simulate_ratio", "slope", "processor_seconds"
COLLECT = "collect"
SMALL = "two_questions"
ENOUGH = 10_000_000  # clients for one measurement
SIZES, FULL = (1_000_000, 3_000_000, 10_000_000), (1_000_000, 10_000_000, 100_000_000)
KERNEL_BLOCKS = 16  # blocks of 65,536 by which the kernels' time is measured
# Two of the questions of `consumer_expenditure`, whose people answer them: a byte or so a report.
SMALL_SCHEME = """\
name = "consumer_expenditure"
clients = 1_000_000
functionals = ["mean"]
[attributes.race]
type = "categorical"
categories = ["white", "black", "native american", "asian", "pacific islander", "multi-race"]
mechanism = "randomized_response"
epsilon = 1
functionals = []
[attributes.expenditure]
type = "numeric"
lower = 0
upper = 50_000
mechanism = "dyadic_wave"
epsilon = 1
"""


def measured(scheme: Path, repetitions: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of simulations and estimates at few and at many clients; scheme: one whose people can be simulated."""
    for name in TARGETS:
        _once(name, FEW, 0), _once(name, MANY, 0)  # tables that are made once are made now
        times = np.array([[_once(name, n, 1 + i) for n in (FEW, MANY)] for i in range(repetitions)])
        make = partial(row, METHOD, target=name)
        rows = [make(TOGETHER, times[:, 1, 2] / times[:, 0, 2], clients=MANY)]
        for column, n in enumerate((FEW, MANY)):
            rows += [make(metric, times[:, column, k], clients=n) for k, metric in enumerate((SIMULATE, ESTIMATE))]
        yield pd.DataFrame(rows)
    yield _simulated(Scheme.from_toml(scheme), repetitions)


def _simulated(scheme: Scheme, repetitions: int) -> pd.DataFrame:
    """Drawing the aggregate of a whole scheme from its law."""
    people = populations.by_scheme(scheme.name)

    def once(n: int, repetition: int) -> float:
        return seconds(lambda: pipeline.simulate(scheme, people, seeded((n, repetition)), n))

    once(FEW, 0), once(MANY, 0)
    times = np.array([[once(n, 1 + i) for n in (FEW, MANY)] for i in range(repetitions)])
    make = partial(row, "simulate", target=scheme.name, epsilon=scheme.epsilon)
    rows = [make(SECONDS, times[:, column], clients=n) for column, n in enumerate((FEW, MANY))]
    return pd.DataFrame([*rows, make(ALONE, times[:, 1] / times[:, 0], clients=MANY)])


def scaled(repetitions: int, sizes: tuple[int, ...]) -> Iterator[pd.DataFrame]:
    """Yield rows of people, reports and aggregates of so many clients in memory, and how their time grows."""
    scheme = Scheme.from_toml(SMALL_SCHEME)
    people = populations.by_scheme(scheme.name)

    def once(n: int) -> float:
        """Seconds of one round, the mean of as many as make ten million clients: a short one depends on the machine's momentary
        load."""
        rounds = max(1, ENOUGH // n)
        spent = (seconds(lambda: pipeline.collect(scheme, people, n, seeded(7), workers=1)) for _ in range(rounds))
        return sum(spent) / rounds

    once(BLOCK)
    times = np.array([[once(n) for n in sizes] for _ in range(repetitions)])
    slopes = np.polyfit(np.log(sizes), np.log(times).T, 1)[0]
    make = partial(row, COLLECT, target=SMALL, epsilon=scheme.epsilon)
    rows = [make(SECONDS, times[:, column], clients=n) for column, n in enumerate(sizes)]
    yield pd.DataFrame([*rows, make(SLOPE, slopes, clients=sizes[-1])])


def kernel_seconds(scheme: Scheme, people: Population, clients: int) -> float:
    """Return the processor seconds that making so many people and privatizing their cells takes, and nothing around it.

    Measured on sixteen blocks, fewer where there are fewer clients.
    """
    blocks = min(KERNEL_BLOCKS, len(block_sizes(clients)))
    random, spent = seeded(7), 0.0
    for block in range(blocks + 1):
        begun = process_time()
        records = people.records_block(block, BLOCK, random)
        creation = process_time() - begun
        cells = scheme.encode(records)
        begun = process_time()
        for index, (name, attribute) in enumerate(scheme.attributes.items()):
            attribute.mechanism.privatize(cells[name], random.spawn(index, block))
        if block:  # in the first one tables are made
            spent += creation + process_time() - begun
    return spent * clients / (blocks * BLOCK)


def _once(name: str, n: int, repetition: int) -> tuple[float, float, float]:
    """Seconds of one simulation and of its estimate, and the processor's of both."""
    ours = next(candidate for candidate in contestants() if candidate.name == METHOD)
    scheme, people = ours.scheme(n, EPSILON), target(name)
    start, processor = perf_counter(), process_time()
    aggregate = pipeline.simulate(scheme, people, seeded((n, repetition)), n)
    middle = perf_counter()
    pipeline.estimate(aggregate, ATTRIBUTE)
    return middle - start, perf_counter() - middle, process_time() - processor
