"""Local differential privacy, from one respondent's record to estimates with their uncertainty.  Start with `pipeline.py`.

Modules:
    __main__: the entry point of the command `ldpflow`
    _lazy: exports of packages, imported on first use
    _random: sources of randomness, always passed as an argument
    audit/: privacy audits: exact loss by enumeration, and attacks on the client's code
    cli/: the command line `ldpflow`
    client: the client half: one record to one report
    collector/: the HTTP service that serves schemes and receives reports
    conformance/: test cases for clients in any language
    errors: the exceptions of dpcore, the range checks that raise them, and the extras of an installation
    estimation/: estimates with uncertainty from aggregates
    functionals/: functionals of a density or a joint distribution, with their influence functions
    laboratory/: studies, benchmarks and reproductions, in a checkout only
    mechanisms/: local randomizers: client half, aggregator half, certificate
    pipeline: the whole protocol on one page: privatize, aggregate, simulate, estimate, run
    populations/: simulated populations with known distributions, and readers of record files
    privacy/: budgets, ledgers, memoization, odds, and amplification by shuffling
    protocol/: the agreement and the messages of clients and aggregator: schemes, reports, aggregates
    results/: tables, warehouse, checks, charts and pages of landed rounds
    rounds/: the steps of a round on a folder, planning and maintenance
    wire/: serialization: reports, aggregates, bundles and ledgers as bytes and files
"""

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
    "privatize": "dpcore.protocol.records.blocks",
    "regress": "dpcore.estimation.regression.regression",
    "run": "dpcore.pipeline",
    "secure": "dpcore._random",
    "seeded": "dpcore._random",
    "simulate": "dpcore.pipeline",
    "trend": "dpcore.estimation.trend.trend",
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
    from dpcore.estimation.regression.regression import regress
    from dpcore.estimation.trend.trend import trend
    from dpcore.pipeline import aggregate, estimate, joint, run, simulate
    from dpcore.privacy.budget import Budget
    from dpcore.protocol.aggregates import Aggregate
    from dpcore.protocol.records.blocks import privatize
    from dpcore.protocol.scheme import Scheme


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # of the installation, also of a checkout

        return version("ldpflow")
    if name not in _EXPORTS:
        raise AttributeError(f"module 'dpcore' has no attribute {name!r}; it has {', '.join(__all__)}")
    module = _EXPORTS[name]
    try:
        return getattr(import_module(module), name) if module else import_module(f"dpcore.{name}")
    except ModuleNotFoundError as error:
        from dpcore.errors import installation

        if (remedy := installation(error.name or "")) is None:
            raise
        raise ModuleNotFoundError(f"{error}; {remedy}", name=error.name) from None


def __dir__() -> list[str]:
    return __all__
