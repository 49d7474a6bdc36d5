"""The regression of one attribute on public labels: coefficients, marginal effects and tests, with intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dpcore.errors import NotEstimable, SchemeError
from dpcore.estimation.functional_estimate import check_confidence, normal_quantile
from dpcore.estimation.regression import categorical_outcome, numeric_outcome
from dpcore.estimation.regression.design_matrix import LINEAR, LOGISTIC, MULTINOMIAL, Design, Formula, design, ordered
from dpcore.estimation.weighting.raking import Weights

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """One coefficient of a model, or one average marginal effect.

    category: of the outcome, against the reference category; '' for a number.  term: a column of the design matrix.
    value, standard_error, low, high: a log odds ratio, a difference of proportions, or in the unit of the number.
    p_value: of the two-sided test that it is 0.
    """

    category: str
    term: str
    value: float
    standard_error: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class ChiSquareTest:
    """A test with a chi-squared distribution.  term: the term whose coefficients are all 0; '' for the goodness of fit."""

    term: str
    statistic: float
    degrees_of_freedom: int
    p_value: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Regression:
    """A fitted regression.

    kind: 'logistic' (two categories), 'multinomial' or 'linear'.  reference: the category of the outcome that the others are
    compared with; '' for a number.  coefficients: category by category.  covariance: of the coefficients.
    effects: average marginal effects: the mean change of a category's proportion, over all reports, from the reference category
    of a label to another.
    terms: likelihood-ratio tests of each term, Wald tests if reports are weighted.  fit: of the model against one proportion
    or mean for each combination of labels; None if there are as many coefficients, or with weights.
    n: number of reports.  cells: which sum of reports, by the formula's labels, each combination of the scheme's labels is part
    of, (C,).
    """

    outcome: str
    formula: str
    kind: str
    reference: str
    confidence: float
    n: int
    cells: np.ndarray
    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    effects: tuple[Coefficient, ...]
    terms: tuple[ChiSquareTest, ...]
    fit: ChiSquareTest | None

    def __repr__(self) -> str:
        return f"<Regression {self.formula}: {self.kind}, {self.n} reports>"

    def __getitem__(self, term: str) -> Coefficient:
        """Return a coefficient by the name of its term, such as "region = north"; with its category as "nurse : ..."."""
        for one in self.coefficients:
            if term in (one.term, f"{one.category} : {one.term}"):
                return one
        raise SchemeError(
            f"no coefficient {term!r}; the regression has {', '.join(dict.fromkeys(c.term for c in self.coefficients))}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coefficient: category, term, estimate, standard_error, low, high, p_value, odds_ratio and limits.

        odds_ratio, odds_low, odds_high: exponentials; NaN for a number.
        """
        import pandas as pd

        frame = pd.DataFrame([vars(one) for one in self.coefficients]).rename(columns={"value": "estimate"})
        for name, column in (("odds_ratio", "estimate"), ("odds_low", "low"), ("odds_high", "high")):
            frame[name] = np.nan if self.kind == LINEAR else np.exp(frame[column].astype(float))
        return frame


def regress(
    aggregate: Any,
    formula: str,
    *,
    reference: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    weights: Weights | None = None,
    fewest: int = 1,
) -> Regression:
    """Return the regression of an attribute on labels.

    Parameters
    ----------
    aggregate : Aggregate
        Of a scheme with labels; reports of one combination of labels are summed, so that nothing else is needed.
    formula : str
        "ATTRIBUTE ~ LABELS", such as "income ~ region * sex"; operators + - * : and parentheses.
    reference : mapping of str to str, optional
        The category that others are compared with, by label or for the outcome; the first one where absent.
    confidence : float
        Of the intervals, strictly between 0 and 1.
    weights : Weights, optional
        Of the aggregate's reports by label (`rake`), for coefficients of the population.
    fewest : int
        Reports that each combination of the formula's labels needs, unless it has none.

    Returns
    -------
    Regression
        Logistic for two categories, multinomial for more, linear for a number.

    Raises
    ------
    SchemeError
        For an invalid formula, or an attribute without categories or numbers.
    NotEstimable
        If a combination of labels has too few reports, or the reports do not determine the coefficients.

    Notes
    -----
    Categories: maximum likelihood through the mechanism (`categorical_outcome`).  Numbers: weighted least squares on
    distribution-free means (`numeric_outcome`).  Intervals are normal.
    """
    check_confidence(confidence)
    parsed, shape, categories = declared(aggregate.scheme, formula, reference or {})
    attribute, held = aggregate.scheme.attributes[parsed.outcome], aggregate.labelled
    n = shape.sums(held.answered[parsed.outcome])
    _check_counts(shape, n, fewest)
    cells = _Cells.from_sums(shape, held.answered[parsed.outcome], held.statistics[parsed.outcome], weights)
    model: _Model
    if categories:
        order = np.array([attribute.categories.index(category) for category in categories])
        kind, model = LOGISTIC if len(order) == 2 else MULTINOMIAL, _Categorical.fitted(attribute, cells, order)
    else:
        kind, model = LINEAR, _Linear.fitted(attribute, cells)
    return Regression(
        outcome=parsed.outcome,
        formula=formula,
        kind=kind,
        reference=categories[0] if categories else "",
        confidence=confidence,
        n=int(n.sum()),
        cells=shape.places,
        coefficients=tuple(_coefficients(model, shape.columns, categories[1:] or ("",), confidence)),
        covariance=model.fit.covariance,
        effects=tuple(_effects(model, shape, cells, categories or ("",), confidence)),
        terms=tuple(_tests(model, shape, cells.is_weighted)),
        fit=_goodness(model, cells),
    )


