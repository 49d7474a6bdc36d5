"""Backfill of missing rounds, backup and cleanup."""
