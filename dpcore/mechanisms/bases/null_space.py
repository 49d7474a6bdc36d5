"""Null vectors of matrices of fractions, exact: what wavelets and refinable functions are found from."""

from __future__ import annotations

from fractions import Fraction


def null_space(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return a basis of {v : matrix v = 0}, by Gauss-Jordan elimination in fractions."""
    rows, width = [row for row in matrix if any(row)], len(matrix[0])
    pivots: list[int] = []
    for column in range(width):
        at = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if at is None:
            continue
        done = len(pivots)
        rows[done], rows[at] = rows[at], rows[done]
        rows[done] = [entry / rows[done][column] for entry in rows[done]]
        for r in range(len(rows)):
            if r != done and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[done], strict=True)]
        pivots.append(column)
    basis = []
    for free in (column for column in range(width) if column not in pivots):
        vector = [Fraction(int(column == free)) for column in range(width)]
        for r, column in enumerate(pivots):
            vector[column] = -rows[r][free]
        basis.append(vector)
    return basis
