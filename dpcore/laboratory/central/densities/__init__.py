"""Densities released by a trusted curator."""
