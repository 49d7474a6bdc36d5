"""Formulas of a regression, such as "outcome ~ region * sex", and their design matrix.

Covariates are labels, whose categories are coded by indicators against a reference category.  Reports are grouped by the
combination of the categories of the formula's labels, a *cell*: reports of one cell have equal covariates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import SchemeError

LOGISTIC, MULTINOMIAL, LINEAR = (
    "logistic",
    "multinomial",
    "linear",
)  # models, by the outcome: two categories, more, a number
INTERCEPT = "intercept"
_EXAMPLE = '"income ~ region + sex"'
_CODED = re.compile(r"(\w+)\[(?:T\.)?(\d+)\]")  # an indicator's name as formulaic writes it


@dataclass(frozen=True)
class Formula:
    """A parsed formula.  outcome: the attribute.  labels: the covariates, in the scheme's order."""

    outcome: str
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Design:
    """The design matrix of a formula over its C cells.

    matrix: (C, p).  columns: p names, such as "region = north" or "region = north : sex = f".  terms: term -> its columns.
    places: for each cell of the scheme's labels, the row of the matrix that has its covariates.
    levels: label -> (C,) the position of each row's category.  categories: label -> its categories, the reference first.
    """

    matrix: np.ndarray
    columns: tuple[str, ...]
    terms: Mapping[str, slice]
    places: np.ndarray
    levels: Mapping[str, np.ndarray]
    categories: Mapping[str, tuple[str, ...]]

    def with_level(self, label: str, place: int) -> np.ndarray:
        """Return, for each row, the row with the same covariates but that category of a label, (C,)."""
        changed = {**self.levels, label: np.full(len(self.matrix), place)}
        return np.ravel_multi_index(tuple(changed.values()), [len(names) for names in self.categories.values()])

    def sums(self, table: np.ndarray) -> np.ndarray:
        """Return sums of a table by the scheme's cells, (C_all[, S]), over the cells of each row: (C[, S])."""
        total = np.zeros((len(self.matrix), *table.shape[1:]), dtype=table.dtype)
        np.add.at(total, self.places, table)
        return total

    def names(self) -> tuple[str, ...]:
        """Return the combination of categories of each row."""
        rows = range(len(self.matrix))
        return tuple(
            ", ".join(f"{name} = {self.categories[name][at[row]]}" for name, at in self.levels.items()) for row in rows
        )


def _parsed(text: str, scheme: Any) -> tuple[Formula, Any]:
    """A formula, and its right-hand side as formulaic has it.  Nothing is evaluated: functions and numbers are refused."""
    import formulaic  # type: ignore[import-untyped]

    where = f"formula {text!r}"
    if not isinstance(text, str):
        raise SchemeError(f"{where}: not a text; write it as {_EXAMPLE}")
    if "**" in text or "^" in text:  # formulaic multiplies powers out: (a + b)**40 takes 2^40 steps
        raise SchemeError(f"{where}: powers are not available; write interactions with * or :")
    try:
        parsed = formulaic.Formula(text)
        outcome, right = text.partition("~")[0].strip(), parsed.rhs
        factors = [factor for term in right for factor in term.factors]
    except (
        formulaic.errors.FormulaSyntaxError,
        formulaic.errors.FormulaParsingError,
        SyntaxError,
        AttributeError,
    ) as error:
        raise SchemeError(f"{where}: not an outcome and labels; write it as {_EXAMPLE}") from error
    names = [factor.expr for factor in factors if factor.eval_method.value == "lookup"]
    others = [factor.expr for factor in factors if factor.eval_method.value != "lookup" and factor.expr != "1"]
    if others or not names:
        problem = f"{others[0]!r} is not a label" if others else "it has no label"
        raise SchemeError(f"{where}: {problem}; name labels alone, joined by + * or :")
    if not any(str(term) == "1" for term in parsed.rhs):
        raise SchemeError(
            f"{where}: it has no intercept; leave out 0 and - 1, which would change what coefficients mean"
        )
    if outcome not in scheme.attributes:
        raise SchemeError(f"{where}: no attribute {outcome!r}; the scheme has {', '.join(scheme.attributes)}")
    for name in names:
        if name not in scheme.labels:
            labels = ", ".join(scheme.labels) or "no labels; add a table [labels.NAME] to a new scheme"
            raise SchemeError(f"{where}: no label {name!r}; the scheme has {labels}")
    return Formula(outcome, tuple(name for name in scheme.labels if name in names)), right


def design(text: str, scheme: Any, reference: Mapping[str, str]) -> tuple[Formula, Design]:
    """Return a formula and its design matrix.

    reference: label or outcome -> the category that the others are compared with; the first one where absent.
    Raises SchemeError unless the formula is "ATTRIBUTE ~ LABELS" with the operators + - * : and parentheses, for an unknown
    reference, and for terms whose columns are linearly dependent.
    """
    import pandas as pd

    formula, right = _parsed(text, scheme)
    if unknown := reference.keys() - {*formula.labels, formula.outcome}:
        raise SchemeError(f"reference: {sorted(unknown)[0]!r} is neither the outcome nor a label of {text!r}")
    shape = [len(label.categories) for label in scheme.labels.values()]
    positions = dict(zip(scheme.labels, np.indices(shape).reshape(len(shape), -1), strict=True))
    categories = {name: ordered(scheme.labels[name].categories, name, reference) for name in formula.labels}
    own = [len(categories[name]) for name in formula.labels]
    levels = dict(zip(formula.labels, np.indices(own).reshape(len(own), -1), strict=True))
    ranks = {name: _ranks(scheme.labels[name].categories, categories[name]) for name in formula.labels}
    places = np.ravel_multi_index([ranks[name][positions[name]] for name in formula.labels], own)
    codes = {
        name: pd.Categorical(at.astype(str), categories=[str(code) for code in range(len(categories[name]))])
        for name, at in levels.items()
    }
    model = right.get_model_matrix(pd.DataFrame(codes), output="pandas")
    matrix = np.asarray(model, dtype=np.float64)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise SchemeError(f"formula {text!r}: its terms are linearly dependent; remove one")
    columns = tuple(_column(name, categories) for name in model.columns)
    terms = {str(term): where for term, where in model.model_spec.term_slices.items() if str(term) != "1"}
    return formula, Design(matrix, columns, terms, places, levels, categories)


def ordered(categories: tuple[str, ...], name: str, reference: Mapping[str, str]) -> tuple[str, ...]:
    """Return the categories of a label or outcome, the reference first; raises SchemeError for an unknown reference."""
    first = reference.get(name, categories[0])
    if first not in categories:
        raise SchemeError(f"reference of {name}: no category {first!r}; it has {', '.join(categories)}")
    return (first, *(category for category in categories if category != first))


def _ranks(before: tuple[str, ...], after: tuple[str, ...]) -> np.ndarray:
    return np.array([after.index(category) for category in before])


def _column(name: str, categories: Mapping[str, tuple[str, ...]]) -> str:
    """The readable name of a column of formulaic's matrix."""
    parts = _CODED.findall(name)
    return " : ".join(f"{label} = {categories[label][int(code)]}" for label, code in parts) or INTERCEPT
