"""What keeps a promise and at what price: integer tables, exact sensitivities, allocations and level laws.

Modules:
    allocation: allocation of a budget to levels
    level_sampling: the distribution of levels
    sensitivity: exact sensitivities by enumeration
    tables: integer coefficient tables
    wave_design: constants of the dyadic wave by epsilon and purpose
"""
