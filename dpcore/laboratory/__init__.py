"""What no round needs: studies, benchmarks, the documents' own mechanisms, definitions and rates, and their pictures.

Here: whatever measures, compares or reproduces.  Not here: anything that a client, a collector or a round runs; no product
module imports this, and the commands and flows of studies alone open it.  May import everything but commands and flows.
"""
