"""`ldpflow status` and `ldpflow watch`: health, alerts and metrics."""
