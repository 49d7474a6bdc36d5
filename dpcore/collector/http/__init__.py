"""The HTTP interface of the collector: service, access, limits and connections.

Modules:
    access_keys: API keys and what each may do
    middleware: error responses, cross-origin rules and request counts, for every path
    rate_limits: limits on requests, bytes and seconds of one sender
    responses: models of the response bodies, documented in OpenAPI
    server_protocol: uvicorn's HTTP protocol with limits on open and idle connections
    service: the routes: schemes out, reports in
"""
