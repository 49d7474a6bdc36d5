"""People: simulated ones with a known truth, and readers for real records.

Here: laws, the people of each sample scheme, and files of records.  Not here: what becomes of a record (`client`, `pipeline`).
May import wire's files, protocol and errors.

Modules:
    base: a population: a mixture over one categorical attribute
    default_population: simulated respondents for any scheme, as its `[simulate.NAME]` states
    dialect: delimiter, decimal mark and encoding of text files
    distributions: distributions of one attribute
    formats: record files of every format as Arrow tables
    inspection: what a file of records holds for a scheme, and the draft of a scheme from its columns
    records: records from CSV, Parquet and JSON lines
    registry: populations by scheme, with the simulated households of the Consumer Expenditure survey
    resampled: respondents drawn from a file of records
"""

from dpcore.populations.base import Population
from dpcore.populations.dialect import Dialect
from dpcore.populations.distributions import Beta, CategoricalLaw, NumericLaw, PointsLaw
from dpcore.populations.records import read_blocks, read_records
from dpcore.populations.registry import NAMES, by_scheme, consumer_expenditure, respondents_of
from dpcore.protocol.records.blocks import BLOCK

__all__ = [
    "BLOCK",
    "NAMES",
    "Beta",
    "CategoricalLaw",
    "Dialect",
    "NumericLaw",
    "PointsLaw",
    "Population",
    "by_scheme",
    "consumer_expenditure",
    "read_blocks",
    "read_records",
    "respondents_of",
]
