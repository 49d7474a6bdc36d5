"""Clients that do not do what their scheme says, each a change of the code that clients run; the integers stay honest.

`CLIENTS` names them; each takes pytest's monkeypatch.  The scheme that they answer is `TEXT`, an attribute of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcore._random import Source, keyed, secure, seeded
from dpcore.client import Client
from dpcore.mechanisms import DyadicWave, Mechanism, RandomizedResponse
from dpcore.mechanisms.noise import noise_kinds as noises
from dpcore.mechanisms.numeric.wavelet_laplace import WaveletLaplace
from dpcore.mechanisms.reports import Reports, starts_of
from dpcore.privacy.budget import Budget
from dpcore.privacy.memoization import Memory
from dpcore.protocol import tokens

Patch = pytest.MonkeyPatch
Privatize = Callable[[Any, np.ndarray, Source, Any], Reports]

_NUMERIC = 'type = "numeric"\nlower = 0\nupper = 1\nepsilon = 1\n'
_COEFFICIENTS = f'{_NUMERIC}mechanism = "wavelet_laplace"\ndegree = 0\nfinest_level = 2\ncells = 64\n'
TABLES = {
    "pet": """type = "categorical"
categories = ["cat", "dog", "fish", "bird", "none"]
mechanism = "randomized_response"
epsilon = 1
""",
    "weight": f'{_NUMERIC}mechanism = "dyadic_wave"\ncells = 64\nlevels = 3\n',
    "height": f'{_NUMERIC}mechanism = "dyadic_wave"\ncells = 64\nlevels = 3\n',
    "income": _COEFFICIENTS,
    "rent": f'{_COEFFICIENTS}noise = "discrete_gaussian"\ndelta = 0.000001\n',
}
TEXT = 'name = "kinds"\n' + "".join(f"[attributes.{name}]\n{table}" for name, table in TABLES.items())
CLIENTS: dict[str, Callable[[Patch], None]] = {}


def client(patch: Callable[[Patch], None]) -> Callable[[Patch], None]:
    CLIENTS[patch.__name__] = patch
    return patch


def _instead(patch: Patch, kind: type[Mechanism], privatize: Callable[..., Reports]) -> None:
    """Let a mechanism's clients answer otherwise; privatize is given the honest way, too."""
    honest = kind.privatize

    def otherwise(self: Any, values: np.ndarray, random: Source, levels: Any = None) -> Reports:
        return privatize(lambda *given: honest(self, *given), self, values, random, levels)

    patch.setattr(kind, "privatize", otherwise)


