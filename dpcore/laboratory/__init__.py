"""What no round needs: studies, benchmarks, the documents' own mechanisms, definitions and rates, and their pictures.

Here: whatever measures, compares or reproduces.  Not here: anything that a client, a collector or a round runs; no product
module imports this, and the commands and flows of studies alone open it.  May import everything but commands and flows.

Modules:
    attack_gains: what an attack on a frequency oracle gains
    attacks: malicious clients: what they send to move an estimate
    benchmarks/: the studies: a module each
    central/: releases by a trusted curator, one mechanism a file, named as the literature names them
    collector_load: how many reports a second a collector takes
    definitions/: definitions of privacy: what a finite channel keeps under each, exactly
    landing: rows of studies into a warehouse and out of it, landed as they are made and gone on with
    open_answers/: frequent texts that nobody has listed
    plots/: pictures of studies: each takes rows of a table and an Axes, and returns the Axes
    profiling: where the time and memory of a round go: the steps of `ldpflow run`
    studies/: studies: how accurate the estimates are, beside what else one could use
    theory/: rates and lower bounds that the documents state, for the studies that reproduce them
"""
