"""The studies against a warehouse, one a module: measure what it lacks, land it at once, and say how the study stands.

`measure` yields (done, all) pieces, first (0, all); `report` reads the newest study; `summary` is what a person reads of it;
`draw` makes its pictures.
"""
