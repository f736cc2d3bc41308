"""The gradient of a loss that moves with the choices, against its definition."""

import numpy as np
import pytest

from companion.simulate import repetitions, stream
from companion.streaming_sco import drift, one_context, sco_bandit

KEYS = {"t0": 20, "gap": 40.0, "label_bound": 1.2, "radius": 2.0}


def test_the_error_is_that_of_the_definition_and_falls(monkeypatch):
    monkeypatch.setattr(drift, "SAMPLE", 4000)
    world, seeds, grid = one_context(2, 3, 2), repetitions(1, 2), [50, 400, 3000]
    policy = sco_bandit(3, 2, 3000, epsilon=np.inf, **KEYS)
    error, dropped = drift.drifts(world, policy, 3000, seeds, grid)
    assert error.shape == dropped.shape == (2, 3)
    assert (error[:, 2] < 0.5 * error[:, 0]).all()
    assert (dropped[:, 2] <= dropped[:, 0]).all()
    X, R, mu = next(world.blocks(3000, stream(seeds[0], "environment")))
    true = np.linalg.lstsq(X[:, 0], mu, rcond=None)[0].T
    arms = np.empty(400, np.int64)
    rng = stream(seeds[0], policy.name)
    state = policy.play(policy.params, policy.init(policy.params), X[:400], R[:400], rng, arms)
    fresh, met, worst = drift._contexts(world, seeds[0]), state.arms.old, []
    for i in range(2):
        terms = [2 * x * (x @ (met[i] - true[i])) for x in fresh if (met @ x).argmax() == i]
        worst.append(np.abs(state.arms.gradient[i] - np.sum(terms, axis=0) / len(fresh)).max())
    assert error[0, 1] == pytest.approx(max(worst), rel=1e-9)
    now, lost = state.arms.theta, []
    turned = [x for x in fresh if (met @ x).argmax() != (now @ x).argmax()]
    assert 0 < len(turned) < len(fresh) / 2
    for i in range(2):
        lost.append(sum((x @ (now[i] - true[i])) ** 2 for x in turned) / len(fresh))
    assert dropped[0, 1] == pytest.approx(max(lost), rel=1e-9)


def test_noise_is_part_of_the_error():
    world, seeds = one_context(2, 3, 2), repetitions(1, 2)
    quiet, loud = (
        drift.drifts(world, sco_bandit(3, 2, 500, epsilon=e, **KEYS), 500, seeds, [400])[0].mean()
        for e in (np.inf, 1.0)
    )
    assert loud > 2 * quiet
