"""`ldpflow up`: server, worker, deployments and automations.

Modules:
    automations: automations of the Prefect server
    deployments: deployments of `prefect.yaml`, with a project's settings
    environment: environment variables of Prefect
    key: the key of the Prefect server
    up: `ldpflow up`
"""
