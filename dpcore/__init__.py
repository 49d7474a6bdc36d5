"""Local differential privacy, from one person's record to honest estimates.  Start with `pipeline.py`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# One table, read on first use, so that `dpcore.client` needs numpy only.
_EXPORTS = {
    "Aggregate": "dpcore.protocol.aggregates",
    "Budget": "dpcore.privacy.budget",
    "Client": "dpcore.client",
    "ExpectationMaximization": "dpcore.estimation.estimators",
    "Fixed": "dpcore.estimation.estimators",
    "Frequency": "dpcore.estimation.estimators",
    "Lepski": "dpcore.estimation.estimators",
    "LogSpline": "dpcore.estimation.estimators",
    "Projection": "dpcore.estimation.estimators",
    "Scheme": "dpcore.protocol.scheme",
    "Undersmoothed": "dpcore.estimation.estimators",
    "aggregate": "dpcore.pipeline",
    "combine": "dpcore.estimation.inference.two_rounds",
    "compare": "dpcore.estimation.inference.comparison",
    "compare_frequencies": "dpcore.estimation.inference.comparison",
    "estimate": "dpcore.pipeline",
    "functionals": "",
    "joint": "dpcore.pipeline",
    "keyed": "dpcore._random",
    "privatize": "dpcore.protocol.records.privatization",
    "run": "dpcore.pipeline",
    "secure": "dpcore._random",
    "seeded": "dpcore._random",
    "simulate": "dpcore.pipeline",
}

__all__ = sorted(_EXPORTS)

if TYPE_CHECKING:
    from dpcore import functionals
    from dpcore._random import keyed, secure, seeded
    from dpcore.client import Client
    from dpcore.estimation.estimators import (
        ExpectationMaximization,
        Fixed,
        Frequency,
        Lepski,
        LogSpline,
        Projection,
        Undersmoothed,
    )
    from dpcore.estimation.inference.comparison import compare, compare_frequencies
    from dpcore.estimation.inference.two_rounds import combine
    from dpcore.pipeline import aggregate, estimate, joint, run, simulate
    from dpcore.privacy.budget import Budget
    from dpcore.protocol.aggregates import Aggregate
    from dpcore.protocol.records.privatization import privatize
    from dpcore.protocol.scheme import Scheme


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # of what is installed, a checkout's included

        return version("ldpflow")
    if name not in _EXPORTS:
        raise AttributeError(f"module 'dpcore' has no attribute {name!r}; it has {', '.join(__all__)}")
    module = _EXPORTS[name]
    return getattr(import_module(module), name) if module else import_module(f"dpcore.{name}")


def __dir__() -> list[str]:
    return __all__
