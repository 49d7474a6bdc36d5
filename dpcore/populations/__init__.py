"""Simulated people with a known truth, and readers for real records."""

from dpcore.populations.base import BLOCK, Population
from dpcore.populations.consumer_expenditure import consumer_expenditure
from dpcore.populations.laws import Beta, CategoricalLaw, NumericLaw
from dpcore.populations.records import read_blocks, read_records
from dpcore.populations.registry import NAMES, by_scheme

__all__ = [
    "BLOCK",
    "NAMES",
    "Beta",
    "CategoricalLaw",
    "NumericLaw",
    "Population",
    "by_scheme",
    "consumer_expenditure",
    "read_blocks",
    "read_records",
]
