"""The solver of the lasso bandits comes to an end, and says whether it converged."""

import numpy as np
import pytest

from companion.baselines.forced_lasso import forced_lasso
from companion.baselines.lasso_bandit import lasso_bandit
from companion.kernels.linalg import Gram, lasso_descent, whole


def solved(G, c, penalty, tolerance=1e-12):
    theta, q, index = np.zeros(len(c)), np.array(c, float), np.arange(len(c))
    gram = Gram(np.array(G, float), index, index, np.empty((0, len(c))))
    return lasso_descent(gram, 0, len(c), penalty, tolerance, theta, q), theta, q


def test_soft_threshold_by_hand():
    done, theta, q = solved([[2.0, 0.0], [0.0, 4.0]], [3.0, -0.5], 1.0)
    assert done
    assert theta.tolist() == [1.0, 0.0]
    assert q.tolist() == [1.0, -0.5]


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_the_tolerance_is_never_below_rounding(size):
    """The solution is (size, -size): at 1e30 no move of 1e-12 can be seen."""
    done, theta, _ = solved([[2.0, 1.0], [1.0, 2.0]], [size, -size], 0.0)
    assert done
    assert theta == pytest.approx([size, -size], rel=1e-12, abs=1e-12)


def test_a_slow_descent_stops_and_says_so():
    near = 1 - 1e-9
    done, theta, _ = solved([[1.0, near], [near, 1.0]], [1e-3, -1e-3], 0.0)
    assert not done
    assert np.isfinite(theta).all()


def played(policy, apart, rewards):
    """State after 40 rounds of two features that differ by `apart` times a normal variable."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((40, 2))
    z = x[:, 1:].copy()
    if apart < 1.0:
        x[:, 1:] = x[:, :1] + apart * z
    X, R = np.repeat(x[:, None], 2, axis=1), np.repeat(rewards * z, 2, axis=1)
    arms = np.empty(40, np.int64)
    state = policy.init(policy.params)
    policy.play(policy.params, state, X, R, rng, arms)
    return state


POLICIES = (
    forced_lasso(2, 2, penalty_forced=1e-9, penalty_all=1e-9, tolerance=1e-7),
    lasso_bandit(2, 40, penalty=1e-9, every=20, tolerance=1e-7),
)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_policies_count_the_fits_that_were_cut_short(policy):
    assert played(policy, 1.0, 1.0).capped[0] == 0
    assert played(policy, 1e-4, 1.0).capped[0] > 0


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
def test_huge_rewards_come_to_an_end(policy):
    state = played(policy, 1.0, 1e30)
    assert state.capped[0] == 0
    assert np.isfinite(next(a for n, a in state._asdict().items() if "theta" in n)).all()


def test_a_gram_row_takes_in_rows_of_data_in_their_order():
    X = np.random.default_rng(2).standard_normal((9, 4))
    late = Gram(np.zeros((2, 4)), np.array([3, 1]), np.zeros(2, int), X)
    often = Gram(np.zeros((2, 4)), np.array([3, 1]), np.zeros(2, int), X)
    for n in (0, 2, 2, 5, 9):
        whole(often, 0, n)
        np.testing.assert_allclose(often.rows[0], X[:n, 3] @ X[:n], atol=1e-12)
    assert (whole(late, 0, 9) == often.rows[0]).all()
    assert (whole(late, 0, 4) == often.rows[0]).all()  # it knows more already
    assert late.seen.tolist() == often.seen.tolist() == [9, 0]
