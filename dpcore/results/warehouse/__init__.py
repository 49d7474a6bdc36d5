"""The warehouse: one DuckDB file for SQL queries.  The only importer of duckdb.

Modules:
    connection: opening the file for reading or writing, or an empty warehouse in memory (for tests of constraints, and copies)
    landing/: landing of rounds: one transaction, which run is current, what was counted and charged
    postgresql: export to PostgreSQL
    published_copy: the published copy for readers
    queries: results of read-only statements, as a frame or a file
    schema_migration: migrations of the file (`migrations/`)
    typed_rows: frames to rows of a table's exact types
    views: views, macros and comments (`views.sql`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore._lazy import lazy

_EXPORTS = {
    "connection": (
        "Locked",
        "bring_up_to_date",
        "open_for_reading",
        "open_for_writing",
    ),
    "landing.counted_and_charged": (
        "charge",
        "counted_files",
        "counted_since",
    ),
    "landing.current_run": (
        "Claim",
        "check_free",
    ),
    "landing.landed_rounds": (
        "accepted_before",
        "forget_figures",
        "forget_round",
        "landed_rounds",
        "landed_sums",
        "move_figures",
        "population_before",
        "regressions_before",
        "rounds_to_forget",
        "standing_rounds",
        "stands",
    ),
    "landing.landing": (
        "REHEARSAL",
        "Landing",
        "RunRow",
        "add_benchmarks",
        "add_figures",
        "land",
        "land_benchmarks",
        "land_checks",
        "land_failure",
        "land_waiting",
        "run_id",
    ),
    "schema_migration": ("migrate",),
    "published_copy": (
        "publish_copy",
        "published",
    ),
    "queries": (
        "counting",
        "export",
        "query",
        "reader",
        "rows",
    ),
}
__getattr__, __all__ = lazy(__name__, _EXPORTS)

if TYPE_CHECKING:
    from dpcore.results.warehouse.connection import Locked, bring_up_to_date, open_for_reading, open_for_writing
    from dpcore.results.warehouse.landing.counted_and_charged import charge, counted_files, counted_since
    from dpcore.results.warehouse.landing.current_run import Claim, check_free
    from dpcore.results.warehouse.landing.landed_rounds import (
        accepted_before,
        forget_figures,
        forget_round,
        landed_rounds,
        landed_sums,
        move_figures,
        population_before,
        regressions_before,
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
    from dpcore.results.warehouse.published_copy import publish_copy, published
    from dpcore.results.warehouse.queries import counting, export, query, reader, rows
    from dpcore.results.warehouse.schema_migration import migrate
