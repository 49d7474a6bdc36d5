"""What is true of simulated people, beside the rows that pictures are drawn of."""

from __future__ import annotations

import numpy as np
import pandas as pd


def beside_truth(rows: pd.DataFrame, truths: pd.DataFrame | None) -> pd.DataFrame:
    """Return the rows of any table of one attribute with a column `truth`, where somebody knows.

    truths: rows of `truths` of that attribute, at most.  Of `comparisons` the truth is that of the difference.
    """
    if truths is None or truths.empty or rows.empty:
        return rows
    if "x" in rows:
        curve = truths[truths["quantity"] == "density"].rename(columns={"value": "truth"})
        return rows.merge(curve[["given", "x", "truth"]], how="left", on=["given", "x"])
    if "category" in rows:
        return rows.assign(truth=_of(rows["given"], "frequency(" + rows["category"] + ")", truths))
    if "functional" not in rows:
        return rows
    truth = _of(rows["given"], rows["functional"], truths)
    if "other_given" in rows:
        truth = truth - _of(rows["other_given"], rows["functional"], truths)
    return rows.assign(truth=truth)


def _of(given: pd.Series, quantity: pd.Series, truths: pd.DataFrame) -> np.ndarray:
    values = truths[truths["x"].isna()].set_index(["given", "quantity"])["value"]
    return values.reindex(pd.MultiIndex.from_arrays([given, quantity])).to_numpy(float)
