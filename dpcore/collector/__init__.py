"""Reports from outside: schemes go out and reports come in over HTTP; what a browser is given is in `static/`."""
