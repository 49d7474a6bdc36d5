"""Backfill of missing rounds, backup and cleanup.

Modules:
    backfill: which past rounds are missing
    backup: backup and restore of a project
    cleanup: deletion of files of landed rounds
"""
