"""Speed of the kernels and of whole experiments, as ratios to something timed in the same run."""
