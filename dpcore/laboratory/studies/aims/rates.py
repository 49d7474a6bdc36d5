"""What the study of rates is to show, and whether it does."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpcore.laboratory.studies import rates
from dpcore.laboratory.studies.aims.verdict import Verdict
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level
from dpcore.mechanisms.calibration.level_sampling import TOTAL, level_weights
from dpcore.mechanisms.calibration.tables import default_finest_level

_SLOPE, _RATIO = 0.05, 0.15
_ANSWERED = 0.95  # share of rounds with a number, below which a place is not evaluated
_DECADES = 3.0
_ROUNDING = 1e-6
_DEGREE = 2  # of the default scheme
_JUMPING = ("cdf", "quantile")  # whose weights jump


def judged(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per method, target and functional from rows of the view `rates_cells`.

    kind: 'smooth' or 'atomic'.  places: cells with numbers in 95 % of the rounds; least, most: n epsilon^2 there.
    slope: minus that of log error in log n epsilon^2; uncertainty: its standard error; both NaN where there is none.
    theory_low, theory_high: the slopes that theory allows; off: the distance from them.
    expected: the error by theory, at the place with the largest deviation; ratio: measured over it; at: its n epsilon^2.
    """
    rows = [
        {"method": method, "target": target, "functional": functional, **_line(str(method), str(functional), places)}
        for (method, target, functional), places in cells.groupby(["method", "target", "functional"], sort=False)
    ]
    return pd.DataFrame(rows, columns=["method", "target", "functional", *_COLUMNS])


_COLUMNS = (
    "kind",
    "places",
    "least",
    "most",
    "slope",
    "uncertainty",
    "theory_low",
    "theory_high",
    "off",
    "expected",
    "ratio",
    "at",
)


def _line(method: str, functional: str, places: pd.DataFrame) -> dict[str, object]:
    places = places[places["returned"] >= _ANSWERED * places["repetitions"]].sort_values("effective")
    x, y = np.log(places["effective"].to_numpy(float)), np.log(places["error"].to_numpy(float))
    classes = np.zeros(len(x), dtype=int)
    line: dict[str, object] = {
        "kind": "atomic" if method in rates.DEGREES else "smooth",
        "places": len(x),
        "least": float(np.exp(x[0])) if len(x) else np.nan,
        "most": float(np.exp(x[-1])) if len(x) else np.nan,
    }
    if method in rates.DEGREES:
        p, order, point = rates.DEGREES[method] + 1, *_arguments(functional)
        low = high = (p - order) / (2 * p + 2)
        classes = np.rint((np.log(rates.CLIENTS[-1]) - x) / np.log(rates.STEP)).astype(int) % (p + 1)
        is_judged = point == rates.SELF_SIMILAR and len(x) > p + 1
        expected = np.hypot(places["bias"].to_numpy(float), places["noise"].to_numpy(float))
        ratios = places["error"].to_numpy(float) / expected
        worst = int(np.argmax(np.abs(ratios - 1)))
        line |= {"expected": expected[worst], "ratio": ratios[worst], "at": float(np.exp(x[worst]))}
    else:
        is_judged = len(x) > 1 and x[-1] - x[0] >= _DECADES * np.log(10) - _ROUNDING
        low = high = 0.5
        if is_judged:
            low -= _slope(x, _logarithms(method, functional, places), classes)[0]
    slope, weights = _slope(x, y, classes) if is_judged else (np.nan, np.zeros(len(x)))
    uncertainty = float(np.sqrt(np.sum((weights * places["uncertainty"].to_numpy(float)) ** 2)))
    return line | {
        "slope": -slope,
        "uncertainty": uncertainty if is_judged else np.nan,
        "theory_low": low,
        "theory_high": high,
        "off": max(low + slope, -slope - high, 0.0) if is_judged else np.nan,
    }


def _slope(x: np.ndarray, y: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray]:
    """Least squares of y in x with an intercept for each class, and the weights of the y in it."""
    centred = x - np.array([x[classes == label].mean() for label in classes])
    weights = centred / np.sum(centred**2)
    return float(weights @ y), weights


