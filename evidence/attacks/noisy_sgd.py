"""Attacks on NoisySGD, and the instances that are measured."""

from functools import partial

import numpy as np

from companion.baselines.noisy_sgd import descend, noisy_sgd
from companion.jit import jit
from companion.kernels.geometry import admit_all
from evidence.attacks import audit


@jit
def gradients(p, X, Y, rng, out):
    """out (runs, steps, d) <- all that the steps show of the records X, Y."""
    A = np.empty(X.shape)
    b = np.empty(Y.shape)
    admit_all(X, Y, p.q, p.high, A, b)
    for i in range(out.shape[0]):
        theta = np.zeros(p.d)
        for k in range(p.steps):
            descend(p, theta, A, b, rng, out[i, k])


def attacks(optimiser):
    """`audit.Attack`s: all noisy gradients, which the proof composes, and the parameter
    at the end, all that is public.

    The first label is as large as it may be, or its opposite, as in the former are all
    others.
    """
    p = optimiser.params
    X = np.zeros((p.n, p.d))
    X[:, 0] = 1.0
    Z = np.full(p.n, -p.high)
    Y = Z.copy()
    Y[0] = p.high

    def steps(data, rng, out):
        gradients(p, *data, rng, out)

    seen = audit.filled((p.steps, p.d), steps)
    loss = partial(sampled_loss, p)
    released = audit.Attack(seen, (X, Y), (X, Z), loss, "releases", runs=False)
    return released, audit.on_first_label(optimiser, "the order of steps")


def sampled_loss(p, seen):
    """Log-likelihood ratios (n,) of gradients (n, steps, d): all have mean 2 Y e_1, but
    under the first input -2 Y e_1 with chance 1/n of the records; the parameter is taken
    for 0."""
    apart = -4.0 * p.high / p.sigma**2 * seen[:, :, 0]
    return (np.logaddexp(np.log(p.n - 1.0), apart) - np.log(p.n)).sum(axis=1)


def attack_instances():
    """Both calibrations."""
    return audit.in_both(noisy_sgd, 1, 2, epsilon=1.0, delta=0.1, radius=0.02)


def measured():
    """Instances whose noisy gradients are measured; a small ball nearly attains 2 L."""
    pair = audit.in_both(noisy_sgd, 2, 6, epsilon=1.0, delta=1e-6, radius=0.02)
    return audit.instances(*pair, bound_is_tight=False)
