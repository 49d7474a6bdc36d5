"""Definitions of privacy: what a finite channel keeps under each, exactly, and how they imply one another [BarberDuchi2014].

Modules:
    channel: a finite channel in exact fractions: outputs given inputs
    divergences: divergences of two laws on finitely many outputs, sum q phi(p / q)
    gaussian: a Gaussian around a mean: (epsilon, delta)-private for every epsilon
    order: the order of channels by what they tell
    parameters: what a finite channel keeps under each definition of privacy
    promise: promises: what (epsilon, delta) implies of tests, of groups, of several releases
    testing: trade-off curves: the least error of the second kind that any test can have
"""

from dpcore.laboratory.definitions.channel import Channel, on_databases, release_one_at_random
from dpcore.laboratory.definitions.divergences import (
    CHI_SQUARED,
    HELLINGER,
    KULLBACK_LEIBLER,
    TOTAL_VARIATION,
    Divergence,
)
from dpcore.laboratory.definitions.gaussian import (
    gaussian_delta,
    gaussian_excess,
    gaussian_kullback_leibler,
    gaussian_noise,
    gaussian_total_variation,
)
from dpcore.laboratory.definitions.order import Garbling, garbling, is_less_informative
from dpcore.laboratory.definitions.parameters import (
    conditional_testing,
    delta_at,
    divergence,
    posterior_odds_change,
    pure_ratio,
    ratio_at,
    smooth_epsilon,
    total_variation,
)
from dpcore.laboratory.definitions.promise import (
    Promise,
    kullback_leibler_of_pure,
    promised_by_conditional_testing,
    total_variation_of_kullback_leibler,
)
from dpcore.laboratory.definitions.testing import (
    gaussian_trade_off,
    least_error,
    trade_off,
    trade_off_of_channel,
    trade_off_of_promise,
)

__all__ = [
    "CHI_SQUARED",
    "Channel",
    "Divergence",
    "Garbling",
    "HELLINGER",
    "KULLBACK_LEIBLER",
    "Promise",
    "TOTAL_VARIATION",
    "conditional_testing",
    "delta_at",
    "divergence",
    "garbling",
    "gaussian_delta",
    "gaussian_excess",
    "gaussian_kullback_leibler",
    "gaussian_noise",
    "gaussian_total_variation",
    "gaussian_trade_off",
    "is_less_informative",
    "kullback_leibler_of_pure",
    "least_error",
    "on_databases",
    "posterior_odds_change",
    "promised_by_conditional_testing",
    "pure_ratio",
    "ratio_at",
    "release_one_at_random",
    "smooth_epsilon",
    "total_variation",
    "total_variation_of_kullback_leibler",
    "trade_off",
    "trade_off_of_channel",
    "trade_off_of_promise",
]
