"""Prefect tasks of the steps of a round, and what tasks have in common.

Modules:
    parameters: each option of a flow's form as a parameter
    permitted_folders: folders that a run may read and write
    stage: retries, limits, names and progress of tasks and flows, and what happens when a flow fails
    steps: the steps of `dpcore.rounds.steps` as tasks
    task_runner: threads or Dask workers
"""
