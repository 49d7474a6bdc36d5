"""How the free constants of the dyadic wave were chosen: one criterion, minimised for each epsilon.

What is asked of a collection is a density, shares, a mean, and whether there is fine structure.  Near the uniform density the
log density s is normal beforehand and so are its errors: with I the Fisher information of one report and Q the prior's
precision the posterior covariance from n reports is V = (n I + Q)^{-1}.  The criterion is the mean of the logs of four errors,

    the root of E int (f_hat - f)^2,  the root of E int (F_hat - F)^2,  the standard error of the mean,
    the root mean square error of the amplitudes of waves of frequency 8, 12 and 16,

over n = 10^4, 10^5, 10^6 and three priors: s has unit variance and independent m-th differences, m = 1, 2, 3.  No density
enters it.  Run `python -m dpcore.laboratory.studies.design.wave_design` to make the table of `calibration.wave_design` anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log

import numpy as np
import scipy

from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.calibration import wave_design
from dpcore.mechanisms.calibration.wave_design import WaveDesign
from dpcore.mechanisms.numeric.dyadic_wave import DyadicWave
from dpcore.mechanisms.wave_level import Wave
from dpcore.privacy.budget import Budget

_CLIENTS = (1e4, 1e5, 1e6)
_ORDERS = (1, 2, 3)
_FREQUENCIES = (8, 12, 16)
_DEGREE, _LEVEL = 3, 6  # of the log density
_LEAST_SHARE = 0.02  # of the clients, for a level: the law is public, and a level nobody reports shows nothing


@dataclass(frozen=True, eq=False)
class _Questions:
    """Quadratic forms of the log density's coefficients, on the complement of the constants; priors' precisions."""

    splines: np.ndarray  # (points, D), centred
    density: np.ndarray
    distribution: np.ndarray
    mean: np.ndarray
    waves: np.ndarray
    priors: tuple[np.ndarray, ...]


def criterion(design: WaveDesign, epsilon: float) -> float:
    """Return the mean log error of a design at epsilon (natural-log units); lower is better."""
    waves = _waves(design, epsilon)
    law = np.array(design.level_law) / sum(design.level_law)
    return _score([_information(wave) for wave in waves], law)


def search(epsilon: float) -> WaveDesign:
    """Return the design of `wave_design.CELLS` cells and `wave_design.LEVELS` levels that minimises the criterion."""
    cells, levels = wave_design.CELLS, wave_design.LEVELS
    anchor = max(1, wave_design.anchor_half_width(epsilon, cells))
    anchors = sorted({max(0, round(anchor * factor)) for factor in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)})
    circle = cells / (exp(epsilon / 2) + 1)  # a window as wide as subset selection's, of a circle
    finers = sorted({wave_design.half_width_within(circle * factor, cells) for factor in (0.4, 0.6, 0.8, 1.0, 1.2)})
    best, chosen = np.inf, None
    for finer in finers:
        shape = WaveDesign(cells, (1,) * levels, (anchors[0], *[finer] * (levels - 1)))
        fine = [_information(wave) for wave in _waves(shape, epsilon)[1:]]
        for half_width in anchors:
            shape = WaveDesign(cells, (1,) * levels, (half_width, *[finer] * (levels - 1)))
            value, law = _best_law([_information(_waves(shape, epsilon)[0]), *fine])
            if value < best:
                best, chosen = value, WaveDesign(cells, law, shape.half_widths)
    if chosen is None:
        raise ValueError(f"no design at epsilon = {epsilon}")
    return chosen


def _best_law(informations: Sequence[np.ndarray]) -> tuple[float, tuple[int, ...]]:
    levels = len(informations)

    def law(z: np.ndarray) -> np.ndarray:
        shares = np.exp(np.append(0.0, z))
        return _LEAST_SHARE + (1 - levels * _LEAST_SHARE) * shares / shares.sum()

    def value(z: np.ndarray) -> float:
        return _score(informations, law(z))

    solution = scipy.optimize.minimize(
        value,
        np.array([-2.0, -2.5, -3.0][: levels - 1]),
        method="Nelder-Mead",
        options={"xatol": 0.05, "fatol": 1e-4, "maxiter": 120},
    )
    return float(solution.fun), tuple(round(1000 * share) for share in law(solution.x))


def _score(informations: Sequence[np.ndarray], law: np.ndarray) -> float:
    questions = _questions()
    information = np.sum([w * one for w, one in zip(law, informations, strict=True)], axis=0)
    logs = []
    for prior in questions.priors:
        for n in _CLIENTS:
            covariance = np.linalg.inv(n * information + prior)
            squares = [
                np.sum(covariance * form) for form in (questions.density, questions.distribution, questions.waves)
            ]
            squares.append(questions.mean @ covariance @ questions.mean)
            logs += [log(square) / 2 for square in squares]
    return float(np.mean(logs))


def _waves(design: WaveDesign, epsilon: float) -> tuple[Wave, ...]:
    windows = [2 * half_width + 1 for half_width in design.half_widths]
    budget = Budget.parse(f"{epsilon:g}")
    return DyadicWave.design(budget, cells=design.cells, level_law=list(design.level_law), widths=windows).waves


def _information(wave: Wave) -> np.ndarray:
    """The Fisher information of one report of a wave at the uniform density, (D, D)."""
    splines = _questions().splines
    masses = splines.reshape(wave.inputs, -1, splines.shape[1]).sum(axis=1) / len(splines)
    slope = wave.probabilities(masses)
    expected = wave.probabilities(np.full(wave.inputs, 1 / wave.inputs))
    return np.asarray((slope / expected[:, None]).T @ slope)


@lru_cache(maxsize=1)
def _questions() -> _Questions:
    points, size = 1024, bspline.size(_DEGREE, _LEVEL)
    x = (np.arange(points) + 0.5) / points
    splines = bspline.evaluate(x, _DEGREE, _LEVEL)
    complement = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, 1:]]))[0][:, 1:]
    centred = (splines - splines.mean(axis=0)) @ complement
    cumulated = np.cumsum(centred, axis=0) / points
    density = centred.T @ centred / points
    waves = [np.array(wave(2 * np.pi * k * x)) for k in _FREQUENCIES for wave in (np.cos, np.sin)]
    amplitudes = np.array([2 * wave @ centred / points for wave in waves])
    return _Questions(
        centred,
        density,
        cumulated.T @ cumulated / points,
        x @ centred / points,
        amplitudes.T @ amplitudes / len(amplitudes),
        tuple(_prior(order, complement, density) for order in _ORDERS),
    )


def _prior(order: int, complement: np.ndarray, density: np.ndarray) -> np.ndarray:
    """The precision of a log density of independent m-th differences and unit variance, over what they leave free as well."""
    differences = np.diff(np.eye(len(complement)), order, axis=0) @ complement
    values, axes = np.linalg.eigh(differences.T @ differences)
    rough, free = axes[:, order - 1 :], axes[:, : order - 1]
    covariance = rough / values[order - 1 :] @ rough.T
    covariance = covariance / np.sum(covariance * density)
    if order > 1:
        covariance = covariance + free @ free.T / np.sum((free @ free.T) * density)
    return np.linalg.inv(covariance)


def main() -> None:
    """Print the table of `calibration.wave_design`."""
    for epsilon in wave_design.EPSILONS:
        design = search(epsilon)
        print(f"    ({epsilon:g}, {design.half_widths[0]}, {design.half_widths[1]}, {design.level_law}),", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
