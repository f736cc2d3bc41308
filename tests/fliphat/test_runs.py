"""Rows that are added to a sum when they are played, against rows that are stored, to the bit."""

import numpy as np
import pytest

from companion.fliphat import shortcuts
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.policy import fliphat
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import one_step, run_lazy, simulate_sparse
from companion.simulate import repetitions

SIGNAL = (1.0, 0.0, 0.8, 0.0, 0.6)
CLIPPED = {"d": 12, "T": 300, "sparsity": 6, "epsilon": 1000.0, "skip": 4, "iterations": 1}
STREAMED = {
    "from zero": residual_fliphat(**CLIPPED),
    "warm": residual_fliphat(warm=True, **CLIPPED),
    "keeps": residual_fliphat(forget=False, **CLIPPED),
    "clipped rows": fliphat(12, 300, sparsity=6, epsilon=1e3, delta=0.01, b_max=2.4, x_max=1.0),
}


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("T", [300, 255, 200])
def test_rows_added_when_they_are_played_are_rows_stored(monkeypatch, name, T):
    """To the bit, in two worlds at once, and where the last episode is cut short."""
    policy, seeds = STREAMED[name], repetitions(1, 3)
    other = policy.renamed("other")._replace(params=policy.params._replace(eta=0.3))
    assert one_step(policy.params)
    envs = [autoregressive(3, pad(SIGNAL, 12), phi=phi, noise=0.3) for phi in (0.6, 0.0)]
    runs = []
    for kernel in (shortcuts.run_streamed, run_lazy):
        monkeypatch.setattr(shortcuts, "run_streamed", kernel)
        if kernel is run_lazy:
            monkeypatch.setattr(shortcuts, "one_step", lambda p: False)
        for env in envs:
            runs.append(simulate_sparse(env, [policy, other], T, seeds, path="lazy").regret)
    np.testing.assert_array_equal(runs[:2], runs[2:])
    assert len(np.unique(runs[0][:, 0, -1])) == 3


def test_what_one_step_may_not_see_is_stored():
    """Warm starts that keep rows, or clip them; more steps; other bounds of old rewards."""
    p = STREAMED["keeps"].params
    assert not one_step(p._replace(warm=True))
    assert not one_step(p._replace(forget=True, warm=True, row_clip=1.0))
    assert not one_step(p._replace(iterations=2 * p.iterations))
    assert not one_step(p._replace(reward_clip=np.arange(1.0, 9.0)))
    assert not one_step(
        residual_fliphat(3, 300, sparsity=2, epsilon=1.0, delta=0.01, iterations=2).params
    )
