"""Attacks on the optimisers that the streaming paper compares with, and the instances
that are measured: NoisySGD, NoisySFW and LocalMD."""

from functools import partial

import numpy as np

from companion.baselines import noisy_sfw as sfw
from companion.baselines import noisy_sgd as sgd
from companion.baselines.local_md import local_md
from companion.jit import jit
from companion.kernels.geometry import admit_all
from companion.kernels.linalg import copy
from evidence.attacks import audit
from evidence.attacks.streaming_sco import SMALL, longest_context

# NoisySGD.


@jit
def gradients(p, X, Y, rng, out):
    """out (steps, d) <- all that the steps show of the records X, Y."""
    A = np.empty(X.shape)
    b = np.empty(Y.shape)
    admit_all(X, Y, p.q, p.high, A, b)
    theta = np.zeros(p.d)
    for k in range(p.steps):
        sgd.descend(p, theta, A, b, rng, out[k])


def noisy_sgd_attacks(optimiser):
    """`audit.Attack`: all noisy gradients, which the proof composes.

    The first label is as large as it may be, or its opposite, as in the former are all
    others.
    """
    p = optimiser.params
    X = np.zeros((p.n, p.d))
    X[:, 0] = 1.0
    Z = np.full(p.n, -p.high)
    Y = Z.copy()
    Y[0] = p.high
    attack = audit.Attack(
        mechanism=audit.drawn((p.steps, p.d), gradients, p),
        a=(X, Y),
        b=(X, Z),
        statistic=partial(sampled_loss, p),
        sees="releases",
    )
    return (attack,)


def sampled_loss(p, seen):
    """Log-likelihood ratios (n,) of gradients (n, steps, d): all have mean 2 Y e_1, but
    under the first input -2 Y e_1 with chance 1/n of the records; the parameter is taken
    for 0."""
    apart = -4.0 * p.high / p.sigma**2 * seen[:, :, 0]
    return (np.logaddexp(np.log(p.n - 1.0), apart) - np.log(p.n)).sum(axis=1)


def noisy_sgd_attack_instances():
    """Both calibrations."""
    return audit.in_both(sgd.noisy_sgd, 1, 2, **SMALL)


def noisy_sgd_measured():
    """Instances whose noisy gradients are measured."""
    pair = audit.in_both(sgd.noisy_sgd, 2, 6, **SMALL | {"delta": 1e-6})
    return audit.instances(*pair, bound_is_tight=False)


# NoisySFW.


@jit
def first_release(p, s, x, y, rng, out):
    """out (d,) <- the first release about the record x (d,), y and zeros; s is
    overwritten."""
    s.t[0] = 0
    sfw.gather(p, s, x, y)
    sfw.release(p, s, p.half, p.sigma_first, rng)
    copy(s.released, out)


def noisy_sfw_attacks(optimiser):
    """`audit.Attack`: the first release; a label is as large as it may be, or its
    opposite."""
    p = optimiser.params
    x = longest_context(p)
    attack = audit.Attack(
        mechanism=audit.drawn((p.d,), first_release, p, sfw.init(p, None)),
        a=(x, p.high),
        b=(x, -p.high),
        statistic=audit.along(-x),
        sees="releases",
        note="later gradients",
    )
    return (attack,)


def noisy_sfw_measured():
    """Instances whose gradients are measured.  The first is the dearest and nearly
    attains 2 L; the bound of the later ones is out of reach for squares."""
    pair = audit.in_both(sfw.noisy_sfw, 2, 16, **SMALL)
    wide = sfw.noisy_sfw(9, 16, calibration="paper", **SMALL)
    return audit.instances(*pair, wide, bound_is_tight=False)


# LocalMD.


def local_md_attacks(optimiser):
    """`audit.Attack`: the parameter at the end, all that is public.  The first label is
    as large as it may be, or its opposite, at the context e_1; all other records are
    zero."""
    p = optimiser.params
    X = np.zeros((p.n, p.d))
    Y = np.zeros(p.n)
    X[0, 0] = 1.0
    Y[0] = p.high

    def last(data, rng, n):
        every = np.empty((n, p.n, p.d))
        for out in every:
            optimiser.run(p, optimiser.init(p, rng), *data, rng, out)
        return every[:, -1]

    attack = audit.Attack(
        mechanism=last,
        a=(X, Y),
        b=(X, -Y),
        statistic=audit.along(X[0]),
        sees="parameters",
        note="the order of steps",
        runs=True,
    )
    return (attack,)


def local_md_measured():
    """Instances whose every noisy gradient is measured."""
    pair = audit.in_both(local_md, 2, 12, **SMALL, step_scale=0.01)
    return audit.instances(*pair, bound_is_tight=False)
