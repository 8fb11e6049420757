"""Experiments: evaluation through simulation, and the records that every table is made of."""
