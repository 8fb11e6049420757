"""The exact side of Augury: NumPy and SciPy only, importable and testable without torch."""
