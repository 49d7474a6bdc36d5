"""Landing of rounds: one transaction, which run is current, what was counted and charged.

Modules:
    counted_batches: report files already counted
    current_run: which run of a round is current, and whether another may replace it
    landed_aggregate: the sums of a landed round as an aggregate
    landed_rounds: landed rounds, and what is deleted of them
    landing: the landing of a run, a study or checks
    previous_round: the round to compare with
    privacy_charges: every collection that clients were charged for
"""
