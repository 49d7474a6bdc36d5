"""What an attack on a frequency oracle gains: the rise of its targets' summed frequencies for each share of malicious clients.

With s the targets that a malicious report supports on average, p and q the probabilities that an honest one supports the true
category and any other, r targets of true frequency f_T together, a share beta gains

    beta ( (s - r q) / (p - q) - f_T ).

[Cao2021] print it for three oracles, local hashing with independent hash values and p = 1/2; ours has lines over a prime field,
whose q is below 1/g by about 1/P.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1

import numpy as np

from dpcore.errors import SchemeError
from dpcore.laboratory.attacks import Attack, MaximalGain, RandomItem, RandomReports
from dpcore.mechanisms import Mechanism, RandomizedResponse, SubsetSelection
from dpcore.mechanisms.categorical.local_hashing import LocalHashing
from dpcore.mechanisms.observation_model import ScoreSums


def gain(mechanism: Mechanism, attack: Attack, targets: Sequence[int], frequency: float) -> float:
    """Return the gain per share of malicious clients, exact; frequency: of the targets together, among honest clients.

    Raises SchemeError for a mechanism that is no frequency oracle or another attack.
    """
    model = mechanism.model()
    if not isinstance(model, ScoreSums):
        raise SchemeError(f"gains are of frequency oracles, got {mechanism.name}")
    if isinstance(attack, RandomItem):
        return 1.0 - frequency
    supported = _supported(mechanism, attack, targets)
    return (supported - len(targets) * float(model.other_mean)) / float(model.contrast) - frequency


def _supported(mechanism: Mechanism, attack: Attack, targets: Sequence[int]) -> float:
    """How many of the targets a report supports on average."""
    r, k = len(targets), mechanism.inputs
    if isinstance(attack, RandomReports):
        share = {RandomizedResponse: 1 / k, SubsetSelection: getattr(mechanism, "size", 0) / k}
        half = 1 / mechanism.bins if isinstance(mechanism, LocalHashing) else 0.5
        return r * share.get(type(mechanism), half)
    if isinstance(attack, MaximalGain):
        weights = np.zeros(k)
        weights[list(targets)] = 1.0
        return float(weights @ mechanism.statistics(mechanism.furthest(weights, 1)))
    raise SchemeError(f"what {type(attack).__name__} gains of frequencies is not known")


def printed(oracle: str, attack: str, *, epsilon: float, categories: int, targets: int, frequency: float) -> float:
    """Return the gain per share of malicious clients as [Cao2021] has it.

    oracle: 'randomized_response', 'unary_encoding' (optimized) or 'local_hashing'.  attack: 'random', 'random item' or
    'maximal gain'.  epsilon: natural-log units, > 0.  targets: r, their number; frequency: theirs together.
    """
    r, d, odds = targets, categories, expm1(epsilon)
    spread = 2 * r - frequency + 2 * r / odds
    rows = {
        "randomized_response": (r / d - frequency, 1 - frequency, 1 - frequency + (d - r) / odds),
        "unary_encoding": (r - frequency, 1 - frequency, spread),
        "local_hashing": (-frequency, 1 - frequency, spread),
    }
    return rows[oracle][("random", "random item", "maximal gain").index(attack)]
