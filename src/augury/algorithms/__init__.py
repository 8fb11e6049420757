"""Algorithms as programmes over cells; the table `ALGORITHMS`."""
