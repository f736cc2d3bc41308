"""The attack on a batch of ShuffleGLM: without noise it sees the last user's context."""

import math

import numpy as np

from companion.private_glm.batch_attack import on_batch
from companion.private_glm.learning import batch_for
from companion.private_glm.shuffle import shuffle_glm


def test_without_noise_the_analyser_sees_the_matrix_of_the_last_user():
    """e_1 e_1' and e_2 e_2' packed as (11, 21, 22), and a context of length 2 is clipped."""
    p = shuffle_glm(2, 3, 400, epsilon=math.inf, delta=0.01).params
    attack, rng = on_batch(p, batch_for(p)), np.random.default_rng(0)
    seen = [attack.mechanism(x, rng, 2) for x in (attack.a, attack.b, 2.0 * attack.a)]
    assert [rows.tolist() for rows in seen] == [
        [[1.0, 0.0, 0.0]] * 2, [[0.0, 0.0, 1.0]] * 2, [[1.0, 0.0, 0.0]] * 2
    ]  # fmt: skip
    assert (attack.statistic(seen[0]) - attack.statistic(seen[1])).tolist() == [2.0, 2.0]
