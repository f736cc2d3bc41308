"""What becomes public of a record: estimates, nodes, arms, and the attacks on them."""

from typing import NamedTuple

import numpy as np
import pytest

from companion import optimisers
from companion.baselines.jdp_linucb import jdp_linucb
from companion.core import Release
from evidence.attacks.audit import (
    learning,
    on_first_label,
    on_first_nodes,
    readers,
    runs_of,
)
from evidence.attacks.private_linucb import later_signs_attack

MADE = {name: optimisers.example(name) for name in optimisers.TABLE}


@pytest.mark.parametrize("name", MADE)
def test_a_batch_method_shows_the_last_estimate_alone(name):
    """Two runs on the same stream show twice what one run on it begins with."""
    o = MADE[name]
    n = o.params.n
    d = o.params.d
    X = np.full((n, d), 0.3)
    Y = np.full(n, 0.5)
    seen = learning(o)((X, Y), np.random.default_rng(0), 2)
    rng = np.random.default_rng(0)
    out = np.zeros((n, d))
    o.run(o.params, o.init(o.params, rng), X, Y, rng, out)
    assert seen.shape == (2, n if o.step is not None else 1, d)
    assert np.array_equal(seen[0], out[-seen.shape[1] :])


def test_the_attack_on_the_first_label_changes_it_alone():
    o = MADE["noisy_sgd"]
    attack = on_first_label(o, "")
    X, Y = attack.a
    Z, W = attack.b
    assert np.array_equal(X, Z)
    assert np.flatnonzero(Y != W).tolist() == [0]
    assert Y[0] == -W[0] == o.params.high
    assert np.flatnonzero(X.any(axis=1)).tolist() == [0]
    assert attack.statistic(np.full((1, 1, o.params.d), 2.0)) == pytest.approx([2.0])


def test_nodes_of_the_first_record_hold_it_alone():
    """Without noise every one of the three sums is the record's own; the move tells them
    apart."""
    policy = jdp_linucb(2, 7, epsilon=np.inf, delta=0.1)
    a = (np.array([1.0, 0.0]), 1.0)
    b = (np.zeros(2), 0.0)
    move = np.array([1.0, 0.0, 0.0, 1.0, 0.0])  # the matrix by its triangle, then r x
    attack = on_first_nodes(
        policy,
        a,
        b,
        runs_of(policy, lambda s: s.release),
        move,
        note="rest",
    )
    seen, none = (
        attack.mechanism(d, np.random.default_rng(0), 2) for d in (attack.a, attack.b)
    )
    assert seen.shape == (2, 3, 5)
    assert (seen == move).all()
    assert not none.any()
    assert attack.statistic(seen).tolist() == [6.0, 6.0]
    assert (attack.sees, attack.note) == ("releases", "rest")


def test_later_users_play_the_sign_of_the_first_reward():
    attack = later_signs_attack(jdp_linucb(2, 7, epsilon=np.inf, delta=0.1))
    for data, arm in ((attack.a, 0), (attack.b, 1)):
        arms = attack.mechanism(data, np.random.default_rng(0), 1)
        assert set(arms[0].tolist()) == {arm}
    X, R = attack.a
    Z, W = attack.b
    assert np.array_equal(X, Z)
    assert np.flatnonzero((R != W).any(axis=1)).tolist() == [0]


def test_what_a_kernel_shows_is_read_by_the_names_of_its_arguments():
    class Box(NamedTuple):
        inner: np.ndarray

    def kernel(p, box, out):
        return None

    releases = (
        Release(kernel, "out", "gaussian"),
        Release(kernel, "box.inner", "laplace"),
    )
    ((of, read),) = readers(releases).items()
    box = Box(np.zeros(2))
    out = np.ones(3)
    (first, a), (second, b) = read(None, 0, box, out)
    assert of is kernel
    assert (first, second) == ("gaussian", "laplace")
    assert a is out, "not copied"
    assert b is box.inner
    with pytest.raises(ValueError, match="nothing"):
        readers((Release(kernel, "nothing", "gaussian"),))
