"""The epsilon for odds that somebody wants: enough, the largest with its digits, and what the command prints of it."""

from __future__ import annotations

import contextlib
import io
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpcore import cli
from dpcore.audit import audit_scheme
from dpcore.errors import SchemeError
from dpcore.protocol.scheme import Scheme
from dpcore.rounds.planning.odds import plan_odds

YES_NO = {"type": "categorical", "categories": ["yes", "no"], "epsilon": "1"}
COLOURS = {"type": "categorical", "categories": ["red", "green", "blue"], "epsilon": "2", "mechanism": "unary_encoding"}
NUMBER = {"type": "numeric", "lower": "0", "upper": "10", "epsilon": "1", "mechanism": "square_wave"}
COIN = YES_NO | {"epsilon": "ln 3", "design": "two_coin"}


def document(**attributes: dict[str, Any]) -> dict[str, Any]:
    return {"name": "asked", "attributes": attributes}


def audited(**epsilons: str) -> Fraction:
    """The largest ratio of all questions of the scheme, enumerated."""
    tables = {"smokes": YES_NO, "colour": COLOURS, "height": NUMBER}
    lines = ['name = "asked"']
    for name, epsilon in epsilons.items():
        lines.append(f"[attributes.{name}]")
        values = tables[name] | {"epsilon": epsilon}
        lines += [f"{key} = {value if isinstance(value, list) else repr(value)}" for key, value in values.items()]
    text = "\n".join(lines) + "\n"
    tomllib.loads(text)
    kept = audit_scheme(Scheme.from_toml(text)).loss
    assert kept.rational == 0
    assert kept.ratio is not None
    return kept.ratio


@pytest.mark.parametrize("odds", ["0.55", "0.6", "0.75", "0.9", "0.99"])
def test_of_one_question_the_epsilon_is_the_largest(odds: str) -> None:
    found = plan_odds(document(smokes=YES_NO), Fraction(odds))
    ratio, wanted = audited(smokes=found.alone.text), Fraction(odds) / (1 - Fraction(odds))
    assert ratio <= wanted
    assert found.then.ratio == ratio
    if found.alone.rational:
        assert len(found.alone.text.replace("0.", "").lstrip("0").replace(".", "")) <= 3
        digits = len(found.alone.text.partition(".")[2])
        more = found.alone.rational + Fraction(1, 10**digits)
        assert audited(smokes=str(float(more))) > wanted
    else:
        assert found.alone.ratio == wanted


@pytest.mark.parametrize("rounds", [1, 5])
def test_all_together_keep_the_odds(rounds: int) -> None:
    found = plan_odds(document(smokes=YES_NO, colour=COLOURS, height=NUMBER), Fraction("0.8"), rounds)
    ratio = audited(**{name: budget.text for name, budget in found.together.items()}) ** rounds
    assert found.then.ratio == ratio
    assert 0.99 * 4 < ratio <= 4
    assert float(found.together["colour"]) == pytest.approx(2 * float(found.together["smokes"]), rel=0.01)
    assert found.epsilon.text == "4"


def test_a_design_that_goes_with_its_epsilon_is_left_out() -> None:
    found = plan_odds(document(smokes=COIN, colour=COLOURS), Fraction("0.75"))
    assert found.then.worst <= Fraction("0.75")


def test_where_one_unit_is_reported_it_alone_counts() -> None:
    one = document(smokes=YES_NO, colour=COLOURS) | {"reporting": "one"}
    found = plan_odds(one, Fraction("0.75"))
    assert float(found.total) == pytest.approx(1.09, abs=0.01)


def test_odds_that_none_has_are_refused() -> None:
    for odds in ("0.5", "1", "0.3"):
        with pytest.raises(SchemeError, match="odds must be above"):
            plan_odds(document(smokes=YES_NO), Fraction(odds))
    with pytest.raises(SchemeError):
        plan_odds(document(smokes=YES_NO), Fraction("0.5000000001"))


def printed(root: Path, *words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(["plan", str(root / "data/schemes/consumer_expenditure.toml"), *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


def test_the_command_says_both(root: Path) -> None:
    code, said, _ = printed(root, "--odds", "0.75")
    assert code == 0
    assert "each alone: epsilon = ln 3 gives odds of at most 0.75; guessing has 0.5" in said
    assert "at most 75 correct of 100 after a round" in said
    assert "4 + ln 3" in said


@pytest.mark.parametrize("words", [(), ("--odds", "0.75", "--epsilon", "1"), ("--odds", "often"), ("--odds", "1.5")])
def test_what_cannot_be_planned_is_one_clear_line(root: Path, words: tuple[str, ...]) -> None:
    code, said, why = printed(root, *words)
    assert code != 0
    assert said == ""
    assert "odds" in why
