"""What shows results stands in another package: `evidence.claims`."""
