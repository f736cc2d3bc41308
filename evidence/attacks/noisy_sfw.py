"""Attacks on NoisySFW, and the instances that are measured."""

import numpy as np

from companion.baselines.noisy_sfw import gather, init, noisy_sfw, release
from companion.jit import jit
from companion.kernels.linalg import copy
from evidence.attacks import audit


@jit
def first_releases(p, s, x, y, rng, out):
    """out (n, d) <- n first releases about the record x (d,), y and zeros; s is
    overwritten."""
    for i in range(out.shape[0]):
        s.t[0] = 0
        gather(p, s, x, y)
        release(p, s, p.half, p.sigma_first, rng)
        copy(s.released, out[i])


def attacks(optimiser):
    """`audit.Attack`: the first release; a label is as large as it may be, or its
    opposite."""
    p = optimiser.params
    # no context is longer in l_2
    x = np.full(p.d, p.d ** (-1.0 / p.q))
    s = init(p, None)

    def shown(record, rng, out):
        first_releases(p, s, *record, rng, out)

    return (
        audit.Attack(
            mechanism=audit.filled((p.d,), shown),
            a=(x, p.high),
            b=(x, -p.high),
            statistic=audit.along(-x),
            sees="releases",
            note="later gradients",
            runs=False,
        ),
    )


def attack_instances():
    """Both calibrations: for a small ball 2 L is nearly attained."""
    return audit.in_both(noisy_sfw, 2, 16, epsilon=1.0, delta=0.1, radius=0.02)


def measured():
    """Instances whose gradients are measured.  The first is the dearest and nearly
    attains 2 L for a small ball; the bound of the later ones is out of reach for
    squares."""
    known = {"epsilon": 1.0, "delta": 1e-2, "radius": 0.02}
    pair = audit.in_both(noisy_sfw, 2, 16, **known)
    wide = noisy_sfw(9, 16, calibration="paper", **known)
    return audit.instances(*pair, wide, bound_is_tight=False)
