"""Bands over whole rounds: how often they hold a law, at a point or all of it at once, and how long they are.

`python -m tests.estimation.inference.test_confidence_bands_coverage ROUNDS CLIENTS@EPSILON...` prints a line for each law: of
bands that hold whatever the law, of bands of densities as smooth as is truly assumed, and of the pointwise ones that reports
alone give.  With `any_law` before them it looks at the first alone, which needs no fit and takes a tenth of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore._random import seeded
from dpcore.estimation.density.densities import Spline
from dpcore.estimation.density.likelihood import Counts
from dpcore.estimation.inference import distribution_free
from dpcore.estimation.inference.bounded_curvature import Assumed
from dpcore.functionals import parse
from dpcore.laboratory.studies.targets.densities import Target, target
from tests.estimation.inference.test_bounded_curvature import bend, known

AT = np.linspace(0.0, 1.0, 201)
NUMBERS = ("mean", "cdf(0.31)", "quantile(0.5)")
_FLAT = 10.0  # |f''|_2 that is assumed of the uniform law, which has none


_ATOMS = Target(
    name="atoms",
    density=lambda x: np.full(np.shape(x), 0.4),
    distribution=lambda x: 0.4 * np.asarray(x),
    atoms=((0.25, 0.2), (0.37, 0.3), (0.8, 0.1)),
)
_LIKE_PEOPLE = ("beta_10_10", "beta_2_5", "bimodal", "claw", "uniform", "lognormal", "age")
_ROUGH = ("arcsine", "kink", "jump", "spike", "blocks", "sawtooth", "small_bump")
LAWS: dict[str, Target] = {**{name: target(name) for name in (*_LIKE_PEOPLE, *_ROUGH)}, "atoms": _ATOMS}
SMOOTH = ("beta_10_10", "beta_2_5", "bimodal", "claw", "uniform", "spike", "small_bump")  # whose |f''|_2 is known


def one_round(name: str, n: int, epsilon: str, seed: int) -> dict[str, float]:
    """What held in a round, and how long it was."""
    law = LAWS[name]
    found = dp.estimate(_simulated(law, n, epsilon, seed), "x")
    inside = AT[1:-1]
    cdf, density = law.cdf(inside), law.pdf(inside)

    def told(kind: str, band: tuple[np.ndarray, np.ndarray], truth: np.ndarray, at_once: bool) -> dict[str, float]:
        holds = (band[0] - 1e-12 <= truth) & (truth <= band[1] + 1e-12)
        return {
            kind: float(holds.all() if at_once else holds.mean()),
            f"{kind}_long": float(np.mean(band[1] - band[0])),
        }

    row = told("any_law", found.cdf_band(inside, simultaneous=True, distribution_free=True), cdf, True)
    row |= told("cdf", found.cdf_band(inside), cdf, False)
    if name != "atoms":
        row |= told("density", found.band(inside), density, False)
    if name in SMOOTH:
        bound = bend(law) or _FLAT
        row |= told("smooth_cdf", found.cdf_band(inside, simultaneous=True, second_derivative=bound), cdf, True)
        row |= told("smooth_density", found.band(inside, simultaneous=True, second_derivative=bound), density, True)
    for text, true in zip(NUMBERS, (law.mean, float(law.cdf(0.31)), law.quantile(0.5)), strict=True):
        ours, other = found.functional(parse(text), distribution_free=True), found.functional(parse(text))
        row[f"any_{text}"] = float(ours.low <= true <= ours.high)
        row[f"any_{text}_ratio"] = np.nan if other.is_refused else (ours.high - ours.low) / (other.high - other.low)
    return row


def whatever_the_law(name: str, n: int, epsilon: str, seed: int) -> dict[str, float]:
    """The same of what holds whatever the law, by counts alone."""
    law, aggregate = LAWS[name], _simulated(LAWS[name], n, epsilon, seed)
    model = aggregate.scheme.attributes["x"].mechanism.model()
    counts = Counts(model, aggregate.statistics["x"])
    found = distribution_free.from_likelihood(lambda: counts, Spline(0.0, 1.0, 0, 0, np.ones(1)))
    inside = AT[1:-1]
    low, high = found.cdf_band(inside, 0.95, True)
    row = {"any_law": float(np.all((low <= law.cdf(inside)) & (law.cdf(inside) <= high))), "long": np.mean(high - low)}
    for text, true in zip(NUMBERS, (law.mean, float(law.cdf(0.31)), law.quantile(0.5)), strict=True):
        one = found.estimate(parse(text), 0.95)
        assert one.low is not None
        assert one.high is not None
        row |= {text: float(one.low <= true <= one.high), f"{text}_long": one.high - one.low}
    return row


def _simulated(law: Target, n: int, epsilon: str, seed: int) -> Any:
    agreed = dp.Scheme.from_toml(
        f'name = "s"\nclients = {n}\n[attributes.x]\ntype = "numeric"\nlower = 0\nupper = 1\nepsilon = {epsilon}\n'
    )
    return dp.simulate(agreed, law, seeded((31, n, seed, list(LAWS).index(law.name))), n)


def _main(study: Callable[[str, int, str, int], dict[str, float]], rounds: int, cells: list[str]) -> None:
    rows: list[dict[str, Any]] = []
    for seed in range(rounds):
        for cell in cells:
            n, _, epsilon = cell.partition("@")
            rows += [{"law": law, "cell": cell} | study(law, int(float(n)), epsilon, seed) for law in LAWS]
        if seed % 5 == 4 or seed == rounds - 1:
            table = pd.DataFrame(rows).groupby(["cell", "law"], sort=False).mean(numeric_only=True)
            print(seed + 1, table.to_string(float_format="%.3g", na_rep="-"), sep="\n", flush=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["atoms", "spike", "arcsine"])
def test_bands_that_hold_whatever_the_law_hold_as_often_as_they_say(name: str) -> None:
    """Fewer than 33 of 40 rounds would come of 95 % once in a thousand times."""
    rows = pd.DataFrame([whatever_the_law(name, 10_000, "1", seed) for seed in range(40)])
    assert (rows[["any_law", *NUMBERS]].mean() >= 33 / 40).all()


def test_bands_of_smooth_densities_hold_at_once_because_they_count_the_bias(subtests: pytest.Subtests) -> None:
    """Of a claw, whose bias is the largest there may be nearly everywhere; scores are drawn with the channel's noise."""
    for kind in ["density", "cdf"]:
        with subtests.test(kind=kind):
            there, law = known("claw"), target("claw")
            one = Assumed(SimpleNamespace(detected_ends=np.array([])), there)  # type: ignore[arg-type]
            along = there.features if kind == "density" else there.below
            truth = law.pdf(AT) if kind == "density" else law.cdf(AT)
            trade, deviations = one.shortest(along, 0.95, True)
            found, noise = there.alike(along(AT), trade), there.noise(along(AT), trade)
            drawn = found.value + np.random.default_rng(5).standard_normal((2000, noise.shape[1])) @ noise.T
            low, high = (one.density_band if kind == "density" else one.cdf_band)(AT, 0.95, True)
            half = (high - low) / 2
            assert half == pytest.approx(found.bias + deviations * found.deviation)
            held = np.all(np.abs(drawn - truth) <= half + 1e-12, axis=1).mean()
            assert held >= 0.94
            noise_alone = np.all(np.abs(drawn - found.value) <= deviations * found.deviation + 1e-12, axis=1).mean()
            assert 0.935 <= noise_alone <= 0.97
            if kind == "density":  # of the cdf noise is most of it
                assert np.all(np.abs(drawn - truth) <= deviations * found.deviation + 1e-12, axis=1).mean() < 0.93


if __name__ == "__main__":
    is_short = sys.argv[1] == "any_law"
    _main(whatever_the_law if is_short else one_round, int(sys.argv[1 + is_short]), sys.argv[2 + is_short :])
