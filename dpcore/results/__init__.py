"""The results of a landed round: its tables, the warehouse, changes, pictures and pages.

Here: rows of every table, judgements over them, what was spent, DuckDB, matplotlib and HTML.  Not here: when any of it is done
(`rounds`).  A column is a migration and the place that fills it; a table that a run lands in also a line of `views.RESULTS`; a
kind of picture is a file of `plots/` and a line of `PICTURES`.  May import pipeline, wire and what is below; never a round, an
audit, a collector or a population.

Modules:
    checks/: checks of a round: rows of `checks`
    pages/: the HTML page of a round, and its fragments for Prefect; the only importer of jinja2
    plots/: pictures; the only importer of matplotlib
    tables/: tables of a round: the rows that land in the warehouse
    text/: estimates in words, for the terminal, pages and pictures
    warehouse/: the DuckDB file; the only importer of duckdb
"""
