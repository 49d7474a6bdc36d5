"""Loops over reports compiled by numba where it is installed; numpy computes the same bytes where it is not.

A kernel takes words that were drawn before, in the order of numpy's path, so that a report does not depend on the path.
LDPFLOW_COMPILED selects it: `0` numpy, `1` compiled from the first report on, which requires numba.  Unset: compiled once a
process has spent about the time of compilation in calls of many clients: importing numba takes a second, and compiling a loop
another; the result is cached on disk, beside this file or in the user's cache.  A single client never waits for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from dpcore.errors import DPCoreError, installation

SETTING = "LDPFLOW_COMPILED"
FEW = 4096  # clients of one call, below which nothing is gained
_WORTH = 1 << 27  # integers that numpy handles in the time that numba takes to be there

_lock = threading.Lock()
_forced: bool | None = None
_handled = 0


@contextmanager
def compiled(on: bool) -> Iterator[None]:
    """Use one path, whatever the setting and the number of clients: compiled if `on`, else numpy.

    For tests and comparisons; it applies to all threads of the process.  Raises DPCoreError if `on` and numba is not installed.
    """
    global _forced
    if on and not is_installed():
        raise _missing()
    before, _forced = _forced, on
    try:
        yield
    finally:
        _forced = before


@cache
def is_installed() -> bool:
    """Whether numba can be imported; it is not imported."""
    return find_spec("numba") is not None


def chosen(loop: Callable[..., Any], integers: int) -> Callable[..., Any] | None:
    """Return the compiled form of one of this module's loops, or None for numpy.

    integers: about the number of integers in the call.  Raises DPCoreError if the setting is malformed, or requires numba and
    it is not installed.
    """
    return _compiled(loop) if _is_wanted(integers) else None


def _is_wanted(integers: int) -> bool:
    global _handled
    if _forced is not None:
        return _forced
    setting = os.environ.get(SETTING, "")
    if setting not in ("", "0", "1"):
        raise DPCoreError(f"{SETTING} is 0, 1 or unset, got {setting!r}")
    if setting == "1" and not is_installed():
        raise _missing()
    if setting:
        return setting == "1"
    if integers < FEW or not is_installed():
        return False
    _handled += integers  # a lost update of another thread's does not matter
    return _handled > _WORTH


def _missing() -> DPCoreError:
    return DPCoreError(f"compiled loops need numba, which is not installed; {installation('numba')}")


def _compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    with _lock:
        return _machine_code(loop)


@cache
def _machine_code(loop: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}  # no divisor is zero
    try:
        return njit(cache=True, **options)(loop)
    except RuntimeError:  # no folder that could keep it, neither beside this file nor in the user's
        return njit(**options)(loop)


# The loops.  Signed 64-bit integers, which no product or sum exceeds, but for divisions, which 32 bits are faster at.


def randomized_response(drawn: Any, values: Any, weight_in: int, weight_out: int, reported: Any) -> None:
    """The report of each client of `values`, from its integer below T."""
    for i in range(len(drawn)):
        r = np.int64(drawn[i])
        lies = np.int64(r >= weight_in)
        other = np.int64(np.uint32(lies * (r - weight_in)) // np.uint32(weight_out))
        other += other >= values[i]
        reported[i] = values[i] + lies * (other - values[i])  # no branch, which nobody could predict


def hadamard_response(column: Any, drawn: Any, values: Any, weight_in: int, symbols: Any) -> None:
    """The symbol of each client: its column and the parity with its category, or the other bit."""
    for i in range(len(column)):
        j = np.int64(column[i])
        bits = j & values[i]  # below 2^14, as a category is
        bits ^= bits >> 8
        bits ^= bits >> 4
        bits ^= bits >> 2
        bits ^= bits >> 1
        symbols[i] = j << 1 | (bits & 1) ^ (drawn[i] >= weight_in)


def wave(drawn: Any, next_draw: Any, values: Any, level: Any, starts: Any, numbers: Any, reported: Any) -> None:
    """The cell of each client.

    drawn: level after level, that of the next client of level l at next_draw[l].  starts: where each level and input cell has
    its window.  numbers: of each level k weight_in, weight_in, weight_out, k weight_out and how many cells there are.
    """
    for i in range(len(values)):
        l = level[i]
        r = np.int64(drawn[next_draw[l]])
        next_draw[l] += 1
        out = np.int64(r >= numbers[l, 0])
        weight = numbers[l, 1] + out * (numbers[l, 2] - numbers[l, 1])
        x = r + out * (numbers[l, 3] - numbers[l, 0])
        cell = np.int64(starts[l, values[i]]) + np.int64(np.uint32(x) // np.uint32(weight))
        reported[i] = cell - numbers[l, 4] * (cell >= numbers[l, 4])


def local_hashing(
    slope: Any, shift: Any, drawn: Any, values: Any, prime: int, bins: int, weight_in: int, weight_out: int, rows: Any
) -> None:
    """Slope, shift and bin of each client; slope: less one; drawn: its integer below T."""
    for i in range(len(values)):
        a = np.int64(slope[i]) + 1
        x = a * values[i] + np.int64(shift[i])
        x -= np.int64(np.uint32(x) // np.uint32(prime)) * prime
        hashed = np.int64(np.uint32(x * bins) // np.uint32(prime))
        r = np.int64(drawn[i])
        lies = np.int64(r >= weight_in)
        other = np.int64(np.uint32(lies * (r - weight_in)) // np.uint32(weight_out))
        other += other >= hashed
        rows[i, 0] = a
        rows[i, 1] = shift[i]
        rows[i, 2] = hashed + lies * (other - hashed)


def subset_selection(drawn: Any, holds: Any, values: Any, member: Any, subsets: Any) -> None:
    """The sorted subset of each client, by Floyd's numbers, (w, n); member: zeros, (k,), to be written on."""
    size, n = drawn.shape
    first = len(member) - 1 - size
    row = np.empty(size + 1, dtype=np.int64)  # one place more, for what comes after the last member
    for i in range(n):
        true = values[i]
        for step in range(size):
            place = np.int64(drawn[step, i])
            place += place >= true
            last = first + step + (first + step >= true)
            place += member[place] * (last - place)
            member[place] = step > 0 or not holds[i]
        member[true] = holds[i]
        filled = 0
        for category in range(len(member)):
            row[filled] = category
            filled += member[category]
            member[category] = 0
        for step in range(size):
            subsets[i, step] = row[step]


