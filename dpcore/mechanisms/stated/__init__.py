"""Channels of other systems, stated in a scheme."""
