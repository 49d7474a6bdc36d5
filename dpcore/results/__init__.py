"""What a landed round says: its tables, the warehouse they land in, what has changed, pictures and pages.

Here: rows of every table, judgements over them, what was spent, DuckDB, matplotlib and HTML.  Not here: when any of it is done
(`rounds`).  May import pipeline, wire and what is below; never a round, an audit, a collector or a population.
"""
