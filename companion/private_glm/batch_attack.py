"""The attack on ShuffleGLM: what the analyser sees of a batch, of which one user's context varies.

Source: Section 5 of the paper, whose proof hides one user in the sums of her batch.
"""

import numpy as np

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.private_glm.learning import add_user, analyse


@jit
def first_matrices(p, b, x, rng, out):
    """out (n, d(d+1)/2) <- the analyser's matrix of n first batches, whose last user has context x
    (d,); all other users send zeros and have rounded already; b is overwritten."""
    for i in range(out.shape[0]):
        b.counts[:] = 0.0
        b.size[0] = p.ends[0] - 1
        clip_to_ball(x, 0.0, b.x)
        add_user(p, b, 0, 1.0, 0.0, rng)
        analyse(rng, b.counts, b.size[0], p.caps[0], p.g[0], p.bits_matrix[0], b.triangle)
        for j in range(out.shape[1]):
            out[i, j] = b.triangle[j]


def on_batch(p, b):
    """ShuffleGLM's first matrix, of which the last user has the context e_1 or e_2; p, b: its
    Params and an empty `Batch`."""

    move = np.zeros(len(b.triangle))
    mechanism = learned.filled(move.shape, lambda x, rng, out: first_matrices(p, b, x, rng, out))
    move[0], move[2] = 1.0, -1.0  # of rows (11), (21, 22), ...
    far, contexts = audit.along(move), np.eye(p.d)[:2]
    return audit.Attack(mechanism, *contexts, far, "batch", "gradients", runs=False)
