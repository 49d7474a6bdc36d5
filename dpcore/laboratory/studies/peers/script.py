"""Measures how fast the peers' packages privatize; run by the peers' own interpreter, which has none of ours.

First it writes one line of JSON, peer -> what is wrong with its import ('' where nothing is).  Then it reads lines 'OPERATION
SIZE' and answers each with one line, peer -> clients, or noise coordinates, a second of processor time; a peer without the
operation is absent, and so is one whose call fails.  What the packages print goes to standard error.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import exp
from time import process_time
from typing import Any

SECONDS = 0.1  # of processor time, the least of one measurement
EPSILON = 1.0
FEW = 200  # clients between two looks at the clock
Operation = tuple[Callable[[], Any], int]  # a call, and how many it handles

warnings.simplefilter("ignore")


def main() -> None:
    """Answer standard input, line by line, until it ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    factories: dict[str, Callable[[str, int], Operation | None]] = {}
    faults = {}
    for name, (package, operations) in PEERS.items():
        try:
            called = f"{name} {version(package)}"
        except PackageNotFoundError:
            faults[name] = "is not installed"
            continue
        try:
            factories[called] = operations()
            faults[called] = ""
        except Exception as error:  # whatever a package raises when it is imported
            faults[called] = f"{type(error).__name__}: {error}".splitlines()[0]
    print(json.dumps(faults), file=answers, flush=True)
    cache: dict[tuple[str, str, int], Operation | None] = {}
    for line in sys.stdin:
        operation, size = line.split()[0], int(line.split()[1])
        rates = {}
        for name, operations_of in factories.items():
            key = (name, operation, size)
            try:
                if key not in cache:
                    cache[key] = operations_of(operation, size)
                    if cache[key] is not None:
                        cache[key][0]()  # type: ignore[index]  # compiled now, where a package compiles
                call = cache[key]
                if call is not None:
                    rates[name] = _rate(*call)
            except Exception:
                cache[key] = None
        print(json.dumps(rates), file=answers, flush=True)


def _rate(call: Callable[[], Any], count: int) -> float:
    done, begun = 0, process_time()
    while True:
        call()
        done += count
        spent = process_time() - begun
        if spent >= SECONDS:
            return done / spent


def _one_by_one(client: Callable[[int], Any], size: int) -> Operation:
    """Calling a client's function for one person after another."""
    values = [i % size for i in range(FEW)]

    def call() -> None:
        for value in values:
            client(value)

    return call, FEW


def _pure_ldp() -> Callable[[str, int], Operation | None]:
    direct = import_module("pure_ldp.frequency_oracles.direct_encoding")
    hadamard = import_module("pure_ldp.frequency_oracles.hadamard_response")

    def operation(name: str, size: int) -> Operation | None:
        if name == "randomized_response":
            client = direct.DEClient(EPSILON, size)
        elif name == "hadamard_response":
            server = hadamard.HadamardResponseServer(EPSILON, size)
            client = hadamard.HadamardResponseClient(EPSILON, size, server.get_hash_funcs())
        else:
            return None
        return _one_by_one(lambda value: client.privatise(value + 1), size)

    return operation


def _multi_freq_ldpy() -> Callable[[str, int], Operation | None]:
    response = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")

    def operation(name: str, size: int) -> Operation | None:
        if name != "randomized_response":
            return None
        return _one_by_one(lambda value: response.GRR_Client(value, size, EPSILON), size)

    return operation


def _opendp() -> Callable[[str, int], Operation | None]:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")

    def operation(name: str, size: int) -> Operation | None:
        if name == "randomized_response":
            truth = exp(EPSILON) / (exp(EPSILON) + size - 1)
            return _one_by_one(dp.m.make_randomized_response(list(range(size)), prob=truth), size)
        if name == "discrete_laplace":
            space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
            noisy, zeros = dp.m.make_laplace(*space, scale=1.0), [0] * size
            return lambda: noisy(zeros), size
        return None

    return operation


def _diffprivlib() -> Callable[[str, int], Operation | None]:
    mechanisms = import_module("diffprivlib.mechanisms")

    def operation(name: str, size: int) -> Operation | None:
        if name != "randomized_response":
            return None
        names = [str(i) for i in range(size)]
        utility = [[a, b, 1.0] for i, a in enumerate(names) for b in names[:i]]
        client = mechanisms.ExponentialCategorical(epsilon=EPSILON, utility_list=utility)
        return _one_by_one(lambda value: client.randomise(names[value]), size)

    return operation


def _trasgodp() -> Callable[[str, int], Operation | None]:
    response = import_module("trasgodp.categorical").dp_randomized_response_kary_array
    numpy = import_module("numpy")

    def operation(name: str, size: int) -> Operation | None:
        if name != "randomized_response":
            return None
        people = numpy.array([f"c{i % size}" for i in range(1 << 16)])
        return lambda: response(people, EPSILON), len(people)

    return operation


PEERS: dict[str, tuple[str, Callable[[], Callable[[str, int], Operation | None]]]] = {
    "pure-ldp": ("pure-ldp", _pure_ldp),
    "multi-freq-ldpy": ("multi-freq-ldpy", _multi_freq_ldpy),
    "opendp": ("opendp", _opendp),
    "diffprivlib": ("diffprivlib", _diffprivlib),
    "trasgoDP": ("trasgoDP", _trasgodp),
}

if __name__ == "__main__":
    main()
