"""NoisySGD for many step sizes and noises at once, on shared draws.

Every variant has exactly the law of `baselines.noisy_sgd.run`, and for one generator the same bits
(tested); variants share records and draws, so that differences between them are paired.
Cost: one set of d normals per step and O(d) per variant, which lie side by side in memory, so that
the processor takes several at once.
"""

import numpy as np

from companion.jit import jit
from companion.kernels.geometry import admit_all
from companion.kernels.mechanisms import below
from companion.simulate import need_seeds, over, stream
from companion.streaming_sco.excess import drawn

LANES = 8  # variants come in multiples of it: those that are left over would go one by one


@jit
def descend(A, b, steps, eta, sigma, radius, rng, theta):
    """theta (d, m) <- the last iterates of m variants over boxes of radius (m,), steps eta (m,) and
    noises sigma (m,), on admitted records A (n, d), b (n,).
    """
    d, m = theta.shape
    c = np.empty(m)
    for _ in range(steps):
        j = below(rng, A.shape[0])
        c[:] = 0.0
        for i in range(d):
            x = A[j, i]
            for k in range(m):
                c[k] += x * theta[i, k]
        for k in range(m):
            c[k] = 2.0 * (c[k] - b[j])
        for i in range(d):
            x, z = A[j, i], rng.standard_normal()
            for k in range(m):
                moved = theta[i, k] - eta[k] * (c[k] * x + sigma[k] * z)
                theta[i, k] = min(max(moved, -radius[k]), radius[k])


def noisy_sgds(
    world,
    optimisers,
    n: int,
    seeds,
    executor=None,
) -> np.ndarray:
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
    admit_all(X, Y, p.q, p.high, A, b)
    full = made + made[-1:] * (-len(made) % LANES)
    eta, sigma, radius = (
        np.array([getattr(q, k) for q in full]) for k in ("eta", "sigma", "radius")
    )
    theta = np.zeros((p.d, len(full)))
    descend(A, b, p.steps, eta, sigma, radius, stream(seed, "NoisySGD"), theta)
    return world.excess(np.ascontiguousarray(theta.T))[: len(made)]
