"""Room of "FLIPHAT: joint differential privacy for high dimensional sparse linear bandits".

`policy` is Algorithm 2, `residual` our variant that clips gradients; `episodes` holds what both
store and release, `regression` peeling and noisy iterative hard thresholding, `accounting` the
noise that a budget needs, `attack` an attack on it, `environments` the streams, `shortcuts` exact
fast paths (kernels in `two_scores`), `worlds` the same in several worlds at once, `experiments` the
settings of the paper, `theory` closed forms, `as_run` what the program did.
"""

from companion.fliphat.environments import autoregressive, margin, pad
from companion.fliphat.episodes import rows_in_release
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import simulate_sparse
from companion.fliphat.worlds import simulate_worlds

__all__ = [
    "autoregressive",
    "fliphat",
    "margin",
    "pad",
    "residual_fliphat",
    "rows_in_release",
    "simulate_sparse",
    "simulate_worlds",
]
