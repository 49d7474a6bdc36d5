"""What theory says an error must be, what it may be, and what a scheme will give: rates, lower bounds, plans."""
