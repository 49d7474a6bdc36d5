"""Reports from outside: what a browser is given (`static/`: the client, the consent page)."""