def declared(scheme: Any, formula: str, reference: Mapping[str, str]) -> tuple[Formula, Design, tuple[str, ...]]:
    """Return a formula, its design, and the categories of the outcome, the reference first; none for a number.

    Raises SchemeError, as `regress` does, for what no reports could change.
    """
    parsed, shape = design(formula, scheme, reference)
    attribute = scheme.attributes[parsed.outcome]
    where = f"regression of {attribute.name}"
    if attribute.sides:
        raise SchemeError(f"{where}: a joint attribute cannot be the outcome; declare one column alone")
    if attribute.alone:
        raise SchemeError(f"{where}: {attribute.alone} cannot be the outcome; declare {attribute.instead}")
    if not attribute.is_numeric:
        return parsed, shape, ordered(attribute.categories, attribute.name, reference)
    if attribute.missing == "category":
        raise SchemeError(f'{where}: nonresponse is an answer, which has no number; use missing = "refuse"')
    if parsed.outcome in reference:
        raise SchemeError(f"{where}: a number has no reference category; remove it from reference")
    return parsed, shape, ()


def _check_counts(shape: Design, n: np.ndarray, fewest: int) -> None:
    """Raise NotEstimable without reports, or if a combination of the labels' categories has too few, but not none."""
    if not n.any():
        raise NotEstimable("no reports yet; collect reports before estimating")
    short = np.flatnonzero((n > 0) & (n < fewest))
    if len(short):
        raise NotEstimable(
            f"{len(short)} combinations of labels have fewer than {fewest:,} reports, such as {shape.names()[short[0]]}; "
            "merge categories or use fewer labels"
        )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Reports by cell: of the formula's labels, or with weights of all labels.

    matrix: (C, p).  rows: (C,), the row of the design.  n: (C,), above 0.  statistics: (C, S).  weights: (C,).
    """

    matrix: np.ndarray
    rows: np.ndarray
    n: np.ndarray
    statistics: np.ndarray
    weights: np.ndarray
    is_weighted: bool

    @classmethod
    def from_sums(cls, shape: Design, n: np.ndarray, statistics: np.ndarray, weights: Weights | None) -> _Cells:
        if weights is None:
            n, statistics = shape.sums(n), shape.sums(statistics)
            rows, values = np.arange(len(n)), np.ones(len(n))
        else:
            if weights.values.shape != n.shape:
                raise SchemeError("weights must be those of this aggregate's reports by label; rake its own counts")
            rows, values = shape.places, weights.values
        there = n > 0
        rows = rows[there]
        return cls(shape.matrix[rows], rows, n[there], statistics[there], values[there], weights is not None)


@dataclass(frozen=True, eq=False)
class _Model(ABC):
    """A fitted model of the outcome's proportions, or of its mean.  matrix: (C, p)."""

    matrix: np.ndarray
    fit: categorical_outcome.Fit | numeric_outcome.LinearFit

    @abstractmethod
    def predicted(self, matrix: np.ndarray) -> np.ndarray:
        """Return the proportions or means (C, k) of covariates (C, p)."""

    @abstractmethod
    def slopes(self, matrix: np.ndarray) -> np.ndarray:
        """Return their derivatives by the coefficients, (C, k, m p)."""

    @abstractmethod
    def ratio(self, columns: np.ndarray) -> float:
        """Return minus twice the log likelihood ratio of the model with the columns `columns`, (p,) bool, alone."""


