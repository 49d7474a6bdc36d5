"""The HTTP interface of the collector: service, access, limits and connections."""
