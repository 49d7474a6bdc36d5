"""A round on a folder, from people to tables, step by step; and what surrounds rounds.

Here: the steps of a round, backfill, cleanup, certificates, the outbox of records, and the planner.  Not here: a number
(pipeline, estimation) or a table's columns (results).  The only writer of a run's folder.  May import all but the laboratory.
"""
