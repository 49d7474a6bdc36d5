"""The warehouse: one DuckDB file for SQL queries.  The only importer of duckdb.

Modules:
    catalogue: the catalogue of tables, views and macros
    connection: opening the file for reading or writing
    in_memory: an empty warehouse in memory (for tests of constraints, and copies)
    landing/: landing of rounds: one transaction, which run is current, what was counted and charged
    migrate: migrations of the file (`migrations/`)
    postgresql: export to PostgreSQL
    published: the published copy for readers
    queries: results of read-only statements, as a frame or a file
    row_counts: row counts of Parquet files by DuckDB
    transaction: transactions, and quoting
    typed_rows: frames to rows of a table's exact types
    views: views, macros and comments (`views/`, `macros/`, `comments.sql`)
"""

from dpcore.results.warehouse.connection import Locked, bring_up_to_date, open_for_reading, open_for_writing
from dpcore.results.warehouse.landing.counted_batches import counted_files, counted_since
from dpcore.results.warehouse.landing.current_run import Claim, check_free
from dpcore.results.warehouse.landing.landed_aggregate import landed_sums
from dpcore.results.warehouse.landing.landed_rounds import (
    accepted_before,
    forget_figures,
    forget_round,
    landed_rounds,
    move_figures,
    population_before,
    rounds_to_forget,
    standing_rounds,
    stands,
)
from dpcore.results.warehouse.landing.landing import (
    REHEARSAL,
    Landing,
    RunRow,
    add_benchmarks,
    add_figures,
    land,
    land_benchmarks,
    land_checks,
    land_failure,
    land_waiting,
    run_id,
)
from dpcore.results.warehouse.landing.privacy_charges import charge
from dpcore.results.warehouse.migrate import migrate
from dpcore.results.warehouse.published import publish_copy, published
from dpcore.results.warehouse.queries import export, query, reader
from dpcore.results.warehouse.row_counts import counting

__all__ = [
    "REHEARSAL",
    "Claim",
    "Landing",
    "Locked",
    "RunRow",
    "add_benchmarks",
    "add_figures",
    "bring_up_to_date",
    "charge",
    "check_free",
    "counted_files",
    "counted_since",
    "counting",
    "export",
    "forget_figures",
    "forget_round",
    "accepted_before",
    "land",
    "land_benchmarks",
    "land_checks",
    "land_failure",
    "land_waiting",
    "landed_rounds",
    "landed_sums",
    "migrate",
    "move_figures",
    "open_for_reading",
    "open_for_writing",
    "population_before",
    "publish_copy",
    "published",
    "query",
    "reader",
    "rounds_to_forget",
    "run_id",
    "standing_rounds",
    "stands",
]
