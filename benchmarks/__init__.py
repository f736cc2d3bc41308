"""Speed of the kernels and of whole experiments, as ratios to something timed in the same run."""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # NumPy on one core, as our kernels are
