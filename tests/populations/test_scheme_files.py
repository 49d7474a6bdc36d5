"""The shipped scheme files parse, ask what their people answer, and promise what their comments say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore._random import seeded
from dpcore.errors import InvalidRecord, SchemeError
from dpcore.populations import NAMES, by_scheme, read_blocks, read_records
from dpcore.protocol.scheme import Scheme

DATA = Path(__file__).parents[2] / "data"
FILES = sorted((DATA / "schemes").glob("*.toml"))
SAMPLES = {
    "health_insurance": DATA / "samples" / "health_insurance.parquet",
    "current_population": DATA / "samples" / "cps_1988.parquet",
    "schooling_and_wages": DATA / "samples" / "cps_1988.parquet",
}


@pytest.fixture(scope="module")
def schemes() -> dict[str, Scheme]:
    return {path.stem: Scheme.from_toml(path) for path in FILES}


def test_every_scheme_has_people_or_a_sample(schemes: dict[str, Scheme]) -> None:
    for stem, scheme in schemes.items():
        assert scheme.name == stem
        assert (stem in NAMES) != (stem in SAMPLES)


def test_the_totals_are_those_the_comments_state(schemes: dict[str, Scheme]) -> None:
    assert schemes["consumer_expenditure"].epsilon == pytest.approx(math.log(3) + 4, abs=1e-12)
    assert schemes["health_insurance"].epsilon == pytest.approx(5, abs=1e-12)
    assert schemes["current_population"].epsilon == pytest.approx(5, abs=1e-12)
    assert schemes["schooling_and_wages"].epsilon == pytest.approx(5, abs=1e-12)
    urban_rural = schemes["consumer_expenditure"].attributes["urban_rural"]
    assert urban_rural.budget.text == "ln 3"


def test_simulated_people_answer_every_question(schemes: dict[str, Scheme]) -> None:
    for name in NAMES:
        scheme, people = schemes[name], by_scheme(name)
        assert set(people.attributes) == set(scheme.attributes)
        columns = people.records_block(0, 5_000, seeded(1))
        cells = scheme.encode(columns)
        for attribute in scheme.attributes.values():
            if attribute.is_numeric:
                law = people.truth(attribute.name)
                assert (law.lower, law.upper) == (float(attribute.lower), float(attribute.upper))
                inputs = attribute.mechanism.inputs
                truth = people.cell_probabilities(attribute.name, law.lower, law.upper, inputs)
            else:
                truth = people.probabilities(attribute.name, attribute.categories)
            # the mean cell of 5,000 people within six standard errors of the truth's: encode and truth share an order
            index = np.arange(len(truth))
            mean, spread = truth @ index, math.sqrt(truth @ index**2 - (truth @ index) ** 2)
            assert abs(cells[attribute.name].mean() - mean) < 6 * spread / math.sqrt(5_000)


def test_the_surveys_own_columns_and_codes_are_read(schemes: dict[str, Scheme], tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "Race": [1, 6, 3],
            "UrbanRural": [1, 2, 1],
            "Income": [41_000.5, -3_000, 900_000],
            "KidsCount": [0, 12, 4],
            "Expenditure": [9_000, 0, 50_000],
        }
    )
    scheme = schemes["consumer_expenditure"]
    frame.to_csv(tmp_path / "ce.csv", index=False)
    frame.to_parquet(tmp_path / "ce.parquet")
    for path in (tmp_path / "ce.csv", tmp_path / "ce.parquet"):
        cells = scheme.encode(read_records(path, scheme))
        assert cells["race"].tolist() == [0, 5, 2]
        assert cells["urban_rural"].tolist() == [0, 1, 0]
        assert cells["kids_count"].tolist() == [0, 5, 4]
        last = scheme.attributes["income"].mechanism.inputs - 1
        assert cells["income"].tolist() == [int(41_000.5 / 250_000 * (last + 1)), 0, last]
    frame.assign(KidsCount=[0, 13, 4]).to_csv(tmp_path / "ce.csv", index=False)
    with pytest.raises(InvalidRecord, match="'KidsCount' is not one of the scheme's categories at record 2"):
        scheme.encode(read_records(tmp_path / "ce.csv", scheme))


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_samples_answer_their_schemes(schemes: dict[str, Scheme], name: str, tmp_path: Path) -> None:
    scheme = schemes[name]
    n = 0
    for block in read_blocks(SAMPLES[name], scheme, size=8_192):
        cells = scheme.encode(block, n)
        n += len(block)
    assert n == scheme.clients
    assert set(cells) == set(scheme.reported)
    frame = read_records(SAMPLES[name], scheme)
    frame.to_csv(tmp_path / "sample.csv", index=False)
    again = scheme.encode(read_records(tmp_path / "sample.csv", scheme))
    for attribute, column in scheme.encode(frame).items():
        np.testing.assert_array_equal(column, again[attribute])
    with pytest.raises(SchemeError, match="--records"):
        by_scheme(name)


def test_the_value_of_ten_or_more_visits_gives_the_published_mean(schemes: dict[str, Scheme]) -> None:
    scheme = schemes["health_insurance"]
    visits = scheme.attributes["visits"]
    cells = scheme.encode(read_records(SAMPLES["health_insurance"], scheme))["visits"]
    assert visits.values is not None
    assert np.asarray(visits.values)[cells].mean() == pytest.approx(57_752 / 20_190, abs=0.001)