def settled(succeeds: Any, alive: Any, odd: Any, is_odd: bool) -> int:
    """Keep those of `alive` whose trial succeeds, in place, and return their number; mark the others in `odd` if `is_odd`."""
    survivors = 0
    for j in range(len(alive)):
        index = alive[j]
        if is_odd:
            odd[index] = odd[index] or not succeeds[j]
        alive[survivors] = index
        survivors += 1 if succeeds[j] else 0
    return survivors


def are_below(level: Any, values: Any, limits: Any) -> bool:
    """Whether each of the values (n,), unsigned, is below the limit of its level, each level one of the limits'."""
    above = False
    for i in range(len(level)):
        above |= values[i] >= limits[level[i]]
    return not above


def wave_counts(level: Any, values: Any, outputs: Any, counts: Any) -> bool:
    """Count the cells of each level in counts (levels, cells); False at the first report that no client could have sent."""
    for i in range(len(level)):
        l, cell = level[i], values[i]
        if l >= len(outputs) or cell < 0 or cell >= outputs[l]:
            return False
        counts[l, cell] += 1
    return True


def unary_ones(rows: Any, sums: Any, held: Any, carry: Any) -> None:
    """Add up pairs of rows (2 m, L) of 32-bit integers, bit by bit: a counter of each bit, spread over integers.

    sums: zeros, (D, L), uint32, D above log2 m + 1: digit d of each bit's counter.  held: zeros, (D, L): what waits to be added
    to digit d.  carry: (L,), to be written on.  A count is the sum of 2^d over the digits' ones and over what waits.
    """
    for pair in range(len(rows) // 2):
        for lane in range(rows.shape[1]):  # full adders, as many as there are bits, without a branch
            one, two = np.uint32(rows[2 * pair, lane]), np.uint32(rows[2 * pair + 1, lane])
            differ = sums[0, lane] ^ one
            carry[lane] = (sums[0, lane] & one) | (differ & two)
            sums[0, lane] = differ ^ two
        digit = 1
        while pair >> (digit - 1) & 1:  # two carries are there, of this pair and of one before
            for lane in range(rows.shape[1]):
                one, two = held[digit, lane], carry[lane]
                differ = sums[digit, lane] ^ one
                carry[lane] = (sums[digit, lane] & one) | (differ & two)
                sums[digit, lane] = differ ^ two
                held[digit, lane] = 0
            digit += 1
        for lane in range(rows.shape[1]):
            held[digit, lane] = carry[lane]


def hashed_supports(rows: Any, edges: Any, prime: int, turns: Any, supports: Any) -> bool:
    """Add up how many of the reports (n, 3) support each category, (k,); False at one that no client could have sent.

    turns: zeros, (P, P), int32, to be written on: what begins at each residue for reports of a slope, less what ends.
    """
    bins = len(edges) - 1
    for i in range(len(rows)):
        a, b, v = rows[i, 0], rows[i, 1], rows[i, 2]
        if a < 1 or a >= prime or b < 0 or b >= prime or v < 0 or v >= bins:
            return False
        begin, end = edges[v] - b, edges[v + 1] - b
        begin += prime * (begin < 0)
        end += prime * (end < 0) - prime * (end == prime)
        turns[a, begin] += 1
        turns[a, end] -= 1
        turns[a, 0] += end <= begin  # the arc crosses residue 0
    for a in range(1, prime):
        covered = np.int32(0)
        for residue in range(prime):
            covered += turns[a, residue]
            turns[a, residue] = covered
        residue = 0
        for category in range(len(supports)):
            supports[category] += turns[a, residue]
            residue += a - prime * (residue + a >= prime)
    return True
