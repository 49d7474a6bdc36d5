"""Exact privacy loss by enumeration of the integers that clients draw with."""
