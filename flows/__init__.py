"""Prefect flows: the stages of `dpcore.rounds.stages` as tasks, scheduled, retried and watched.  One flow a file."""
