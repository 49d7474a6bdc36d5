"""Wavelet Laplace: spline-wavelet coefficients of one's value plus discrete Laplace noise, all integers.

The mechanism of [Szabo2024], made exact: quantised input, integer coefficient tables that are the same on every machine,
sensitivities exact by enumeration, exact discrete noise.  Three allocations of the budget:

- `sample` (default): each client reports one block of the basis, drawn from a public law, with the whole budget.
- `split`: each client reports all blocks, the budget split so that the integrated noise is least.
- `paper`: each client reports all blocks with the literal scales of the paper, a > 1.  For comparison: its noise is
  10^3 to 10^5 times that of `sample`.

Two kinds of basis: `spline`, the semi-orthogonal one of the source, and PyWavelets' biorthogonal spline family, "bior2.4" and
others, which is periodic.  At the same degree and level `spline` has less noise; the second is there to be compared.

Two kinds of noise: `discrete_laplace`, and `discrete_gaussian` for the relaxed promise (epsilon, delta) of the source, with
`sample` only.  Its tables' l2 sensitivity counts, which many coefficients at once do not raise as much as the l1 one.

Time.  The noise is drawn before the record is looked at, so that the time of a draw does not depend on the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from dpcore._random import WORD, Source
from dpcore.errors import CalibrationError, check_one_of
from dpcore.mechanisms.base import Certificate, Labels, Mechanism
from dpcore.mechanisms.bases import Basis, FilterBank, registry
from dpcore.mechanisms.bases.bspline import LARGEST_DEGREE
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level
from dpcore.mechanisms.calibration import allocation as _allocation
from dpcore.mechanisms.calibration import level_sampling
from dpcore.mechanisms.calibration import tables as _tables
from dpcore.mechanisms.calibration.tables import Scales
from dpcore.mechanisms.declaration import Option, integer, integers, mechanism
from dpcore.mechanisms.noise import discrete_gaussian
from dpcore.mechanisms.noise.noise_kinds import GAUSSIAN, LAPLACE, NOISES, TAIL, check_noise, likely_scales
from dpcore.mechanisms.observation_model import NoisyFeatures
from dpcore.mechanisms.report_sums import in_ranges, sums_of
from dpcore.mechanisms.reports import Reports, pieces, sorted_by, starts_of
from dpcore.privacy.budget import Budget
from dpcore.privacy.concentrated import approximate_epsilon

_LEVELS = ("degree", "coarsest_level", "finest_level")


@mechanism(
    "wavelet_laplace",
    attributes={"numeric"},
    estimators=("projection", "log_spline"),
    title="wavelet Laplace",
    words="how coarsely the value was looked at, drawn without looking, and a few coefficients with noise",
    options=(
        Option(
            "basis",
            str,
            choices=registry.NAMES,
            refused=registry.REFUSED,
            default=registry.SPLINE,
            words="the source's wavelets, or PyWavelets' biorthogonal splines, periodic and noisier",
        ),
        Option("degree", int, most=LARGEST_DEGREE, words="of the splines: 2, or that in the name of the basis"),
        Option("coarsest_level", int, words="where the wavelets begin: 1, 2, 3 or 3, by degree"),
        Option("finest_level", int, words="where they end: what the planned clients can use"),
        Option(
            "allocation",
            str,
            choices=_allocation.ALLOCATIONS,
            default="sample",
            words="how the budget is shared out among the levels",
        ),
        Option("a", Fraction, words='exponent of allocation = "paper", above 1: 3/2'),
        Option("cells", int, words="input cells, a power of two of at least 2^(finest_level + 4)"),
        Option("noise", str, choices=tuple(NOISES), default=LAPLACE, words="what is added to the coefficients"),
        Option(
            "delta",
            Fraction,
            default=Fraction(0),
            words=f'of noise = "{GAUSSIAN}", which keeps (epsilon, delta) and not epsilon: above 0, at most 1/100',
        ),
    ),
    scheme_facts=("clients",),
)
@dataclass(frozen=True)
class WaveletLaplace(Mechanism):
    """Report wavelet coefficients of the input cell, each with discrete Laplace noise of an integer scale.

    basis: the blocks.  cells: input cells of [0, 1], a power of two.  allocation: 'sample', 'split' or 'paper'.
    scales: the boundary scales of each wavelet level, out of 256.  noise_scales: t_b of each block, lattice units, 1..2^32.
    level_law: integer weights of the blocks that sum to 2^16, for `sample`.  a: the paper's exponent, for `paper`.
    noise: 'discrete_laplace' or 'discrete_gaussian'.  delta: 0 for the first; above 0 and at most 1/100 for the second.

    Privacy.  Claim: Pr(report | x) <= e^epsilon Pr(report | x') for all x, x' and all reports.
        1. x enters through its cell alone, and a report is rows of integer tables plus independent discrete Laplace noise.
        2. One block b: the log-ratio is at most ||T_b[x] - T_b[x']||_1 / t_b, by the triangle inequality in each entry.
        3. `sample`: the block is drawn without looking at x, so the loss is the largest over blocks of Delta_b / t_b.
        4. `split`, `paper`: blocks have independent noise, so losses add up before the maximum over pairs of cells.
        5. Both maxima are taken over all pairs of cells, in fractions; the constructor refuses more than epsilon.
    Gaussian noise.  Claim: Pr(report in A | x) <= e^epsilon Pr(report in A | x') + delta for all x, x' and all A.
        1. As above; the block is public and drawn without looking at x, so that the claim for each block is enough.
        2. Block b: discrete Gaussians of scale s_b, one shifted by an integer vector of length D, have Renyi divergences of
           order a of at most a D^2 / (2 s_b^2) [Canonne2020].
        3. D^2 is at most the largest squared distance of two rows, over all pairs of cells, an integer.
        4. `privacy.concentrated` turns the largest Delta_b^2 / (2 s_b^2) into an epsilon at delta, a fraction that is an upper
           bound.
        5. The constructor refuses more than epsilon.

    Raises CalibrationError where the noise does not keep the budget, SchemeError for malformed parameters.

    >>> mechanism = WaveletLaplace.design(Budget.parse("1"), degree=1, coarsest_level=2, finest_level=3)
    >>> mechanism.sizes, mechanism.certificate().holds
    ((5, 4, 8), True)
    """

    budget: Budget
    basis: Basis
    cells: int
    allocation: str
    scales: Scales
    noise_scales: tuple[int, ...]
    level_law: tuple[int, ...] = ()
    a: Fraction | None = None
    noise: str = LAPLACE
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        _allocation.check_allocation(self.allocation, self.basis, self.a)
        check_noise(self.noise, self.delta, self.allocation)
        largest = discrete_gaussian.LARGEST if self.is_gaussian else WORD
        if len(self.noise_scales) != self.basis.blocks or any(not 1 <= t <= largest for t in self.noise_scales):
            raise CalibrationError(
                f"noise_scales must be {self.basis.blocks} integers in 1..2^{largest.bit_length() - 1}, got "
                f"{list(self.noise_scales)}; epsilon = {self.budget.text} may be too small"
            )
        if self.is_sampled:
            level_sampling.check_weights(self.level_law, self.basis.blocks)
        elif self.level_law:
            raise CalibrationError(f"level_law belongs to allocation = 'sample', not to {self.allocation!r}")
        self.check_certificate()

    @classmethod
    def design(
        cls,
        budget: Budget,
        *,
        basis: str = registry.SPLINE,
        degree: int | None = None,
        coarsest_level: int | None = None,
        finest_level: int | None = None,
        allocation: str = "sample",
        a: Fraction | None = None,
        cells: int | None = None,
        clients: int = 100_000,
        noise: str = LAPLACE,
        delta: Fraction = Fraction(0),
    ) -> WaveletLaplace:
        """Return the mechanism that keeps `budget` exactly with the least noise its allocation allows.

        The options are those declared above; clients: how many are planned; sets the finest level if none is declared.
        cells: by default 2^max(12, finest_level + 4).  Raises CalibrationError or SchemeError for values out of range.
        """
        check_one_of(_allocation.ALLOCATIONS, allocation=allocation)
        check_noise(noise, delta, allocation)
        degree = registry.degree_of(basis, degree)
        coarsest = smallest_coarsest_level(degree) if coarsest_level is None else coarsest_level
        if finest_level is None:
            finest_level = max(coarsest, _tables.default_finest_level(clients, float(budget), degree))
        functions = registry.build(basis, degree, coarsest, finest_level)
        cells = _tables.default_cells(finest_level) if cells is None else cells
        if allocation == "paper" and a is None:
            a = _allocation.USUAL_EXPONENT
        if noise == GAUSSIAN:
            scales, noise_scales = _allocation.gaussian_scales(budget.floor, delta, functions, cells)
        else:
            scales, noise_scales = _allocation.design_scales(budget.floor, functions, cells, allocation, a)
        law = level_sampling.level_weights(functions.blocks) if allocation == "sample" else ()
        return cls(budget, functions, cells, allocation, scales, noise_scales, law, a, noise, delta)

    @classmethod
    def _read(cls, budget: Budget, parameters: Mapping[str, Any]) -> Self:
        """Everything about privacy is computed again; what the scheme states of its tables must be what they are."""
        levels = (integer(parameters[key]) for key in _LEVELS)
        basis = registry.build(str(parameters.get("basis", registry.SPLINE)), *levels)
        cells, scales = integer(parameters["cells"]), tuple(map(integers, parameters["boundary_scales"]))
        _check_stated(parameters, table_sha256=_tables.digest_of(basis, cells, scales))
        mechanism = cls(
            budget,
            basis,
            cells,
            str(parameters["allocation"]),
            scales,
            integers(parameters["noise_scales"]),
            integers(parameters.get("level_law", ())),
            Fraction(str(parameters["a"])) if "a" in parameters else None,
            str(parameters.get("noise", LAPLACE)),
            Fraction(str(parameters.get("delta", 0))),
        )
        _check_stated(parameters, sensitivity=list(mechanism.sensitivity))
        return mechanism

    def parameters(self) -> Mapping[str, Any]:
        parameters: dict[str, Any] = {"basis": self.basis.name} if isinstance(self.basis, FilterBank) else {}
        parameters |= {key: getattr(self.basis, key) for key in _LEVELS}
        parameters |= {"cells": self.cells, "allocation": self.allocation}
        if self.a is not None:
            parameters["a"] = str(self.a)
        if self.is_gaussian:
            parameters |= {"noise": self.noise, "delta": str(self.delta)}
        if self.level_law:
            parameters["level_law"] = list(self.level_law)
        parameters |= {
            "boundary_scales": [list(level) for level in self.scales],
            "noise_scales": list(self.noise_scales),
            "sensitivity": list(self.sensitivity),
            "table_sha256": self.table_sha256,
        }
        return parameters

    @property
    def is_sampled(self) -> bool:
        """Whether a client sends one block only."""
        return self.allocation == "sample"

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian and the promise (epsilon, delta)."""
        return self.noise == GAUSSIAN

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """Per block the integers of each input cell, shapes (cells, K_b)."""
        return _tables.integer_tables(self.basis, self.cells, self.scales)

    @property
    def table_sha256(self) -> str:
        """SHA-256 of the tables, 64 hex digits."""
        return _tables.digest_of(self.basis, self.cells, self.scales)

    @property
    def sensitivity(self) -> tuple[int, ...]:
        """Per block the largest l1 distance of two rows, exact; the largest squared l2 distance for Gaussian noise."""
        if self.is_gaussian:
            return _allocation.squared_sensitivities(self.basis, self.cells, self.scales)
        return _allocation.sensitivities(self.basis, self.cells, self.scales)

    @cached_property
    def loss(self) -> Fraction:
        """The largest loss of one report, natural-log units, exact; for Gaussian noise an epsilon that holds at delta."""
        if self.is_gaussian:
            pairs = zip(self.sensitivity, self.noise_scales, strict=True)
            return approximate_epsilon(max(Fraction(square, 2 * s * s) for square, s in pairs), self.delta)
        if self.is_sampled:
            return max(Fraction(delta, t) for delta, t in zip(self.sensitivity, self.noise_scales, strict=True))
        return _allocation.loss_together(self.basis, self.cells, self.scales, self.noise_scales)

    def certificate(self) -> Certificate:
        return Certificate("loss", self.loss, self.budget, self.sensitivity, self.delta)

    @property
    def inputs(self) -> int:
        return self.cells

    @property
    def sizes(self) -> tuple[int, ...]:
        widths = tuple(self.basis.size(block) for block in range(self.basis.blocks))
        return widths if self.is_sampled else (sum(widths),)

    def draw_levels(self, n: int, random: Source) -> np.ndarray:
        return level_sampling.draw_levels(self.level_law, n, random) if self.is_sampled else np.zeros(n, dtype=np.uint8)

    def privatize(self, values: np.ndarray, random: Source, levels: np.ndarray | None = None) -> Reports:
        level = self.public_levels(len(values), random, levels)
        starts = starts_of(level, self.sizes)
        sent = np.empty(starts[-1], dtype=np.int64)
        for number in range(len(self.sizes)):
            noise, done = self._noise(number, int(np.count_nonzero(level == number)), random), 0
            for clients, positions in pieces(level, starts, number):
                sent[positions] = noise[done : done + len(clients)]
                done += len(clients)
        values = self.input_cells(values)  # looked at only now
        for number in range(len(self.sizes)):
            for clients, positions in pieces(level, starts, number):
                sent[positions] += self._rows(number, values[clients])
        return Reports(level, sent)

    def _noise(self, level: int, n: int, random: Source) -> np.ndarray:
        """Noise of n reports of a level, shape (n, size), the scale of each entry that of its block."""
        sample, blocks = NOISES[self.noise].sample, [(b, self.basis.size(b)) for b in self._blocks(level)]
        drawn = [sample(self.noise_scales[b], n * size, random).reshape(n, size) for b, size in blocks]
        return drawn[0] if self.is_sampled else np.concatenate(drawn, axis=1)

    def _rows(self, level: int, values: np.ndarray) -> np.ndarray:
        rows = [self.tables[b][values] for b in self._blocks(level)]
        return rows[0] if self.is_sampled else np.concatenate(rows, axis=1)

    def _blocks(self, level: int) -> Sequence[int]:
        """The blocks in a report of a level."""
        return (level,) if self.is_sampled else range(self.basis.blocks)

    def ranges(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        return -self._accepted[level], self._accepted[level]

    def is_likely(self, reports: Reports, clients: int) -> np.ndarray:
        """Return which reports are within |z| <= max |T_b| + t_b ln(n K / 0.01), K integers in each of n clients' reports.

        The limit bounds by how much a malicious client can move an average.  Honest noise passes t ln(n K / 0.01) with
        probability 0.01 / (n K), so that about one honest report in a hundred rounds is refused, which moves no average by
        1 / sqrt(n) of its standard error.  sqrt(2 ln(n K / 0.01)) scales for Gaussian noise.
        """
        return in_ranges(
            reports, [(-limit, limit) for limit in self._limits(likely_scales(self.noise, clients * max(self.sizes)))]
        )

    def furthest(self, weights: np.ndarray, clients: int) -> Reports:
        signs = self._by_level(self._model.split(np.asarray(weights))[1])
        limits = self._limits(likely_scales(self.noise, clients * max(self.sizes)))
        sent = [np.sign(sign).astype(np.int64) * limit for sign, limit in zip(signs, limits, strict=True)]
        return Reports(np.arange(len(sent), dtype=np.uint8), np.concatenate(sent))

    @cached_property
    def _accepted(self) -> tuple[np.ndarray, ...]:
        """Per level the largest |integer| accepted: the largest feature plus so many scales, beyond 2^-64 of honest noise."""
        return self._limits(TAIL[self.noise])

    def _limits(self, scales: float) -> tuple[np.ndarray, ...]:
        """Per level the largest feature plus so many scales, rounded down, for each integer."""
        per_block = [
            np.full(table.shape[1], int(int(np.max(np.abs(table))) + scales * t), dtype=np.int64)
            for t, table in zip(self.noise_scales, self.tables, strict=True)
        ]
        return self._by_level(per_block)

    def _by_level(self, per_block: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """What belongs to each block, for each level: its block, or all of them where a client sends all."""
        return tuple(per_block) if self.is_sampled else (np.concatenate(per_block),)

    def statistics(self, reports: Reports) -> np.ndarray:
        return self.statistics_by(reports, np.zeros(len(reports), dtype=np.int64), 1)[0]

    def statistics_by(self, reports: Reports, groups: np.ndarray, many: int) -> np.ndarray:
        order, ends = sorted_by(reports.level.astype(np.int64) * many + groups, len(self.sizes) * many)
        starts = starts_of(reports.level, self.sizes)[order]
        parts = [ends[level * many : (level + 1) * many + 1] for level in range(len(self.sizes))]
        sums = [sums_of(reports.values, starts, part, size) for part, size in zip(parts, self.sizes, strict=True)]
        counts = np.diff(ends).reshape(-1, many).T
        held = counts if self.is_sampled else np.repeat(counts, self.basis.blocks, axis=1)
        return np.concatenate([held, *sums], axis=1)

    def labels(self) -> Labels:
        widths = [self.basis.size(block) for block in range(self.basis.blocks)]
        blocks, cells = np.arange(len(widths)), [np.arange(width) for width in widths]
        statistic = np.repeat(["reports", "sum"], [len(widths), sum(widths)])
        level = np.concatenate([blocks, np.repeat(blocks, widths)])
        return Labels(statistic, level, np.concatenate([0 * blocks, *cells]))

    def simulate(self, counts: np.ndarray, random: Source) -> np.ndarray:
        counts = np.asarray(counts, dtype=np.int64)
        if self.is_sampled:
            law = np.array(self.level_law) / level_sampling.TOTAL
            occupied = np.flatnonzero(counts)
            by_block = np.zeros((self.cells, self.basis.blocks), dtype=np.int64)
            by_block[occupied] = random.generator().multinomial(counts[occupied], law)
        else:
            by_block = np.repeat(counts[:, None], self.basis.blocks, axis=1)
        reports, tables = by_block.sum(axis=0), _tables.sparse_tables(self.basis, self.cells, self.scales)
        sums = [
            tables[block] @ by_block[:, block]
            + NOISES[self.noise].simulate_sums(int(reports[block]), t, self.basis.size(block), random)
            for block, t in enumerate(self.noise_scales)
        ]
        return np.concatenate([reports, *sums])

    def model(self) -> NoisyFeatures:
        return self._model

    @cached_property
    def _model(self) -> NoisyFeatures:
        return NoisyFeatures(
            basis=self.basis,
            tables=self.tables,
            units=tuple(_allocation.block_units(self.basis, self.scales, b) for b in range(self.basis.blocks)),
            noise_variances=np.array([NOISES[self.noise].variance(t) for t in self.noise_scales]),
            block_law=np.array(self.level_law) / level_sampling.TOTAL if self.is_sampled else None,
        )


def _check_stated(parameters: Mapping[str, Any], **computed: Any) -> None:
    """Raise CalibrationError where a scheme states something else of its tables than was computed here."""
    for key, value in computed.items():
        if parameters[key] != value:
            raise CalibrationError(
                f"the coefficient tables computed here have {key} = {value}, the scheme states {parameters[key]!r}; both "
                "sides must use the same version: leave out the client table to have it computed"
            )
