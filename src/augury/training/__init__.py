"""Traces become trained networks."""
