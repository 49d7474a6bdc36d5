"""What a user would pick today, written to the papers and tuned as they say.

Modules:
    catalogue: the peers by name: sixty-seven settings of nine methods
    grids: two numbers together as peers have them: a hybrid of grids, and two crossed hierarchies
    heavy_hitters: frequent texts as PEM, SFP and TreeHist find them
    hierarchy: binary hierarchies: each client reports on one level of a tree over D cells
    histogram: histograms from frequency oracles: k equal cells, unbiased frequencies
    script: measures how fast the peers' packages privatize; run by the peers' own interpreter
    square_wave: square Wave with EM and EMS, as Li et al. give it: the continuous mechanism
"""
