"""Evidence behind an estimate: fit, discreteness, efficiency, and sensitivity to malicious clients."""
