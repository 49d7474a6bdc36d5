"""Epsilons of published deployments, from the slides of [Szabo2024]."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A deployment; low and high: epsilons, natural-log units.  delta: the largest one, 0 for none.

    trust: 'local' if devices add the noise, 'central' if a curator does.
    """

    organization: str
    low: float
    high: float
    delta: float
    trust: str


PUBLISHED = (
    Published("Apple", 2.0, 8.0, 0.0, "local"),
    Published("Google", 0.6, 10.0, 1e-10, "local"),
    Published("Microsoft", 1.67, 4.7, 1e-5, "local"),
    Published("US Census, County Business Patterns", 34.9, 34.9, 1e-5, "central"),
    Published("US Census, 2020 Decennial", 13.64, 49.2, 1e-5, "central"),
)
