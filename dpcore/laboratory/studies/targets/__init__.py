"""Known distributions that studies draw from."""
