"""`ldpflow up`: server, worker, deployments and automations."""
