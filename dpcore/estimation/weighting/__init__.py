"""Weighting by public labels: raking, weighted estimates and their variance."""
