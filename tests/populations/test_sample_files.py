"""The samples in data/ are the rows that data/samples/README.md describes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.populations import consumer_expenditure

DATA = Path(__file__).parents[2] / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
SAMPLES = (DATA / "samples" / "README.md").read_text(encoding="utf-8")


def test_health_insurance_holds_what_the_readme_says() -> None:
    path = DATA / "samples" / "health_insurance.parquet"
    frame = pd.read_parquet(path)
    assert list(frame) == ["visits", "chronic_index", "health"]
    assert len(frame) == 20_190
    assert not frame.isna().any().any()
    assert frame["visits"].sum() == 50_541
    assert (frame["visits"] == 10).sum() == 1_156
    assert frame["visits"].between(0, 10).all()
    assert frame["chronic_index"].astype("float64").sum() == pytest.approx(227_026.29, abs=0.01)
    assert frame["chronic_index"].between(0, 60).all()
    assert frame["chronic_index"].nunique() == 31
    counts = frame["health"].value_counts().to_dict()
    assert counts == {"excellent": 11_019, "good": 7_309, "fair": 1_560, "poor": 302}
    assert path.stat().st_size < 500_000
    assert frame["visits"].dtype == np.uint8
    assert hashlib.sha256(path.read_bytes()).hexdigest() in SAMPLES


def test_the_current_population_survey_holds_what_the_readme_says() -> None:
    path = DATA / "samples" / "cps_1988.parquet"
    frame = pd.read_parquet(path)
    assert list(frame) == ["wage", "education", "experience", "parttime", "region", "smsa", "ethnicity"]
    assert len(frame) == 28_155
    assert not frame.isna().any().any()
    assert frame["wage"].sum() == pytest.approx(16_997_929.36, abs=0.01)
    assert (frame["wage"].min(), frame["wage"].max(), (frame["wage"] > 1_500).sum()) == (50.05, 18_777.20, 914)
    assert frame["education"].between(0, 18).all()
    assert (frame["education"].sum(), frame["experience"].sum()) == (367_926, 512_419)
    assert frame["parttime"].value_counts().to_dict() == {"no": 25_631, "yes": 2_524}
    assert frame["region"].value_counts().to_dict() == {
        "south": 8_760,
        "midwest": 6_863,
        "northeast": 6_441,
        "west": 6_091,
    }
    assert frame["smsa"].value_counts().to_dict() == {"yes": 20_932, "no": 7_223}
    assert frame["ethnicity"].value_counts().to_dict() == {"cauc": 25_923, "afam": 2_232}
    assert path.stat().st_size < 500_000
    assert hashlib.sha256(path.read_bytes()).hexdigest() in SAMPLES


def test_the_thanksgiving_poll_holds_what_the_readme_says() -> None:
    path = DATA / "samples" / "thanksgiving_2015.parquet"
    frame = pd.read_parquet(path)
    assert list(frame) == ["sides", "pies", "desserts", "area"]
    assert len(frame) == 980
    assert frame.isna().sum().to_dict() == {"sides": 16, "pies": 16, "desserts": 16, "area": 32}
    counts = {name: frame[name].explode().value_counts() for name in ("sides", "pies", "desserts")}
    assert [(int(own.sum()), len(own), int(own.max())) for own in counts.values()] == [
        (4_996, 14, 817),
        (2_198, 11, 729),
        (1_267, 10, 266),
    ]
    sizes = {name: frame[name].dropna().map(len) for name in counts}
    assert [own.max() for own in sizes.values()] == [13, 9, 9]
    assert (sizes["pies"] <= 4).sum() == 920
    assert hashlib.sha256(path.read_bytes()).hexdigest() in SAMPLES


def test_the_readme_lists_every_data_file() -> None:
    folders = (DATA / folder for folder in ("schemes", "samples", "margins"))
    files = [path for folder in folders for path in folder.iterdir() if path.suffix != ".md"]
    assert len(files) >= 6
    listed = set(re.findall(r"`((?:schemes|samples|margins)/[^`]+)`", README))
    assert listed == {path.relative_to(DATA).as_posix() for path in files}


@pytest.mark.parametrize("attribute", ["income", "expenditure"])
def test_the_readme_states_the_means_of_simulated_households(attribute: str) -> None:
    people = consumer_expenditure()
    means = []
    for group in ("urban", "rural"):
        law = people.truth(attribute, group)
        x = np.linspace(law.lower, law.upper, 100_001)
        means.append(f"{np.trapezoid(x * law.pdf(x), x):,.0f}")
    row = next(line for line in README.splitlines() if line.startswith(f"| `{attribute}` "))
    assert row.split("|")[3:5] == [f" {mean} " for mean in means]
