"""What becomes public of a record: nodes of a tree, and what kernels show."""

from typing import NamedTuple

import numpy as np
import pytest
from streams import learn

from companion.baselines.jdp_linucb import jdp_linucb
from companion.baselines.local_md import local_md
from companion.core import Release
from evidence.attacks.audit import on_first_user, readers
from evidence.attacks.baselines import local_md_attacks


def test_the_attack_on_the_first_label_changes_it_alone_and_shows_the_last_estimate():
    o = local_md(2, 12, epsilon=1.0, delta=0.1)
    (attack,) = local_md_attacks(o)
    X, Y = attack.a
    Z, W = attack.b
    assert np.array_equal(X, Z)
    assert np.flatnonzero(Y != W).tolist() == [0]
    assert Y[0] == -W[0] == o.params.high
    assert np.flatnonzero(X.any(axis=1)).tolist() == [0]
    seen = attack.mechanism(attack.a, np.random.default_rng(0), 1)
    every, _ = learn(o, X, Y, seed=0)
    assert np.array_equal(seen[0], every[-1])
    assert attack.statistic(np.full((1, 2), 2.0)) == pytest.approx([2.0])


def test_nodes_of_the_first_record_hold_it_alone(rng):
    """Without noise every one of the three sums is the record's own; the move tells them
    apart."""
    policy = jdp_linucb(2, 7, epsilon=np.inf, delta=0.1)
    a = (np.array([1.0, 0.0]), 1.0)
    b = (np.zeros(2), 0.0)
    move = np.array([1.0, 0.0, 0.0, 1.0, 0.0])  # the matrix by its triangle, then r x
    attack = on_first_user(policy, a, b, lambda s: s.release, move, note="rest")
    seen = attack.mechanism(attack.a, rng, 2)
    none = attack.mechanism(attack.b, rng, 2)
    assert seen.shape == (2, 3, 5)
    assert (seen == move).all()
    assert not none.any()
    assert attack.statistic(seen).tolist() == [6.0, 6.0]
    assert (attack.sees, attack.note) == ("releases", "rest")


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
