"""`ldpflow status` and `ldpflow watch`: health, alerts and metrics.

Modules:
    metrics: Prometheus metrics of the status
    status: `ldpflow status`
    watch: `ldpflow watch`, and what it reports to a webhook
    webhook: messages kept until they are delivered, the webhook and its formats
"""