def _arguments(functional: str) -> tuple[int, float]:
    """Order and place of a derivative's name."""
    order, point = functional.removeprefix("derivative(").removesuffix(")").split(",")
    return int(order), float(point)


def _logarithms(method: str, functional: str, places: pd.DataFrame) -> np.ndarray:
    """The logarithm of what theory allows the error beyond a power law, shape (places,)."""
    if functional.startswith(_JUMPING):
        return np.log(np.log2(places["effective"].to_numpy(float)) / 2)
    if method != rates.REPLANNED:
        return np.zeros(len(places))
    return np.array([-_log_share(n, e) / 2 for n, e in zip(places["clients"], places["epsilon"], strict=True)])


def _log_share(clients: int, epsilon: float) -> float:
    """The logarithm of the share of clients that report the coarsest block of the default scheme planned for them."""
    coarsest = smallest_coarsest_level(_DEGREE)
    finest = max(coarsest, default_finest_level(clients, epsilon, _DEGREE))
    return float(np.log(level_weights(finest - coarsest + 2)[0] / TOTAL))


def verdicts(lines: pd.DataFrame) -> list[Verdict]:
    """Return the aims with what was found; lines: as `judged` gives them."""
    aims = [
        _smooth(method, lines[lines["method"] == method]) for method in (rates.WAVE, rates.WAVELETS, rates.REPLANNED)
    ]
    smooth = lines[lines["kind"] == "smooth"]
    short = float(smooth["slope"].isna().sum()) if len(smooth) else None
    aims.append(Verdict(f"smooth: functionals without numbers over {_DECADES:g} decades", short, 0))
    for method, degree in rates.DEGREES.items():
        here = lines[lines["method"] == method]
        for order in range(degree + 1):
            name = f"derivative({order}, {rates.SELF_SIMILAR!r})"
            aims.append(_atomic(method, order, here[here["functional"] == name]))
        aims.append(_error(method, here))
    return aims


def _smooth(method: str, lines: pd.DataFrame) -> Verdict:
    aim = f"{method}: slope of smooth functionals, furthest off the theory's"
    lines = lines.dropna(subset=["off"])
    if lines.empty:
        return Verdict(aim, None, _SLOPE)
    worst = lines.iloc[int(lines["off"].to_numpy().argmax())]
    low, high = f"{worst['theory_low']:.3f}", f"{worst['theory_high']:.3f}"
    theory = high if low == high else f"{low} to {high}"
    where = f"{worst['functional']}, {worst['target']}: {_slope_text(worst)}, theory {theory}"
    return Verdict(f"{aim} ({where})", float(worst["off"]), _SLOPE)


def _atomic(method: str, order: int, lines: pd.DataFrame) -> Verdict:
    aim = f"{method}: slope of the derivative of order {order} at 1/3, off (p - s) / (2 p + 2)"
    lines = lines.dropna(subset=["off"])
    if lines.empty:
        return Verdict(aim, None, _SLOPE)
    worst = lines.iloc[0]
    return Verdict(f"{aim} = {worst['theory_low']:.3f} ({_slope_text(worst)})", float(worst["off"]), _SLOPE)


def _error(method: str, lines: pd.DataFrame) -> Verdict:
    aim = f"{method}: error over that of predicted bias and noise, off 1"
    lines = lines.dropna(subset=["ratio"])
    if lines.empty:
        return Verdict(aim, None, _RATIO)
    off = (lines["ratio"] - 1).abs()
    worst = lines.iloc[int(off.to_numpy().argmax())]
    where = f"{worst['functional'].replace(repr(rates.SELF_SIMILAR), '1/3')} at {worst['at']:.3g}: {worst['ratio']:.3f}"
    return Verdict(f"{aim} ({where})", float(off.max()), _RATIO)


def _slope_text(line: pd.Series) -> str:
    return f"{line['slope']:.3f} +- {line['uncertainty']:.3f}"
