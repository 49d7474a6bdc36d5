"""`ldpflow up`: server, worker, deployments and automations.

Modules:
    deployments: deployments of `prefect.yaml`, with a project's settings, and automations of the server
    environment: environment variables of Prefect
    key: the key of the Prefect server
    up: `ldpflow up`
"""
