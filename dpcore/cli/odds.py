"""Odds in the terminal: a sentence, a paragraph, or the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.cli.printing import new_table, show

if TYPE_CHECKING:
    from dpcore.protocol.odds_text import Telling
    from dpcore.rounds.planning.odds import OddsPlan


def show_odds(telling: Telling, level: str) -> None:
    """Print the odds at a level of detail; by default the sentence about all questions together."""
    if level == "numbers":
        _show_numbers(telling)
    elif level:
        for name, line in telling.questions.items():
            print(f"{telling.titles[name]}: {getattr(line, level)}")
    if level != "numbers":
        print(telling.all.paragraph if level == "paragraph" else telling.all.sentence)
    if telling.after is not None:
        print(f"{telling.after.sentence} {telling.texts['sentence']['again']}")


def _show_numbers(telling: Telling) -> None:
    """Print E, V and both shares of every question, of all questions and of all rounds, with the formulas."""
    heads = telling.texts["numbers"]
    columns = [heads[name] for name in ("question", "average", "worst", "ratio", "variation")]
    table = new_table(telling.texts["title"], *columns)
    for name, line in telling.lines:
        table.add_row(name, line.average, line.worst, line.ratio, line.variation)
    show(table)
    for formula in ("formula_worst", "formula_average", "formula_all"):
        print(heads[formula])


def show_odds_plan(plan: OddsPlan) -> None:
    """Print the epsilons that satisfy the odds, next to those of the scheme and their odds."""
    from dpcore.privacy.odds import together
    from dpcore.protocol.odds_text import times

    after = "a round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    table = new_table("", "attribute", "epsilon now", f"correct of 100, {after}", "each alone", "all together")
    for name, budget in plan.together.items():
        now = together([plan.now.questions[name]], plan.rounds)
        table.add_row(name, plan.epsilons[name].text, times(now.worst), plan.alone.text, budget.text)
    table.add_row("all", plan.epsilon.text, times(plan.now.after.worst), "", plan.total.text)
    show(table)
    print(f"each alone: epsilon = {plan.alone.text} gives odds of at most {float(plan.worst):g}; guessing has 0.5")
    print(f"all together: the last column gives at most {times(plan.then.worst)} correct of 100 after {after}")
