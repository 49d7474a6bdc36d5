"""The text of a scheme: its keys, how they are read, and the canonical form."""
