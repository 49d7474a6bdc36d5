"""The tables and figures of the source documents, computed: one module a document, one function a table.

Modules:
    barber_duchi: table 1 of [BarberDuchi2014]
    definitions: what definitions of privacy allow, as tables: trade-off curves, delta
    garivier: the examples of [Garivier2022], as tables: Warner's survey, votes, the price of a mean
    hu: the three queries of [HuOverview] on a consumer-expenditure sample
    planner: predictions of the planner compared with simulated rounds, for every mechanism there is
    szabo: the rates of [Szabo2024], by simulation: derivatives at a point and in L2, the elbow
    two_stages: the integral of f squared in one stage and in two, where a density is rough
    wasserman_zhou: the figure and the two tables of rates of [WassermanZhou2010], by simulation
"""
