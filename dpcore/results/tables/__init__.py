"""Tables of a round: the rows that land in the warehouse."""
