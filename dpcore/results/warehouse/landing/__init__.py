"""Landing of rounds: one transaction, which run is current, what was counted and charged.

Modules:
    counted_and_charged: report files already counted, and every collection that clients were charged for
    current_run: which run of a round is current, and whether another may replace it
    landed_rounds: landed rounds, their sums as an aggregate, and what is deleted of them
    landing: the landing of a run, a study or checks
    previous_round: the round to compare with
"""
