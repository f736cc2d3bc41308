"""NoisySGD for many step sizes and noises at once, on shared draws.

Every variant has exactly the law of `baselines.noisy_sgd.run`, and for one generator the same bits
(tested); variants share records and draws, so that differences between them are paired.
Cost: one set of d normals per step and O(d) per variant: a grid of 24 variants takes a seventh of
the time of single runs.
"""

import numpy as np

from companion._jit import jit
from companion.excess import drawn
from companion.geometry import admit
from companion.linalg import dot
from companion.simulate import need_seeds, over, stream


@jit
def descend(A, b, steps, eta, sigma, radius, rng, theta):
    """theta (m, d) <- the last iterates of m variants over boxes of radius (m,), steps eta (m,) and
    noises sigma (m,), on admitted records A (n, d), b (n,).
    """
    n, d = A.shape
    z = np.empty(d)
    for _ in range(steps):
        j = rng.integers(0, n)
        for i in range(d):
            z[i] = rng.standard_normal()
        for k in range(theta.shape[0]):
            c = 2.0 * (dot(A[j], theta[k]) - b[j])
            for i in range(d):
                theta[k, i] -= eta[k] * (c * A[j, i] + sigma[k] * z[i])
                theta[k, i] = min(max(theta[k, i], -radius[k]), radius[k])


def noisy_sgds(world, optimisers, n, seeds, executor=None):
    """Excess risk (n_reps, n_methods) of NoisySGD variants: `excess_risk(...).final` in law.

    optimisers: `noisy_sgd` values for p = inf that release the last iterate, alike in d, n and the
    bound of the labels.  Raises ValueError on others.
    """
    made = tuple(o.params for o in optimisers)
    alike = {(p.d, p.n, p.p, p.high, p.steps, p.average) for p in made}
    if alike != {(made[0].d, n, np.inf, made[0].high, n * n, False)}:
        raise ValueError(f"optimisers must be NoisySGD for p = inf, n={n}, last iterate, alike in d"
                         f" and label_bound; got {sorted(alike)}")  # fmt: skip
    jobs = [(world, made, n, seed) for seed in need_seeds(seeds)]
    return np.array(over(_repetition, jobs, executor))


def _repetition(world, made, n, seed):
    X, Y = drawn(world, n, seed)
    p, A, b = made[0], np.empty(X.shape), np.empty(Y.shape)
    for t in range(n):
        b[t], _ = admit(X[t], Y[t], p.q, -p.high, p.high, A[t])
    eta, sigma, radius = (
        np.array([getattr(q, k) for q in made]) for k in ("eta", "sigma", "radius")
    )
    theta = np.zeros((len(made), p.d))
    descend(A, b, p.steps, eta, sigma, radius, stream(seed, "NoisySGD"), theta)
    return world.excess(theta)
