"""Room of "Optimal private streaming SCO in l_p-geometry with applications in high dimensional
online decision making".

`learner` holds the kernels of Algorithms 1, 2 and 4, `streaming_fw` and `vertex_fw` make optimisers
of them, `policy` is Algorithm 3; `calibration` is the noise that a budget needs, `environments` the
worlds, `as_run` what the program did.
"""

from companion.streaming_sco.environments import Functional, first, flat, one_context, regression
from companion.streaming_sco.policy import sco_bandit
from companion.streaming_sco.streaming_fw import streaming_fw
from companion.streaming_sco.vertex_fw import vertex_fw

__all__ = [
    "Functional",
    "first",
    "flat",
    "one_context",
    "regression",
    "sco_bandit",
    "streaming_fw",
    "vertex_fw",
]