@client
def the_level_of_the_last_cell_is_the_coarsest(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        level = np.array(self.public_levels(len(values), random, levels))
        level[np.asarray(values) == self.inputs - 1] = 0
        return honest(values, random, level)

    _instead(patch, DyadicWave, privatize)


@client
def the_block_of_the_first_cell_is_never_the_finest(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        level = np.array(self.public_levels(len(values), random, levels))
        level[(np.asarray(values) == 0) & (level == len(self.sizes) - 1)] = 0
        return honest(values, random, level)

    _instead(patch, WaveletLaplace, privatize)


@client
def windows_of_large_values_are_a_cell_further(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        outputs = np.array([wave.outputs for wave in self.waves])[said.level]
        return replace(said, values=(said.values + (np.asarray(values) >= self.inputs // 2)) % outputs)

    _instead(patch, DyadicWave, privatize)


@client
def windows_are_narrower(patch: Patch) -> None:
    """Who would say a cell of the window's ends says one nearer to the truth."""

    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        moved = said.values.copy()
        for level, wave in enumerate(self.waves):
            at = np.flatnonzero(said.level == level)
            offset = (moved[at] - wave.starts(np.asarray(values)[at])) % wave.outputs
            moved[at] += np.where(offset == 0, 1, np.where(offset == wave.window - 1, -1, 0))
            moved[at] %= wave.outputs
        return replace(said, values=moved)

    _instead(patch, DyadicWave, privatize)


@client
def a_fiftieth_more_of_the_waves_tell_the_truth(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        truth = np.zeros(len(said), dtype=np.int64)
        for level, wave in enumerate(self.waves):
            at = said.level == level
            truth[at] = (wave.starts(np.asarray(values)[at]) + wave.half_width) % wave.outputs
        return replace(said, values=np.where(random.words(len(said)) % 50 == 0, truth, said.values))

    _instead(patch, DyadicWave, privatize)


def _scaled(patch: Patch, noise: str, by: float) -> None:
    own = noises.NOISES[noise]

    class Scaled:
        @staticmethod
        def sample(scale: int, size: int, random: Source) -> np.ndarray:
            return own.sample(round(by * scale), size, random)

    patch.setitem(noises.NOISES, noise, Scaled)


@client
def laplace_noise_is_a_fiftieth_smaller(patch: Patch) -> None:
    _scaled(patch, noises.LAPLACE, 0.98)


@client
def laplace_noise_is_a_fiftieth_larger(patch: Patch) -> None:
    _scaled(patch, noises.LAPLACE, 1.02)


@client
def gaussian_noise_is_a_fiftieth_smaller(patch: Patch) -> None:
    _scaled(patch, noises.GAUSSIAN, 0.98)


@client
def gaussian_noise_is_cut_off(patch: Patch) -> None:
    own = noises.NOISES[noises.GAUSSIAN]

    class Cut:
        @staticmethod
        def sample(scale: int, size: int, random: Source) -> np.ndarray:
            return np.clip(own.sample(scale, size, random), -2 * scale, 2 * scale)

    patch.setitem(noises.NOISES, noises.GAUSSIAN, Cut)


@client
def laplace_noise_has_the_values_parity(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        owner = np.repeat(np.asarray(values), np.diff(starts_of(said.level, self.sizes)))
        return replace(said, values=said.values - (said.values + owner) % 2)

    _instead(patch, WaveletLaplace, privatize)


@client
def some_send_their_coefficients_in_clear(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        clear = np.concatenate([self.tables[b][v] for b, v in zip(said.level, values, strict=True)])
        few = np.repeat(random.words(len(said)) % 1000 == 0, np.diff(starts_of(said.level, self.sizes)))
        return replace(said, values=np.where(few, clear, said.values))

    _instead(patch, WaveletLaplace, privatize)


@client
def one_in_fifty_of_those_who_would_lie_does_not(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        return replace(said, values=np.where(random.words(len(said)) % 50 == 0, values, said.values))

    _instead(patch, RandomizedResponse, privatize)


@client
def the_last_category_is_hardly_hidden(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said = honest(values, random, levels)
        plain = (np.asarray(values) == self.categories - 1) & (random.words(len(said)) % 10 == 0)
        return replace(said, values=np.where(plain, values, said.values))

    _instead(patch, RandomizedResponse, privatize)


@client
def the_budget_is_doubled(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        generous = RandomizedResponse.design(Budget.parse("2"), categories=self.categories)
        drawn = random.residues(generous.total, len(values))
        others = (drawn - generous.weight_in) // generous.weight_out
        said = np.where(drawn < generous.weight_in, values, others + (others >= values))
        return Reports(np.zeros(len(values), dtype=np.uint8), said.astype(np.int64))

    _instead(patch, RandomizedResponse, privatize)


@client
def a_seed_is_drawn_from(patch: Patch) -> None:
    _instead(patch, RandomizedResponse, lambda honest, self, values, random, levels: honest(values, seeded(7), levels))


@client
def words_are_constant(patch: Patch) -> None:
    class Constant(type(secure())):  # type: ignore[misc]
        def words(self, n: int) -> np.ndarray:
            return np.full(n, 0x9E3779B9, dtype=np.uint32)

    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        return honest(values, Constant(), levels)

    _instead(patch, DyadicWave, privatize)


@client
def two_attributes_share_their_noise(patch: Patch) -> None:
    """Those of one kind draw the same words of what the record's source has next."""
    kept: dict[int, int] = {}

    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        seed = kept.pop(len(values), None)
        if seed is None:
            seed = kept[len(values)] = int(random.words(1)[0])
        return honest(values, seeded(seed), levels)

    _instead(patch, DyadicWave, privatize)


@client
def neighbours_share_their_noise(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        if len(values) < 2:
            return honest(values, random, levels)
        half, seed = (len(values) + 1) // 2, int(random.words(1)[0])
        parts = (values[0::2], values[1::2])
        of_parts = (None, None) if levels is None else (levels[0::2], levels[1::2])
        first, second = (honest(part, seeded(seed), own) for part, own in zip(parts, of_parts, strict=True))
        sent, level = np.empty(len(values), dtype=np.int64), np.empty(len(values), dtype=np.uint8)
        sent[0::2], sent[1::2] = first.values, second.values
        level[0::2], level[1::2] = first.level, second.level
        assert half == len(first)
        return Reports(level, sent)

    _instead(patch, RandomizedResponse, privatize)


@client
def what_was_answered_is_forgotten(patch: Patch) -> None:
    patch.setattr(Client, "_source", lambda self, name, cells, fixed: self._random)


@client
def everybody_remembers_with_one_secret(patch: Patch) -> None:
    def words(self: Memory, attribute: str, level: int, state: int) -> Source:
        return keyed(b"0123456789abcdef", self.digest, attribute, str(level), str(state))

    patch.setattr(Memory, "words", words)


@client
def answers_are_remembered_by_level_alone(patch: Patch) -> None:
    """Another value's answer has the same noise: their difference is the difference of the values."""

    def words(self: Memory, attribute: str, level: int, state: int) -> Source:
        return keyed(self.secret, self.digest, attribute, str(level))

    patch.setattr(Memory, "words", words)


@client
def the_level_of_who_remembers_depends_on_the_value(patch: Patch) -> None:
    report, levels = Client.report, tokens.public_levels

    def telling(self: Client, record: Mapping[str, Any], round_: str = "") -> Any:
        is_last = float(record["weight"]) > 0.99
        patch.setattr(tokens, "public_levels", lambda scheme, token: levels(scheme, token) | {"weight": 2 * is_last})
        return report(self, record, round_)

    patch.setattr(Client, "report", telling)


@client
def ids_begin_with_the_pet(patch: Patch) -> None:
    report = Client.report

    def telling(self: Client, record: Mapping[str, Any], round_: str = "") -> Any:
        said = report(self, record, round_)
        own = tokens.from_text(said.id) or b""
        return replace(said, id=tokens.to_text(bytes([len(str(record["pet"]))]) + own[1:]))

    patch.setattr(Client, "report", telling)


@client
def one_attribute_is_answered_with_another(patch: Patch) -> None:
    report = Client.report

    def telling(self: Client, record: Mapping[str, Any], round_: str = "") -> Any:
        return report(self, {**record, "height": record["weight"]}, round_)

    patch.setattr(Client, "report", telling)


@client
def the_lowest_bit_of_the_last_coefficient_says_whether_the_value_is_in_the_middle(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        said, cells = honest(values, random, levels), np.asarray(values)
        ends, numbers = starts_of(said.level, self.sizes)[1:] - 1, said.values.copy()
        in_the_middle = (cells >= self.inputs // 3) & (cells < 2 * self.inputs // 3)
        numbers[ends] += in_the_middle - (numbers[ends] & 1)
        return replace(said, values=numbers)

    _instead(patch, WaveletLaplace, privatize)


@client
def answers_to_numbers_are_remembered_by_eight_cells(patch: Patch) -> None:
    def words(self: Memory, attribute: str, level: int, state: int) -> Source:
        return keyed(self.secret, self.digest, attribute, str(level), str(state if attribute == "pet" else state // 8))

    patch.setattr(Memory, "words", words)


@client
def ids_end_with_the_pet(patch: Patch) -> None:
    report = Client.report

    def telling(self: Client, record: Mapping[str, Any], sent_for: str = "") -> Any:
        said = report(self, record, sent_for)
        own = tokens.from_text(said.id)
        assert own is not None
        return replace(said, id=tokens.to_text(own[:-1] + bytes([len(str(record["pet"]))])))

    patch.setattr(Client, "report", telling)


@client
def tokens_end_with_the_pet(patch: Patch) -> None:
    report = Client.report

    def telling(self: Client, record: Mapping[str, Any], sent_for: str = "") -> Any:
        said = report(self, record, sent_for)
        if said.token is None:
            return said
        own = tokens.from_text(said.token)
        assert own is not None
        return replace(said, token=tokens.to_text(own[:-1] + bytes([len(str(record["pet"]))])))

    patch.setattr(Client, "report", telling)


@client
def people_seventeen_places_apart_share_their_noise(patch: Patch) -> None:
    def privatize(honest: Any, self: Any, values: np.ndarray, random: Source, levels: Any) -> Reports:
        cells, n = np.asarray(values), len(values)
        first = np.flatnonzero(np.arange(n) // 17 % 2 == 0)
        first = first[first + 17 < n]
        second, said, seed = first + 17, honest(cells, random, levels).values.copy(), int(random.words(1)[0])
        for some in (first, second):
            said[some] = honest(cells[some], seeded(seed), None).values
        return Reports(np.zeros(n, dtype=np.uint8), said)

    _instead(patch, RandomizedResponse, privatize)
