"""Clients per second: bulk privatization beside PCG64's draws, and beside what the peers' packages take for the same.

Our clients come in the pipeline's blocks of 65,536, and so do the draws.  The noise of `wavelet_laplace`, as simulation draws
it and as clients do, exactly, is compared with numpy's geometric draws of the same scale; from secure words, with the vector
calls of opendp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpcore._random import Source, secure, seeded
from dpcore.laboratory.studies.speed.peers import VECTOR, Peers
from dpcore.laboratory.studies.speed.table import BASELINE, rate, row
from dpcore.mechanisms import (
    DyadicWave,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    _kernels,
)
from dpcore.mechanisms.noise.discrete_laplace import simulate_sums
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.privacy.budget import Budget
from dpcore.protocol.records.blocks import BLOCK

NAMES = ("randomized_response", "hadamard_response", "square_wave", "dyadic_wave")  # what is compared with draws
PEERED, WAVES = NAMES[:2], NAMES[2:]  # of these, what a peer has; what is for numbers
COUNTED = (*NAMES, "subset_selection", "unary_encoding", "local_hashing")  # every finite channel
CATEGORIES = 64
PLANNED = 1_000_000  # clients, by which the wavelets' levels are chosen
RATE, DRAWS, NOISE = "clients_per_second", "to_pcg64", "coordinates_per_second"
GEOMETRIC, PEER, OPENDP = "to_geometric", "to_fastest_peer", "to_opendp"
COMPILED, NUMPY, SECURE, SIMULATED = "compiled", "numpy", "secure", "simulated"


def mechanisms() -> dict[str, Mechanism]:
    """Return every finite channel, at epsilon 1, by name."""
    budget = Budget.parse("1")
    kinds = (
        RandomizedResponse.design(budget, categories=CATEGORIES),
        HadamardResponse.design(budget, categories=CATEGORIES),
        SquareWave.design(budget),
        DyadicWave.design(budget),
        SubsetSelection.design(budget, categories=CATEGORIES),
        UnaryEncoding.design(budget, categories=CATEGORIES),
        LocalHashing.design(budget, categories=CATEGORIES),
    )
    return dict(zip(COUNTED, kinds, strict=True))


def paths() -> tuple[str, ...]:
    """Return the paths of bulk privatization that this machine has: compiled where numba is installed, and numpy."""
    return (COMPILED, NUMPY) if _kernels.is_installed() else (NUMPY,)


def measured(repetitions: int, peers: Peers | None) -> Iterator[pd.DataFrame]:
    """Yield rows, mechanism by mechanism; peers: started, or None where they are not installed."""
    generator = np.random.Generator(np.random.PCG64(1))
    draws = partial(generator.integers, 0, 2**64, size=BLOCK, dtype=np.uint64)
    base: list[float] = []
    kinds = mechanisms()
    for name in NAMES:
        yield _one(name, kinds[name], repetitions, draws, base, peers)
    yield pd.DataFrame([row("pcg64", "draws_per_second", base, epsilon=BASELINE)])
    yield _noise(repetitions, peers)
    if peers is not None:
        yield pd.DataFrame(
            [
                row(f"peer:{name}", "imports", [float(not fault)], epsilon=BASELINE)
                for name, fault in peers.faults.items()
            ]
        )


def _one(
    name: str,
    mechanism: Mechanism,
    repetitions: int,
    draws: Callable[[], Any],
    base: list[float],
    peers: Peers | None,
) -> pd.DataFrame:
    values = np.random.default_rng(2).integers(0, mechanism.inputs, BLOCK)
    target = f"k={CATEGORIES}" if name in PEERED else ""
    measured: dict[tuple[str, str, str], list[float]] = {}

    def add(method: str, parameters: str, metric: str, value: float) -> None:
        measured.setdefault((method, parameters, metric), []).append(value)

    for path in paths():
        _rate(mechanism, values, path)  # what is made once is made now
    for _ in range(repetitions):
        beside = peers.rates(name, CATEGORIES) if peers is not None else {}
        for peer, peer_rate in beside.items():
            add(f"peer:{peer}", name, RATE, peer_rate)
        for path in paths():
            base.append(rate(draws, BLOCK))
            ours = _rate(mechanism, values, path)
            add(name, path, RATE, ours)
            add(name, path, DRAWS, ours / base[-1])
            if beside:
                add(name, path, PEER, ours / max(beside.values()))
    return _rows(measured, target)


def _rate(mechanism: Mechanism, values: np.ndarray, path: str, source: Callable[[], Source] | None = None) -> float:
    random = seeded(3) if source is None else source()
    with _kernels.compiled(path == COMPILED):
        return rate(lambda: mechanism.privatize(values, random), len(values))


def _noise(repetitions: int, peers: Peers | None) -> pd.DataFrame:
    """Noise coordinates of `wavelet_laplace` per second, simulated and by a real data holder."""
    mechanism = WaveletLaplace.design(Budget.parse("1"), clients=PLANNED)
    values = np.random.default_rng(2).integers(0, mechanism.inputs, BLOCK)
    coordinates = len(mechanism.privatize(values, seeded(3)).values) / BLOCK  # coordinates in a report, on average
    scale = max(mechanism.noise_scales)
    generator, random = np.random.Generator(np.random.PCG64(1)), seeded(4)
    measured: dict[tuple[str, str, str], list[float]] = {}
    sources: dict[str, Callable[[], Source]] = {"": partial(seeded, 3), SECURE: secure}
    for _ in range(repetitions):
        geometric = rate(partial(generator.geometric, -np.expm1(-1 / scale), BLOCK), BLOCK)
        simulated = rate(partial(simulate_sums, 1, scale, BLOCK, random), BLOCK)
        measured.setdefault((mechanism.name, SIMULATED, NOISE), []).append(simulated)
        measured.setdefault((mechanism.name, SIMULATED, GEOMETRIC), []).append(simulated / geometric)
        opendp = peers.rates(VECTOR, BLOCK) if peers is not None else {}
        for peer, peer_rate in opendp.items():
            measured.setdefault((f"peer:{peer}", "", NOISE), []).append(peer_rate)
        for path in paths():
            for name, source in sources.items():
                ours = coordinates * _rate(mechanism, values, path, source)
                parameters = f"{path} {name}".strip()
                measured.setdefault((mechanism.name, parameters, NOISE), []).append(ours)
                if name == SECURE and opendp:
                    measured.setdefault((mechanism.name, parameters, OPENDP), []).append(ours / max(opendp.values()))
                elif name != SECURE:
                    measured.setdefault((mechanism.name, parameters, GEOMETRIC), []).append(ours / geometric)
        measured.setdefault(("geometric", "", NOISE), []).append(geometric)
    return _rows(measured, "noise")


def _rows(measured: dict[tuple[str, str, str], list[float]], target: str) -> pd.DataFrame:
    return pd.DataFrame(
        [
            row(method, metric, values, parameters=parameters, target=target, clients=BLOCK)
            for (method, parameters, metric), values in measured.items()
        ]
    )
