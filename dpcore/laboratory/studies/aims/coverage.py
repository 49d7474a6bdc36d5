"""What the coverage study is to show, and whether it does.

A cell is a method, target, clients, epsilon and functional.  It is refused if over half its runs refuse; statements on
intervals are about the other cells.
"""

from __future__ import annotations

import pandas as pd

from dpcore.audit.attacks.lower_bound import binomial_interval
from dpcore.functionals import parse
from dpcore.laboratory.studies import coverage
from dpcore.laboratory.studies.aims.verdict import Verdict

_SMOOTH, _SMOOTH_SHARE = (0.93, 0.97), 0.85
_ATOMIC, _ATOMIC_SHARE = 0.93, 0.90
_BAND_SHARE = 0.90
_ENOUGH, _CLEARLY_BELOW, _CONFIDENCE = 200, 0.92, 0.99  # returned numbers; coverage; of Clopper and Pearson's interval
_WRONG = 0.08  # of all rounds of a cell, refused ones among them
_PLAIN = ("beta_2_5", "beta_10_10", "bimodal", "uniform", "lognormal")  # few of these may be refused
_REFUSED = {"dyadic_wave": 0.10, "wavelet_laplace": 0.30}
_LOG_OR_RATIO = ("entropy", "kullback_leibler", "fisher_information")
_FEW, _FORGIVEN = 100_000, "wavelet_laplace"  # n epsilon^2 at which this method may refuse logarithms and ratios
_LONG, _DEVIATIONS = 1.3, 3.92  # a normal interval's length in standard deviations, and how much longer it may be
_BENT = 0.1  # share of the variance
_DEBIASED, _BIASED = ("integrated_square(0)", "entropy"), 0.5


def judged(cells: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the view `coverage_cells` with what is known without measuring, and what follows.

    kind: 'smooth', 'atomic' or 'band'.  is_regular: whether the influence function is bounded there.
    low, high: Clopper and Pearson's 95 % interval of the coverage; upper_99: the upper limit of the 99 % interval; wrong: the
    lower end of the 99 % one of the share of all rounds whose interval missed the truth; all as if a band's points were one.
    long: length over 3.92 standard deviations.  biased: |bias| in standard errors.
    """
    cells = cells.copy()
    cells["kind"] = ["band" if name in coverage.BANDS else parse(name).kind for name in cells["functional"]]
    cells["is_regular"] = [
        coverage.regular(target).get(name, False)
        for target, name in zip(cells["target"], cells["functional"], strict=True)
    ]
    n = cells["returned"].to_numpy(float)
    k = cells["coverage"].fillna(0.0).to_numpy(float) * n
    cells["low"], cells["high"] = binomial_interval(k, n, coverage.CONFIDENCE)
    cells["upper_99"] = binomial_interval(k, n, _CONFIDENCE)[1]
    cells["wrong"] = binomial_interval(n - k, cells["repetitions"].to_numpy(float), _CONFIDENCE)[0]
    cells["long"] = cells["length"] / (_DEVIATIONS * cells["deviation"].where(cells["deviation"] > 0))
    cells["biased"] = cells["bias"].abs() / cells["standard_error"].where(cells["standard_error"] > 0)
    return cells


def verdicts(cells: pd.DataFrame) -> list[Verdict]:
    """Return the aims with what was found; cells: as `judged` gives them."""
    seen = cells[~cells["refused"]]
    smooth = seen[(seen["kind"] == "smooth") & seen["is_regular"]]["coverage"]
    atomic = seen[seen["kind"] == "atomic"]["coverage"]
    straight = seen[(seen["kind"] == "smooth") & ~(seen["second_order"] >= _BENT)]  # not declared, so judged
    debiased = seen[seen["functional"].isin(_DEBIASED)]
    low = cells[(cells["returned"] >= _ENOUGH) & (cells["upper_99"] < _CLEARLY_BELOW)]
    aims = [
        Verdict(
            f"smooth: share of regular cells with coverage {_SMOOTH[0]:.0%} to {_SMOOTH[1]:.0%}",
            _share(smooth.between(*_SMOOTH)),
            _SMOOTH_SHARE,
            at_least=True,
        ),
        Verdict(
            f"atomic: share of cells with coverage {_ATOMIC:.0%} or more",
            _share(atomic >= _ATOMIC),
            _ATOMIC_SHARE,
            at_least=True,
        ),
        *(
            Verdict(
                f"{name}: share of cells that hold {_SMOOTH[0]:.0%} to {_SMOOTH[1]:.0%} of points",
                _share(seen[seen["functional"] == name]["coverage"].between(*_SMOOTH)),
                _BAND_SHARE,
                at_least=True,
            )
            for name in coverage.BANDS
        ),
        Verdict(
            f"cells of {_ENOUGH} numbers whose {_CONFIDENCE:.0%} upper limit is below {_CLEARLY_BELOW:.0%}",
            float(len(low)) if (cells["returned"] >= _ENOUGH).any() else None,
            0,
        ),
        Verdict(
            f"cells in which significantly more than {_WRONG:.0%} of all rounds gave an interval without the truth",
            float((cells["wrong"] > _WRONG).sum()),
            0,
        ),
    ]
    aims.append(Verdict("numbers that are not finite", float(cells["broken"].sum()), 0))
    for method, most in _REFUSED.items():
        few = cells["clients"] * cells["epsilon"] ** 2 <= _FEW
        forgiven = few & cells["functional"].str.split("(").str[0].isin(_LOG_OR_RATIO) & (method == _FORGIVEN)
        plain = cells["is_regular"] & cells["target"].isin(_PLAIN)
        asked = cells[(cells["method"] == method) & plain & ~forgiven]
        aims.append(
            Verdict(f"{method}: share of regular cells of {', '.join(_PLAIN)} refused", _share(asked["refused"]), most)
        )
    aims.append(_worst("smooth: longest interval, over 3.92 sd", straight, "long", _LONG))
    aims.append(_worst("int f^2 and entropy: bias in standard errors", debiased, "biased", _BIASED))
    return aims


def _share(cells: pd.Series) -> float | None:
    return float(cells.mean()) if len(cells) else None


def _worst(aim: str, cells: pd.DataFrame, column: str, limit: float) -> Verdict:
    """The largest of a column, and the cell it is of."""
    cells = cells.dropna(subset=[column])
    if cells.empty:
        return Verdict(aim, None, limit)
    row = cells.iloc[int(cells[column].to_numpy().argmax())]
    where = f"{row['method']}, {row['target']}, {row['clients']:,}, {row['epsilon']:g}, {row['functional']}"
    within = float((cells[column] <= limit).mean())
    return Verdict(f"{aim} ({where}; {within:.0%} of cells reach it)", float(row[column]), limit)
