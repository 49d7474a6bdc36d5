"""Names that are stored on Prefect's server: a renamed one would no longer match what is there."""

from __future__ import annotations

POOL = "ldpflow-pool"
DAILY = "daily"  # the deployment of `round` whose schedule the project sets
TAG = "ldpflow"  # of every run; automations select runs by it
CHECKS_FAILED = "ChecksFailed"  # state of a round that landed with a failed check,
CHECKS_FAILED_TAG = "checks-failed"  # and the tag of its flow run, because Prefect shows that state in green