@dataclass(frozen=True, eq=False)
class _Categorical(_Model):
    sums: categorical_outcome.Sums
    fit: categorical_outcome.Fit

    @classmethod
    def fitted(cls, attribute: Any, cells: _Cells, order: np.ndarray) -> _Categorical:
        model = attribute.mechanism.model()
        sums = categorical_outcome.Sums(model, order, cells.statistics, cells.n, cells.weights)
        try:
            return cls(matrix=cells.matrix, sums=sums, fit=categorical_outcome.fit(sums, cells.matrix))
        except NotEstimable as error:
            unused = [attribute.categories[place] for place in order[sums.unused()]]
            if not unused:
                raise
            more = f" or {len(unused) - 1} more of its categories" if len(unused) > 1 else ""
            raise NotEstimable(
                f"{attribute.name}: almost no respondents have {unused[0]!r}{more}; merge these with others in a new scheme"
            ) from error

    def predicted(self, matrix: np.ndarray) -> np.ndarray:
        return categorical_outcome.proportions(self.fit.coefficients, matrix)

    def slopes(self, matrix: np.ndarray) -> np.ndarray:
        return categorical_outcome.slopes(self.predicted(matrix), matrix)

    def ratio(self, columns: np.ndarray) -> float:
        start = self.fit.coefficients[:, columns]
        matrix = self.matrix[:, columns]
        smaller = categorical_outcome.proportions(categorical_outcome.maximum(self.sums, matrix, start), matrix)
        return self.sums.deviance(smaller, self.fit.laws) - self.sums.deviance(self.fit.laws, self.fit.laws)


@dataclass(frozen=True, eq=False)
class _Linear(_Model):
    means: numeric_outcome.Means
    weights: np.ndarray

    @classmethod
    def fitted(cls, attribute: Any, cells: _Cells) -> _Linear:
        means = numeric_outcome.means(attribute, cells.statistics, cells.n)
        fit = numeric_outcome.fit(means, cells.matrix, cells.weights)
        return cls(matrix=cells.matrix, means=means, weights=cells.weights, fit=fit)

    def predicted(self, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(matrix @ self.fit.coefficients.T)

    def slopes(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[:, None]

    def ratio(self, columns: np.ndarray) -> float:
        return numeric_outcome.fit(self.means, self.matrix[:, columns], self.weights).distance - self.fit.distance


def _coefficients(
    model: _Model, columns: tuple[str, ...], categories: tuple[str, ...], confidence: float
) -> Iterator[Coefficient]:
    errors = np.sqrt(np.diagonal(model.fit.covariance)).reshape(model.fit.coefficients.shape)
    for category, values, own in zip(categories, model.fit.coefficients, errors, strict=True):
        for term, value, error in zip(columns, values, own, strict=True):
            yield _with_interval(category, term, value, error, confidence)


def _effects(
    model: _Model, shape: Design, cells: _Cells, categories: tuple[str, ...], confidence: float
) -> Iterator[Coefficient]:
    """Average marginal effects, over the reports; the covariates' distribution is taken as known."""
    share = np.bincount(cells.rows, cells.n * cells.weights, len(shape.matrix))
    share = share / share.sum()
    for label, names in shape.categories.items():
        for place, name in enumerate(names[1:], 1):
            there, here = (shape.matrix[shape.with_level(label, level)] for level in (place, 0))
            values = share @ (model.predicted(there) - model.predicted(here))
            slopes = np.einsum("c,ckq->kq", share, model.slopes(there) - model.slopes(here))
            errors = np.sqrt(np.einsum("kq,qr,kr->k", slopes, model.fit.covariance, slopes))
            shown = slice(1, None) if len(categories) == 2 else slice(None)  # of two, one is the other's negative
            for category, value, error in zip(categories[shown], values[shown], errors[shown], strict=True):
                yield _with_interval(category, f"{label} = {name}", float(value), float(error), confidence)


def _with_interval(category: str, term: str, value: float, error: float, confidence: float) -> Coefficient:
    half = normal_quantile(confidence) * error
    return Coefficient(
        category=category,
        term=term,
        value=float(value),
        standard_error=float(error),
        low=float(value - half),
        high=float(value + half),
        p_value=float(2 * scipy.special.ndtr(-abs(value) / error)),
    )


def _tests(model: _Model, shape: Design, is_weighted: bool) -> Iterator[ChiSquareTest]:
    """Tests of the terms that no interaction contains."""
    for term, columns in shape.terms.items():
        if any(set(term.split(":")) < set(other.split(":")) for other in shape.terms):
            continue
        others = np.ones(shape.matrix.shape[1], dtype=bool)
        others[columns] = False
        free = int((~others).sum()) * len(model.fit.coefficients)
        statistic = _wald(model, ~others) if is_weighted else max(model.ratio(others), 0.0)
        yield _chi_square(term, statistic, free)


def _wald(model: _Model, tested: np.ndarray) -> float:
    places = np.flatnonzero(np.tile(tested, len(model.fit.coefficients)))
    values = model.fit.coefficients.ravel()[places]
    return float(values @ np.linalg.solve(model.fit.covariance[np.ix_(places, places)], values))


def _goodness(model: _Model, cells: _Cells) -> ChiSquareTest | None:
    free = len(cells.n) * len(model.fit.coefficients) - model.fit.coefficients.size
    return None if cells.is_weighted or free <= 0 else _chi_square("", model.fit.distance, free)


def _chi_square(term: str, statistic: float, free: int) -> ChiSquareTest:
    p_value = float(scipy.special.chdtrc(free, statistic))
    return ChiSquareTest(term=term, statistic=float(statistic), degrees_of_freedom=free, p_value=p_value)
