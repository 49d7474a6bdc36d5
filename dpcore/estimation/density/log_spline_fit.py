"""Penalised likelihood of a log-spline, averaged over amounts and kinds of smoothness by marginal likelihood.

The log density is a cubic spline s = sum_k theta_k B_k of V_level with the prior

    -2 log prior = lambda |D^m theta|^2 + |N' theta|^2 / tau^2 + const,

D^m the m-th differences [EilersMarx1996], N the functions whose differences vanish: only the uniform for m = 1, exponentials
for 2, normals for 3.  lambda runs over decades, from so large that only N is left to so small that the basis limits the
roughness; m over 1..4.  For each (m, lambda) Fisher scoring finds the maximum of the posterior, and Laplace's method its
marginal likelihood,

    l(eta) - eta' Q eta / 2 + log det Q / 2 - log det(I + Q) / 2,

and log 2 for each point mass; Q the prior's precision on the complement of the constants and of the point masses, I the Fisher
information.  Coefficients and covariance are averaged with these weights, the spread between models included.  No constant is
tuned to a density.  If the data contradict the best of these models, the number of pieces is doubled, so that the basis never
limits the fit.  The quadrature is refined until the fitted distribution is that of the density shown.

Values clipped to the bounds lie at the ends of the interval.  A pilot fit with third differences penalised and point masses
allowed at both ends tests each point mass.  If one is significant, models with it are fitted too, its prior half normal and as
large as a uniform mass on average; the average is over models with or without, whichever have the larger sum of marginal
likelihoods.

Many densities vanish at an end like a power of the distance, where few respondents are near a distant bound.  Their logarithm
is unbounded, and has large differences.  If a second pilot fit finds such a power significant, the logarithm of the distance
becomes one more function without roughness.  An end with a point mass has none: a pole would be confounded with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log, log2, log10

import numpy as np
import scipy

from dpcore.estimation import constants
from dpcore.estimation.density.densities import ExponentialSpline
from dpcore.estimation.density.likelihood import Likelihood
from dpcore.estimation.density.log_spline_family import Family, Quadrature, cells_of, law_of, prior_of
from dpcore.estimation.density.penalised_likelihood import maximise
from dpcore.mechanisms.bases import bspline


@dataclass(frozen=True, eq=False)
class Model:
    """One (m, lambda): maximum eta (D,) of the posterior, Cholesky factor of its precision, log marginal likelihood."""

    family: Family
    penalty: float
    eta: np.ndarray
    factor: tuple[np.ndarray, bool]
    evidence: float

    @cached_property
    def turn(self) -> np.ndarray:
        """Matrix from eta to theta and the point masses, shape (K + atoms, D)."""
        axes = self.family.prior.axes
        full = np.eye(len(axes) + self.family.atoms, axes.shape[1] + self.family.atoms, k=-1)
        full[: len(axes), : axes.shape[1]] = axes
        return full


@dataclass(frozen=True, eq=False)
class Fit:
    """The average over models.

    parameters: (K + atoms,), theta and the point masses, with their covariance.  models: best first, with weights.  nodes: per
    block of the quadrature.  tried: the best model of each order.
    """

    likelihood: Likelihood
    level: int
    ends: tuple[bool, bool]
    parameters: np.ndarray
    covariance: np.ndarray
    models: tuple[Model, ...]
    weights: np.ndarray
    nodes: int
    tried: tuple[Model, ...] = ()

    @property
    def coefficients(self) -> np.ndarray:
        """theta, (2^level + 3,): coefficients of the log density, up to a constant."""
        return self.parameters[: len(self.parameters) - sum(self.ends)]

    @cached_property
    def law(self) -> np.ndarray:
        """Probabilities of the quadrature points and point masses, shape (points + atoms,)."""
        size, quadrature = len(self.coefficients), Quadrature.for_likelihood(self.likelihood, self.nodes)
        return law_of(self.coefficients, self.parameters[size:], quadrature)

    @property
    def cells(self) -> np.ndarray:
        """Probabilities of the input cells, (inputs,)."""
        points = len(self.law) - sum(self.ends)
        return cells_of(self.law, self.likelihood.inputs, points, self.ends)

    @cached_property
    def expected(self) -> np.ndarray:
        """Expected values under the likelihood, shape (S,)."""
        return self.likelihood.expected(self.cells)

    @property
    def unresolved(self) -> float:
        """Largest distance of the fitted distribution function from that of the density shown, at the ends of input cells."""
        inputs = self.likelihood.inputs
        shown = ExponentialSpline(0.0, 1.0, constants.DEGREE, self.level, self.coefficients, self.atoms)
        return float(np.max(np.abs(np.cumsum(self.cells) - shown.cdf(np.arange(1, inputs + 1) / inputs))))

    @property
    def falling(self) -> tuple[bool, bool]:
        """Whether the density vanishes significantly at each end."""
        return self.models[0].family.prior.falling

    @property
    def chance(self) -> float:
        """p-value of the fit: probability of a distance from the data at least as large."""
        return self.likelihood.chance(self.expected)

    @property
    def atoms(self) -> tuple[float, float]:
        """Point masses at the two ends."""
        masses = iter(self.parameters[len(self.coefficients) :])
        left, right = (float(next(masses)) if allowed else 0.0 for allowed in self.ends)
        return left, right


def fit(likelihood: Likelihood, level: int, orders: tuple[int, ...]) -> Fit:
    """Return the average over orders and penalties, with point masses if the data support them.

    level: j of V_j, the space of the log density; finer, up to V_8, where the data contradict its best model.
    orders: of the differences that priors penalise, each 1..4.
    """
    best = _fit(likelihood, level, orders, 1)
    while True:
        if best.unresolved > constants.UNRESOLVED:
            best = _fit(
                likelihood, best.level, orders if best.level == level else (min(orders),), constants.GAUSS_NODES, best
            )
        if best.chance >= constants.NEGLIGIBLE or best.level == constants.FINEST_LEVEL:
            return best
        finer = _fit(
            likelihood, best.level + 1, (min(orders),), best.nodes, best
        )  # the order with the roughest functions
        if finer.models[0].evidence <= best.models[0].evidence:
            return best
        best = finer


def _fit(likelihood: Likelihood, level: int, orders: tuple[int, ...], nodes: int, before: Fit | None = None) -> Fit:
    """The average in one space; its models are searched near those of another fit."""
    both = Family(likelihood, prior_of(level, constants.DEGREE), (True, True), nodes)
    looks = _path(both, level, before.tried if before else ())
    look = _most_likely(looks)
    is_rough = (
        looks[0].evidence < look.evidence - constants.evidence_margin()
    )  # else a smooth law may be as likely, far from it
    near = before.tried if before else (look,) if is_rough else ()
    ends = _are_positive(look, np.eye(2, len(look.eta), len(look.eta) - 2))
    falling = before.falling if before else _vanishing_ends(likelihood, level, ends, nodes, near)
    falling = falling[0] and not ends[0], falling[1] and not ends[1]
    models = _models(likelihood, level, orders, falling, ends, nodes, near)
    if any(ends):
        best = _most_likely(models).evidence
        models += _models(likelihood, level, orders, falling, (False, False), nodes, near, best)
    fit = _average(likelihood, level, sorted(models, key=lambda model: -model.evidence), nodes)
    by_order = [[model for model in models if model.family.prior.order == order] for order in orders]
    return replace(fit, tried=(look, *(_most_likely(tried) for tried in by_order if tried)))


def _most_likely(models: Iterable[Model]) -> Model:
    return max(models, key=lambda model: model.evidence)


def _vanishing_ends(
    likelihood: Likelihood, level: int, ends: tuple[bool, bool], nodes: int, near: tuple[Model, ...]
) -> tuple[bool, bool]:
    """The ends at which the density vanishes significantly, under a prior that counts any power of the distances as smooth."""
    family = Family(likelihood, prior_of(level, constants.DEGREE, (True, True)), ends, nodes)
    look = _most_likely(_path(family, level, near))
    return _are_positive(look, np.hstack([family.prior.powers, np.zeros((2, family.atoms))]))


def _are_positive(look: Model, numbers: np.ndarray) -> tuple[bool, bool]:
    """Whether each of two linear functions is significantly above zero; numbers: (2, D), their coefficients."""
    errors = np.sqrt(np.sum(numbers.T * scipy.linalg.cho_solve(look.factor, numbers.T), axis=0))
    left, right = (bool(number) for number in numbers @ look.eta > constants.detection_errors() * errors)
    return left, right


def _models(
    likelihood: Likelihood,
    level: int,
    orders: tuple[int, ...],
    falling: tuple[bool, bool],
    ends: tuple[bool, bool],
    nodes: int,
    near: tuple[Model, ...],
    best: float = -np.inf,
) -> list[Model]:
    """All models, without those of no weight beside another with log marginal likelihood `best`."""
    models: list[Model] = []
    for order in orders:
        for model in _path(Family(likelihood, prior_of(level, order, falling), ends, nodes), level, near, best):
            models.append(model)
            best = max(best, model.evidence)
    return models


def _average(likelihood: Likelihood, level: int, models: list[Model], nodes: int) -> Fit:
    """The average of the models, best first, with or without point masses, whichever sum of marginal likelihoods is larger.

    A spike and a point mass explain the same data; half of each in a log density would explain neither.
    """
    evidence = np.array([model.evidence for model in models])
    weights = np.exp(evidence - evidence[0])
    weighty = int(np.sum(weights > constants.NEGLIGIBLE * weights.sum()))
    models, weights = models[:weighty], weights[:weighty] / weights[:weighty].sum()
    with_atoms = np.array([model.family.atoms > 0 for model in models])
    averaged = with_atoms == (weights[with_atoms].sum() > weights[~with_atoms].sum())
    own = weights[averaged] / weights[averaged].sum()
    family = [model for model, is_in in zip(models, averaged, strict=True) if is_in]
    ends = family[0].family.ends
    centres = np.array([model.turn @ model.eta for model in family])
    size = centres.shape[1] - sum(ends)
    centres[:, size:] = np.maximum(centres[:, size:], 0.0)
    centre = own @ centres
    covariance = (centres - centre).T @ ((centres - centre) * own[:, None])
    for w, model in zip(own, family, strict=True):
        covariance += w * (model.turn @ scipy.linalg.cho_solve(model.factor, model.turn.T))
    present = np.concatenate([np.full(size, True), centre[size:] > 0])  # a point mass of 0 is none
    return Fit(
        likelihood,
        level,
        _spread(ends, present[size:]),
        centre[present],
        covariance[np.ix_(present, present)],
        tuple(models),
        weights,
        nodes,
    )


def _spread(ends: tuple[bool, bool], present: np.ndarray) -> tuple[bool, bool]:
    """Which of the allowed ends have a point mass."""
    is_present = iter(present)
    left, right = (allowed and bool(next(is_present)) for allowed in ends)
    return left, right


def _path(family: Family, level: int, near: tuple[Model, ...] = (), best: float = -np.inf) -> list[Model]:
    """The models of one order, from the largest penalty down; those far below the best of another order are left out.

    near: good models of the same data.  The path begins at the spline of the most similar one, at `constants.ABOVE` times the
    penalty at which its roughness has the same cost, or higher while models have weight.
    """
    penalties = _penalties(family.likelihood.n, level, family.prior.order)
    begin = min(
        near, key=lambda m: (m.family.prior.order != family.prior.order, m.family.ends != family.ends), default=None
    )
    if begin is None:
        return list(_walk(family, penalties, family.start, best))
    eta = _moved(begin, family)
    dear = constants.ABOVE * begin.penalty * begin.family.prior.roughness_of(begin.eta)
    roughness = family.prior.roughness_of(eta)
    first = sum(penalty * roughness > dear for penalty in penalties[:-1])
    models = list(_walk(family, penalties[first:], eta, best))
    highest, top = max([best, *(model.evidence for model in models)]), models[:1]
    while first > 0 and top and top[0].penalty == penalties[first]:
        first -= 1
        top = list(_walk(family, [penalties[first]], top[0].eta, highest)) or top
    if top and top[0].penalty > models[0].penalty:  # the descent from there may reach a better maximum
        models = list(_walk(family, penalties[penalties.index(top[0].penalty) :], top[0].eta, best))
    return models


def _moved(model: Model, family: Family) -> np.ndarray:
    """Coordinates, (D,), of a model's spline in a family of its level or a finer one; without point masses."""
    spline = (model.turn @ model.eta)[: len(model.family.prior.axes)]
    while len(spline) < len(family.prior.axes):
        spline = bspline.refinement(constants.DEGREE, int(log2(len(spline) - constants.DEGREE))) @ spline
    return np.concatenate([family.prior.axes.T @ spline, np.zeros(family.atoms)])


