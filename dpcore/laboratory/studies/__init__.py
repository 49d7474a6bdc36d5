"""Studies: how accurate the estimates are, beside what else one could use."""
