"""All optimisers of the package, by name.

    from companion.optimisers import streaming_fw, noisy_sgd

As `companion.policies`: a new optimiser is a file, its import, and a line in the table.
"""

from companion.baselines.local_md import local_md as local_md
from companion.baselines.noisy_sfw import noisy_sfw as noisy_sfw
from companion.baselines.noisy_sgd import noisy_sgd as noisy_sgd
from companion.core import Entry, lookup
from companion.streaming_sco.streaming import streaming_fw as streaming_fw
from companion.streaming_sco.streaming import vertex_fw as vertex_fw

WEAK = {"d": 3, "n": 400, "epsilon": 2.0, "delta": 0.01}
STREAM = {"d": 3, "n": 400, "epsilon": 4.0, "delta": 0.001}

TABLE = {
    "local_md": Entry(local_md, WEAK),
    "noisy_sfw": Entry(noisy_sfw, WEAK | {"step_scale": 0.5}),
    "noisy_sgd": Entry(
        noisy_sgd,
        WEAK | {"n": 60},  # it takes n^2 steps
    ),
    "streaming_fw": Entry(streaming_fw, STREAM | {"p": 1.5, "radius": 1.0}),
    "vertex_fw": Entry(vertex_fw, STREAM),
}

factory, example = lookup(TABLE)
