"""What both sides agree on and exchange: the scheme, tokens, reports, and the aggregate that sums them.

Here: the scheme and its canonical form, revisions, tokens, one report and many, exact sums of them, and their law without
reports.  Not here: bytes and files (`wire`), what a client keeps (`client`), what sums tell (`estimation`).
May import mechanisms, functionals' names, privacy and errors; numpy alone.
"""
