"""Room of "FLIPHAT: joint differential privacy for high dimensional sparse linear bandits".

`policy` is Algorithm 2, `residual` the honest variant; `regression` holds peeling and noisy
iterative hard thresholding, `accounting` the noise that a budget needs, `environments` the streams,
`shortcuts` exact fast paths (kernels in `lazy_contexts`), `as_run` what the program did.
"""

from companion.fliphat.environments import autoregressive, margin
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import simulate_sparse

__all__ = ["autoregressive", "fliphat", "margin", "residual_fliphat", "simulate_sparse"]