def _walk(family: Family, penalties: list[float], eta: np.ndarray, best: float) -> Iterator[Model]:
    """Models of decreasing penalties, each started where the last one ended."""
    information, highest = None, -np.inf
    for penalty in penalties:
        precision = family.precision(penalty)
        constant = float(np.sum(np.log(precision))) / 2 + family.atoms * log(
            2
        )  # the prior of a point mass is half a normal distribution
        maximum = maximise(
            family, precision, eta, information, max(best, highest) - constants.evidence_margin() - constant
        )
        eta, information, evidence = maximum.eta, maximum.information, maximum.value + constant
        if not maximum.is_behind:
            yield Model(family, penalty, eta, maximum.factor, evidence)
        highest = max(highest, evidence)
        if (
            evidence < highest - constants.evidence_margin()
            and family.likelihood.chance(family.expected(family.law(eta))) > constants.NEGLIGIBLE
        ):
            return  # the fit is no longer rejected, and smoother models were better


def _penalties(n: float, level: int, order: int) -> list[float]:
    """Decades of lambda, from where no wave is significant to where the finest are free."""
    most = ceil(log10(max(n, 10.0))) + 1
    least = -ceil(2 * order * log10(2 ** (level - 1)))
    return [10.0**power for power in range(most, least - 1, -1)]
