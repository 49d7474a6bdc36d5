"""`ldpflow status` and `ldpflow watch`: health, alerts and metrics.

Modules:
    alerts: what is reported to a webhook
    message_queue: messages kept until they are delivered
    metrics: Prometheus metrics of the status
    status: `ldpflow status`
    watch: `ldpflow watch`
    webhook: the webhook and its formats
"""
