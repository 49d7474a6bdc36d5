"""Reports to and from other machines."""
