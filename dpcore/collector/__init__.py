"""Reports from outside: schemes go out and reports come in over HTTP; what a browser is given is in `static/`.

Here: the service and its limits, keys and doors, the store of what came in, and the files it is sealed into.  Not here: what a
report is and how it is judged (`wire`), counting (`rounds`).  May import wire, protocol and errors; the door to FastAPI and
uvicorn.

Modules:
    backend: the parts of one collector, connected
    browser_client: the browser client as one JavaScript file
    http/: the HTTP interface of the collector: service, access, limits and connections
    serve: `ldpflow serve`: the collector as a process
    store/: storage of accepted reports until a round collects them
"""
