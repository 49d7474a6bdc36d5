"""Landing of rounds: one transaction, which run is current, what was counted and charged."""
