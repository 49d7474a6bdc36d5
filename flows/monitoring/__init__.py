"""`ldpflow status` and `ldpflow watch`: health, alerts and metrics.

Modules:
    alerts: what is reported to a webhook
    metrics: Prometheus metrics of the status
    status: `ldpflow status`
    watch: `ldpflow watch`
    webhook: messages kept until they are delivered, the webhook and its formats
"""
