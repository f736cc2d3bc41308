"""`simulate.trace` watches the very run that `simulate` makes."""

import numpy as np
import pytest

from companion.baselines.private_linucb import ldp_linucb
from companion.environments import sphere
from companion.simulate import repetitions, simulate, trace


@pytest.mark.parametrize("every", [1, 7, 50, 400])
def test_same_run_as_simulate_however_it_is_cut(every):
    env, policy = sphere(30, 3), ldp_linucb(3, 400, epsilon=1.0, delta=0.1)
    (seed,) = repetitions(3, 1)
    final = simulate(env, [policy], 400, [seed]).final[0, 0]
    *_, (t, state, _, _, _) = trace(env, policy, 400, seed, every)
    whole = [(s.t, s.b.copy()) for _, s, *_ in trace(env, policy, 400, seed, 400)]
    assert t == 400 // every * every
    if every != 7:  # 7 does not divide 400: its last look is at round 399
        assert (state.t, state.b.tolist()) == (whole[0][0], whole[0][1].tolist())
    regret = sum(
        (mu.max(axis=1) - mu[np.arange(len(mu)), arms]).sum()
        for _, _, _, mu, arms in trace(env, policy, 400, seed, 1)
    )
    assert regret == pytest.approx(final, rel=1e-12)


def test_refuses_bad_steps():
    with pytest.raises(ValueError, match="every"):
        next(
            trace(
                sphere(3, 3),
                ldp_linucb(3, 400, epsilon=1.0, delta=0.1),
                400,
                repetitions(0, 1)[0],
                0,
            )
        )
