"""Pictures of studies: each takes rows of a table and an Axes, and returns the Axes."""
