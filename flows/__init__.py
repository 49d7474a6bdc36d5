"""Prefect flows: the steps of `dpcore.rounds` as tasks, scheduled, retried and watched.

One flow a file, and an entry of prefect.yaml.
"""

from dpcore.rounds.defaults import keep_to_one_thread

keep_to_one_thread()
