"""LPLR: one user moves a message by what the guarantee says."""

import math
from itertools import product

import numpy as np
import pytest
from lplr_quiet import quiet

from companion.lplr.messages import past, spread_messages, update_messages
from companion.lplr.params import guarantee, lplr_params


def users(p):
    """[(phi, y)]: corners and lengths on the edges of bins of the last layer, for d = 1 and 2."""
    sizes = [1.0, p.edge[1] * 1.001, p.edge[1], p.edge[2] * 1.001]
    root = math.sqrt(0.5)
    if p.d == 1:
        rows = [[s * a] for s in sizes for a in (-1.0, 1.0)]
    else:  # the residual is the second entry, the prediction coef times the first
        rows = [[a * root, b * root] for a, b in product((-1, 1), repeat=2)]
        rows += [
            [a * math.sqrt(1 - s * s), b * s] for s in sizes for a, b in product((-1, 1), repeat=2)
        ]
        rows += [[0.0, b * s] for s in sizes for b in (-1, 1)]
    return [(np.array(r), y) for r in rows for y in (-1.0, 1.0)] + [(np.zeros(p.d), 0.0)]


def movements(p, coef):
    """Largest movements of (counts, vectors, matrices) together, in units of the noise's scales."""
    tree, rng = past(quiet(p), coef), np.random.default_rng(0)
    sent = np.array([update_messages(quiet(p), tree, user, rng, 1)[0] for user in users(p)])
    g, d = p.edge[: p.M, None], p.d
    worst = 0.0
    for a, b in product(sent, repeat=2):
        count, vector = np.abs(a - b)[:, :1], np.abs(a - b)[:, 1 : 1 + d] / g
        matrix = (a - b)[:, 1 + d :].reshape(-1, d, d) / g[:, :, None] ** 2
        nuclear = np.abs(np.linalg.eigvalsh(matrix)).sum()
        cost = count.sum() / p.count_scale + vector.sum() / p.vector_scale[d - 1]
        worst = max(worst, cost + nuclear / (2 * p.matrix_scale))
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("d", [1, 2])
def test_one_user_moves_a_message_by_epsilon(d, epsilon):
    """In layer 1 (d = 1) by exactly epsilon; in layer 2 by no more, whatever was learned before."""
    p = lplr_params(d, 10**4, epsilon, M=2)
    promised = guarantee(p, epsilon).epsilon
    assert promised == pytest.approx(epsilon)
    if d == 1:
        assert movements(p, 0.0) == pytest.approx(promised)
    else:
        for coef in (0.0, 1.0, -1.0, 50.0):
            assert movements(p, coef) <= promised * (1 + 1e-9)
        assert movements(p, 50.0) > 0.8 * promised


def test_one_user_moves_the_interval_stage_by_epsilon():
    p = lplr_params(2, 10**4, 0.7, M=2)
    tree, rng = past(quiet(p), 0.0, width=1e9), np.random.default_rng(0)
    sent = np.array([spread_messages(quiet(p), tree, user, rng, 1)[0] for user in users(p)])
    worst = max(np.abs(a - b).sum() for a, b in product(sent, repeat=2))
    assert worst / p.spread_scale == pytest.approx(0.7)  # g / sqrt(s) is 1 in this past


def generator(*key):
    """A random stream named by integers."""
    return np.random.default_rng(list(key))


def test_labels_and_interval_statistics_stay_within_their_sensitivity():
    p = lplr_params(2, 10**4, 1.0, M=2)
    quiet = p._replace(
        count_scale=0.0, vector_scale=np.zeros(2), matrix_scale=0.0, spread_scale=0.0
    )
    rng = generator(13)
    for coef in (0.0, 5.0, -40.0):
        tree = past(quiet, coef, width=7.0)
        for _ in range(200):
            phi = rng.standard_normal(2)
            phi *= rng.random() / np.linalg.norm(phi)
            out = update_messages(quiet, tree, (phi, rng.choice([-1.0, 1.0])), rng, 1)[0]
            scaled = out / np.column_stack(
                [np.ones(2), p.edge[:2], p.edge[:2], *[p.edge[:2] ** 2] * 4]
            )
            assert np.abs(scaled[:, 0]).sum() <= 1
            assert np.abs(scaled[:, 1:3]).sum() <= 2 * math.sqrt(2) + 1e-9
            assert np.trace(scaled[:, 3:].sum(axis=0).reshape(2, 2)) <= 1 + 1e-9
            assert np.abs(spread_messages(quiet, tree, (phi, 0.0), rng, 1)).sum() <= p.cap + 1e-9


def test_messages_leave_the_tree_as_it_is_so_that_audits_may_share_it():
    p = lplr_params(2, 10**6, 1.0)
    tree = past(p, coef=0.5, width=0.1)
    before = [a.copy() for a in tree]
    user = np.array([0.3, 0.4]), 0.5
    for send in (update_messages, spread_messages):
        send(p, tree, user, np.random.default_rng(1), 10)
    assert all(np.array_equal(a, b) for a, b in zip(before, tree, strict=True))
