"""The collector: it serves schemes and receives reports over HTTP; `static/` is the browser client.

Here: the HTTP service, its keys and limits, the store of accepted reports, and the files that they are sealed into.  Not here:
the format and validation of a report (`wire`), aggregation (`rounds`).  May import wire, protocol and errors; the interface to
FastAPI and uvicorn.

Modules:
    backend: the parts of one collector, connected, and its metrics
    browser_client: the browser client as one JavaScript file
    http/: the HTTP interface of the collector: service, access, limits and connections
    serve: `ldpflow serve`: the collector as a process
    store/: storage of accepted reports until a round collects them
"""
