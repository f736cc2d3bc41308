"""The sign attack on FLIPHAT finds the printed noise, and nothing in the corrected one."""

import numpy as np
import pytest
from many_lives import compare

from companion.accounting import audit
from companion.accounting.lives import lived
from companion.fliphat.attack import PLAYS, attack, sign_attack, sign_epsilon, sign_loss
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat

D, ROWS, X_MAX = 20, 64, 3.46
ROUNDS = 2 * ROWS - 1 + 2 * D


def lost(policy, trials=6000):
    (game,) = attack(policy)
    assert game.a[0].shape == (ROUNDS, 2, D)
    assert np.flatnonzero((game.a[1] != game.b[1]).any(axis=1)) == [2 * ROWS - 2]
    return audit.attacked(game, delta=0.01, trials=trials, seed=3, level=1 - 1e-7).epsilon


def test_the_attack_changes_one_user_within_the_bounds_and_counts_signs():
    policy = residual_fliphat(
        4, 80, sparsity=2, epsilon=2.0, delta=0.01, iterations=1, x_clip=0.5, skip=0
    )
    game = sign_attack(policy)
    for x, y in zip(game.a, game.b, strict=True):
        different = np.flatnonzero((x != y).reshape(len(x), -1).any(axis=1))
        assert set(different) <= {62}  # the last of the 32 rows of the last release
    assert game.a[0][62].max() == 0.5
    assert (game.a[1][62] == 1.0).all()
    arms = np.empty((1, len(game.a[0])), np.int64)
    state = policy.init(policy.params)
    policy.play(policy.params, state, *game.a, np.random.default_rng(1), arms[0])
    assert game.statistic(np.delete(arms, 62, axis=1))[0] == np.sign(state.theta_hat).sum()


def test_the_exact_loss_of_the_attack_is_that_of_randomised_response():
    """One pick at delta -> 0: log(p/(1 - p)); at most what composition allows."""
    policy = residual_fliphat(2, 70, sparsity=1, epsilon=2.0, delta=0.01, iterations=1, skip=0)
    p = policy.params
    right = 1 - 0.5 * np.exp(-2 / (32 * p.xi_first[-1]))
    assert sign_epsilon(policy, 1e-12) == pytest.approx(np.log(right / (1 - right)), rel=1e-6)
    assert sign_epsilon(policy, 0.01) < 2.0


@pytest.mark.parametrize("forget", [True, False])
def test_lives_in_one_call_are_those_of_play(forget):
    """Of both variants, to the bit; the actions are those that a loop over `play` shows."""
    options = {"sparsity": 2, "epsilon": 9.0, "skip": 2, "warm": True, "forget": forget}
    residual = residual_fliphat(3, 20, **options)
    printed = fliphat(3, 20, sparsity=2, epsilon=9.0, delta=0.01, b_max=1.0, iteration_rate=1.0)
    for policy in (residual, printed):
        arms = compare(policy, lived(policy, 3, PLAYS), lambda s: s.theta_hat)
        assert len(np.unique(arms, axis=0)) > 3
    game = sign_attack(residual_fliphat(3, 40, **options))
    slow = audit.playing(residual_fliphat(3, 40, **options), user=game.mechanism.user)
    shown = [m(game.a, np.random.default_rng(4), 30) for m in (game.mechanism, slow)]
    assert np.array_equal(*shown)


def test_attacks_are_refused_where_they_make_no_sense():
    keys = {"sparsity": 2, "epsilon": 1.0}
    with pytest.raises(ValueError, match="rounds"):
        sign_attack(residual_fliphat(20, 64, **keys))
    with pytest.raises(ValueError, match="contexts"):
        sign_attack(fliphat(4, 300, b_max=3.0, calibration="paper", **keys))
    with pytest.raises(ValueError, match="one step"):
        sign_epsilon(residual_fliphat(4, 80, iterations=2, **keys), 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_the_printed_noise_loses_more_than_it_claims(epsilon):
    keys = {"sparsity": 10, "epsilon": epsilon, "b_max": 3.44, "x_max": X_MAX}
    paper = fliphat(D, ROUNDS, calibration="paper", clip_contexts=True, **keys)
    assert epsilon < lost(paper, 20_000) < paper.guarantee.epsilon
    assert lost(fliphat(D, ROUNDS, **keys)) < epsilon


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_the_residual_variants_keep_their_promise(warm):
    policy = residual_fliphat(
        D, ROUNDS, sparsity=10, epsilon=1.0, delta=0.01, iterations=2, warm=warm
    )
    assert lost(policy) < 1.0


def test_the_loss_of_two_signs_by_hand():
    """u = log 2: a sign is right with probability 3/4, its loss is log 3.  Of two, both are right
    with probability 9/16: delta at epsilon = log 3 is 9/16 (1 - 3/9) = 3/8."""
    assert sign_loss(np.log(2.0), 2, 3 / 8) == pytest.approx(np.log(3.0), rel=1e-6)
    assert sign_loss(np.log(2.0), 1, 1e-12) == pytest.approx(np.log(3.0), rel=1e-6)
