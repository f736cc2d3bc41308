"""Guarantees rebuilt from running kernels, attacks in a table, planted faults."""
