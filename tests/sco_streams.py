"""Records that the tests of the optimisers share."""

import numpy as np

from companion.streaming_sco.streaming import streaming_fw

OPTIONS = {"radius": 2.0, "label_bound": 1.2}


def records(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.abs(X).sum(axis=1, keepdims=True)
    return X, np.clip(X @ np.full(d, 0.8) + 0.1 * rng.standard_normal(n), -1.2, 1.2)


def unclipped(d, n, p, epsilon=np.inf, **options):
    """Algorithm 1 that takes all labels up to 50 and clips no leaf."""
    options = {
        "radius": 2.0,
        "label_bound": 50.0,
        "clip": np.inf,
    } | options
    return streaming_fw(d, n, epsilon=epsilon, delta=1e-3, p=p, **options)
