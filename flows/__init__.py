"""Prefect flows: the stages of `dpcore.stages` as tasks, scheduled, retried and watched.  One flow a file."""
