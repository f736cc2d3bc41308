"""Lives by a kernel against calls of `init` and `play`, to the bit."""

import numpy as np

ENDS = [2, 3, 7, 9]


def compare(policy, several, shown, n=40):
    """The arms (n, 9) of n lives on the same random stream, whose arms and sums agree with those of
    as many calls; shown(state): what a kernel shows of it."""
    p, rng = policy.params, np.random.default_rng(1)
    X = rng.uniform(-0.7, 0.7, (9, 3, p.d))
    if getattr(p, "one_context", False):
        X[:] = X[:, :1]
    R, size = rng.uniform(0.0, 1.0, (9, 3)), len(shown(policy.init(p)))
    arms, sums = several((X, R), np.random.default_rng(2), n, ENDS)
    assert sums.shape == (n, len(ENDS), size)
    rng, played = np.random.default_rng(2), np.empty(9, np.int64)
    for i in range(n):
        s, begin = policy.init(p), 0
        for j, end in enumerate(ENDS):
            s = policy.play(p, s, X[begin:end], R[begin:end], rng, played[begin:end])
            assert np.array_equal(sums[i, j], shown(s))
            begin = end
        assert np.array_equal(arms[i], played)
    assert len(np.unique(sums.reshape(-1, size), axis=0)) > n  # lives differ, and so do their ends
    return arms
