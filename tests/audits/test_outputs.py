"""Outputs of a sampler are its draws, one after the other."""

import numpy as np

from companion.audits import outputs
from companion.kernels.mechanisms import add_symmetric_gaussian


def test_noise_on_all_matrices_is_that_on_each_in_turn():
    out, rngs = (
        np.tile(np.diag([1.0, 2.0, 3.0]), (5, 1, 1)),
        [np.random.default_rng(1) for _ in "ab"],
    )
    wanted = out.copy()
    outputs.symmetric_to_all(rngs[0], 0.5, out)
    for matrix in wanted:
        add_symmetric_gaussian(rngs[1], 0.5, matrix)
    assert np.array_equal(out, wanted)
    assert np.array_equal(out, out.transpose(0, 2, 1))
    assert len(np.unique(out[:, 0, 0])) == 5


def test_numbers_at_once_and_arrays_one_by_one():
    def add(s, a, rng):
        a += s * rng.standard_normal(a.shape)

    at_once = outputs.at_once(add)(2.0, np.random.default_rng(2), 4)
    each = outputs.one_by_one(add, 3.0)(np.array([2.0, 0.0]), np.random.default_rng(2), 4)
    assert np.array_equal(at_once, 2.0 + np.random.default_rng(2).standard_normal(4))
    drawn = 3.0 * np.random.default_rng(2).standard_normal((4, 2)) + [2.0, 0.0]
    assert np.allclose(each, drawn, atol=1e-15)
    picks = outputs.one_by_one(lambda s, a, rng: 7)(np.zeros(2), None, 3)
    assert picks.tolist() == [7.0, 7.0, 7.0]
    attack = outputs.attack(add, 0.0, 1.0, np.asarray)
    assert (attack.runs, attack.sees, attack.fresh) == (False, "output", False)
