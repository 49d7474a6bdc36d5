"""The integral of f squared by two stages: what the second half of the clients is asked depends on the first half's reports.

Stage 1: the first half reports wavelet coefficients, as in any round; their projection f_hat on V_j is unbiased for P f, noise
and all.  Stage 2: f_hat is published, and each client of the second half reports one bit about f_hat(x): it rounds the place
of f_hat(x) between the least and the largest value to 0 or 1 at random, without bias, and answers by randomized response.
The mean of what they say is unbiased for int f f_hat, and that for int f P f = int (P f)^2: no square of noise has to be taken
off.  Its error is (n epsilon^2)^{-1/2} where the sample squares of one stage have 2^{3j/2} / (n epsilon^2), which moves the
elbow from smoothness 3/4 to 1/2 [Butucea2023].

Each client reports once, with the whole epsilon; nothing is spent twice.  Stage 1 must be closed before stage 2 is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore._random import Source
from dpcore.errors import NotEstimable, SchemeError
from dpcore.mechanisms import RandomizedResponse
from dpcore.mechanisms.bases import bspline
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.observation_model import NoisyFeatures
from dpcore.privacy.budget import Budget

_PARTS = 1 << 16  # of the range of f_hat, that a client's value is rounded to before it becomes a bit


@dataclass(frozen=True, kw_only=True)
class Question:
    """What stage 2 asks: a table of f_hat over the input cells, in parts of its range.

    parts: (inputs,) int64, 0..2^16.  lowest, highest: the values for 0 and 2^16.
    """

    parts: np.ndarray
    lowest: float
    highest: float
    answer: RandomizedResponse

    def privatize(self, values: np.ndarray, random: Source) -> np.ndarray:
        """Return one bit per client, (n,), input cells as `values`; integers only, epsilon is that of `answer`.

        Privacy.  The bit that is rounded to depends on x and on coins of the client's own; randomized response of any bit has
        ratios of at most e^epsilon, and so has a mixture over the coins.
        """
        bits = (random.below(_PARTS, len(values)) < self.parts[values]).astype(np.int64)
        return self.answer.privatize(bits, random).values

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        """Return how many say 0 and 1, (2,), drawn from their law; counts: (inputs,) clients of each input cell."""
        ones = int(random.generator().binomial(counts, self.parts / _PARTS).sum())
        return self.answer.simulate(np.array([int(counts.sum()) - ones, ones]), random)

    def estimate(self, counts: np.ndarray) -> tuple[float, float]:
        """Return the mean of f_hat over the clients asked and its standard error; counts: (2,), of 0 and 1."""
        n, model = int(np.sum(counts)), self.answer.model()
        if n == 0:
            raise NotEstimable("the second stage has 0 answers; ask it of at least one client")
        share = float(model.frequencies(np.asarray(counts), n)[1])
        spread = self.highest - self.lowest
        error = float(np.sqrt(model.variance(float(np.clip(share, 0, 1)), n)))
        return self.lowest + spread * share, spread * error


@dataclass(frozen=True, kw_only=True)
class TwoStageEstimate:
    """int f^2 on [0, 1], with what both stages add to its variance; level: j of V_j, beyond which f is not seen."""

    value: float
    standard_error: float
    level: int


def ask(mechanism: WaveletLaplace, statistics: np.ndarray, level: int) -> tuple[Question, float]:
    """Return the question of stage 2 from the statistics of stage 1, and the standard error that stage 1 leaves.

    level: j of V_j, from coarsest_level to finest_level + 1.  The error is that of int f f_hat with f_hat, not below 0, in the
    place of f; f_hat is taken at the middle of each input cell, as f_hat's own clients did.
    Raises SchemeError for another level, NotEstimable where a block has no report.
    """
    basis, model = mechanism.basis, mechanism.model()
    if not basis.coarsest_level <= level <= basis.finest_level + 1:
        raise SchemeError(f"level must lie in {basis.coarsest_level}..{basis.finest_level + 1}, got {level}")
    used = level - basis.coarsest_level + 1
    reports, _ = model.split(statistics)
    if np.any(reports[:used] == 0):
        raise NotEstimable(f"a block up to level {level} has no report; collect more or take a coarser level")
    middle = (np.arange(mechanism.cells) + 0.5) / mechanism.cells
    features = bspline.evaluate(middle, basis.degree, level)
    duals = [features @ basis.synthesis(block, level) for block in range(used)]
    values = sum(dual @ z for dual, z in zip(duals, model.coefficients(statistics), strict=False))
    error = _first_error(model, duals, np.maximum(values, 0.0), reports)
    lowest, highest = float(np.min(values)), float(np.max(values))
    if not lowest < highest:
        highest = lowest + 1.0
    parts = np.rint((values - lowest) / (highest - lowest) * _PARTS).astype(np.int64)
    answer = RandomizedResponse.design(mechanism.budget, categories=2)
    return Question(parts=parts, lowest=lowest, highest=highest, answer=answer), error


def integrated_square(
    mechanism: WaveletLaplace, law: np.ndarray, clients: int, level: int, random: Source
) -> TwoStageEstimate:
    """Return the estimate of int f^2 from both stages, simulated; half of the clients are asked in each.

    law: (inputs,) probabilities of the mechanism's input cells.
    """
    generator, half = random.generator(), clients // 2
    first = mechanism.simulate(generator.multinomial(half, law), random)
    question, before = ask(mechanism, first, level)
    value, after = question.estimate(question.simulate(generator.multinomial(clients - half, law), random))
    return TwoStageEstimate(value=value, standard_error=float(np.hypot(before, after)), level=level)


def one_stage(mechanism: WaveletLaplace, law: np.ndarray, clients: int, level: int, random: Source) -> float:
    """Return the estimate of int (P f)^2 from one stage and all clients, simulated: the square less its noise.

    What `IntegratedSquare(0)` of a projection at that level is, by sums over coefficients, to be compared with two stages.
    """
    statistics = mechanism.simulate(random.generator().multinomial(clients, law), random)
    basis, model = mechanism.basis, mechanism.model()
    reports, _ = model.split(statistics)
    used = level - basis.coarsest_level + 1
    gram = bspline.gram(basis.degree, level)
    parts = [basis.synthesis(block, level) for block in range(used)]
    products = model.coefficients(statistics)[:used]
    covariances = model.noise_covariances(reports)
    coefficients = sum(part @ z for part, z in zip(parts, products, strict=True))
    noise = sum(
        float(np.einsum("ik,ij,jk,k->", part, gram, part, noise, optimize=True))
        for part, noise in zip(parts, covariances, strict=False)
    )
    return float(coefficients @ gram @ coefficients) - noise


def mechanism_for(budget: Budget, level: int, degree: int = 0) -> WaveletLaplace:
    """Return the wavelet mechanism whose finest space is V_level."""
    return WaveletLaplace.design(budget, degree=degree, finest_level=level - 1)


def _first_error(model: NoisyFeatures, duals: list[np.ndarray], weight: np.ndarray, reports: np.ndarray) -> float:
    """The standard deviation of int f f_hat over stage 1: noise and the spread of the clients' own features."""
    law = weight / weight.sum() if weight.sum() > 0 else np.full(len(weight), 1 / len(weight))
    variance, sent = 0.0, np.zeros(len(law))
    for dual, table, unit, noise, count in zip(
        duals, model.tables, model.units, model.noise_variances, reports, strict=False
    ):
        along = (law @ dual) * unit
        variance += float(noise * np.sum(along**2)) / count
        score = table @ along
        if model.block_law is not None:
            variance += float(law @ (score - law @ score) ** 2) / count
        sent = sent + score
    if model.block_law is None:
        variance += float(law @ (sent - law @ sent) ** 2) / float(reports[0])
    return float(np.sqrt(variance))
