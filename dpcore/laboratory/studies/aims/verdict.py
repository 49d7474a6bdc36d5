"""An aim of a study: a number that is found in it, and the most or the least that it may be."""

from __future__ import annotations

from dataclasses import dataclass

HEADS = ("aim", "may be", "found", "reached")


@dataclass(frozen=True)
class Verdict:
    """One aim: what was found (None where nothing was measured), what it may be, and whether it is."""

    aim: str
    value: float | None
    limit: float
    at_least: bool = False

    @property
    def reached(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def line(self) -> tuple[str, str, str, str]:
        """It as a person reads it, of `HEADS`."""
        return (
            self.aim,
            f"{'>=' if self.at_least else '<='} {self.limit:.2f}",
            "" if self.value is None else f"{self.value:.2f}",
            {True: "yes", False: "no", None: "not measured"}[self.reached],
        )
