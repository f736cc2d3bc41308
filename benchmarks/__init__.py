"""Speed of every policy: `python -m benchmarks`."""
