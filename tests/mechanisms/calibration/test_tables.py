"""Integer tables: the rounded means of the functions, the same on every machine."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dpcore.errors import SchemeError
from dpcore.mechanisms.bases import SplineWavelet
from dpcore.mechanisms.bases.spline_wavelet import smallest_coarsest_level
from dpcore.mechanisms.calibration import tables as module
from dpcore.mechanisms.calibration.tables import (
    default_cells,
    integer_tables,
    largest_wavelet_value,
    tables_digest,
    unscaled,
)

# Frozen on one machine: another one, another numpy or another scipy must give the same bits.
DIGESTS = {
    0: "9d964b7b905791115c0bc2fa00fc80b4aa8fc9ad8c7ee20ddadb44b89b2be3b6",
    1: "bbdf5ec225237fdb4cf693f030dde989c0bf6e7512581ce9ab1f0e853b4cec8b",
    2: "63834c0a7d55d5340cb956d8b0601164ac266d1a9b25a87a8f797d1862ffdd0e",
    3: "a93f1de0e1cd3f1f2184aa1d9ebc4be4d791ee0be6c33f7641de761b78ab6079",
}


def test_tables_are_the_rounded_means_over_the_cells(subtests: pytest.Subtests) -> None:
    for degree in range(4):
        with subtests.test(degree=degree):
            basis = SplineWavelet(degree, smallest_coarsest_level(degree), 5)
            scales = tuple(tuple(256 - 30 * k - block for k in range(degree)) for block in range(basis.blocks - 1))
            cells = default_cells(5)
            nodes, weights = np.polynomial.legendre.leggauss(4)
            x = ((np.arange(cells)[:, None] + (nodes + 1) / 2) / cells).ravel()
            for block, table in enumerate(integer_tables(basis, cells, scales)):
                means = np.einsum("cgk,g->ck", basis.evaluate(x, block).reshape(cells, 4, -1), weights / 2)
                columns = np.ones(basis.size(block))
                if block and degree:
                    columns[:degree] = np.array(scales[block - 1]) / 256
                    columns[-degree:] = columns[:degree][::-1]
                exact = means * columns * 2 ** (16 - basis.level(block) / 2)
                assert table.dtype == np.int64
                assert np.abs(table - exact).max() <= 0.5 + 1e-6


def test_every_machine_gets_the_same_tables(subtests: pytest.Subtests) -> None:
    for degree in range(4):
        with subtests.test(degree=degree):
            basis = SplineWavelet(degree, 3, 5)
            assert tables_digest(integer_tables(basis, 4096, unscaled(basis))) == DIGESTS[degree]


def test_ends_mirror_and_a_uniform_density_has_no_wavelet_coefficients(subtests: pytest.Subtests) -> None:
    for degree in range(4):
        with subtests.test(degree=degree):
            basis = SplineWavelet(degree, 3, 6)
            splines, *wavelets = integer_tables(basis, 4096, unscaled(basis))
            assert np.array_equal(splines, splines[::-1, ::-1])
            assert np.abs(splines.sum(axis=1) - module.LATTICE).max() <= 1
            for table in wavelets:
                assert np.array_equal(np.abs(table), np.abs(table[::-1, ::-1]))
                assert np.abs(table.sum(axis=0)).max() <= 40  # 4096 roundings, up to 2^28 in all


def test_the_largest_tables_take_less_than_two_seconds() -> None:
    start = time.process_time()
    basis = SplineWavelet(3, 3, 8)
    integer_tables.__wrapped__(basis, default_cells(8), unscaled(basis))
    assert time.process_time() - start < 2


def test_no_float_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables come out the same when every float square root would be wrong."""
    basis = SplineWavelet(2, 3, 4)
    wanted = tables_digest(integer_tables.__wrapped__(basis, 4096, unscaled(basis)))
    monkeypatch.setattr("math.sqrt", lambda x: 17.0)
    monkeypatch.setattr("numpy.sqrt", lambda x: 17.0)
    assert tables_digest(integer_tables.__wrapped__(basis, 4096, unscaled(basis))) == wanted


def test_the_largest_wavelet_value_is_at_least_every_other(subtests: pytest.Subtests) -> None:
    for degree in range(4):
        with subtests.test(degree=degree):
            basis = SplineWavelet(degree, 3, 5)
            x = np.linspace(0, 1, 4001)
            seen = np.abs(basis.evaluate(x, 2)).max() / 4  # level 4: 2^{j/2} = 4
            assert seen * (1 - 1e-9) <= float(largest_wavelet_value(degree)) <= seen * 1.001 + 2 / module.LATTICE


def test_the_digest_depends_on_every_entry_and_on_the_shape() -> None:
    table = np.arange(12, dtype=np.int64).reshape(3, 4)
    changed = table.copy()
    changed[2, 3] += 1
    digests = {tables_digest((t,)) for t in (table, changed, table.reshape(4, 3))} | {tables_digest((table, table))}
    assert len(digests) == 4


def test_cells_must_be_a_power_of_two_fine_enough(subtests: pytest.Subtests) -> None:
    for cells in [100, 4095, 1 << 8, 1 << 17]:
        with subtests.test(cells=cells):
            basis = SplineWavelet(1, 2, 5)
            with pytest.raises(SchemeError, match="cells must"):
                integer_tables(basis, cells, unscaled(basis))


def test_scales_must_fit_the_basis(subtests: pytest.Subtests) -> None:
    for scales in [(), ((256,),), ((256,), (256, 256)), ((0,), (256,)), ((256,), (257,))]:
        with subtests.test(scales=scales), pytest.raises(SchemeError, match="scale"):
            integer_tables(SplineWavelet(1, 2, 3), 4096, scales)
