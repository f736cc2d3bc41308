"""Records that the tests of the optimisers share."""

import numpy as np

from companion.streaming_sco.streaming import streaming_fw

OPTIONS = {"radius": 2.0, "label_bound": 1.2}


def records(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.abs(X).sum(axis=1, keepdims=True)
    return X, np.clip(X @ np.full(d, 0.8) + 0.1 * rng.standard_normal(n), -1.2, 1.2)


def played(policy, X, R, rng):
    """(arms, state) of a policy on contexts X and rewards R, from its start."""
    arms = np.empty(len(X), np.int64)
    state = policy.init(policy.params)
    policy.play(policy.params, state, X, R, rng, arms)
    return arms, state


def unclipped(d, n, p, epsilon=np.inf, **options):
    """Algorithm 1 that takes all labels up to 50 and clips no leaf."""
    options = {
        "radius": 2.0,
        "label_bound": 50.0,
        "clip": np.inf,
    } | options
    return streaming_fw(d, n, epsilon=epsilon, delta=1e-3, p=p, **options)
