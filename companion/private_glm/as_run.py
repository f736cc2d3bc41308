"""What the public program behind the paper's baselines ran, where that departs from its paper.

RS-GLinUCB, aliased: the matrix at the last fit is the *same array* as the running one, which is
updated in place, so det H never exceeds 1.5 det H again.  The second estimate is fitted exactly
once, right after the warm-up, on the few rows of the warm-up, while the width uses the current H.
Regret is then linear, with a slope that depends on luck.
Source: the public program of Sawarni et al. (2024); used only by cells that explain Table 2.
"""

import numpy as np

from companion.baselines import rs_glinucb as mended
from companion.baselines.rs_glinucb import choose
from companion.jit import jit
from companion.kernels.glm import fit
from companion.kernels.linalg import inverse
from companion.kernels.ucb import tabulate, widest


@jit
def select(p, s, X, rng):
    """As `rs_glinucb.select`, with one fit of all rows, and the width from the running matrix."""
    table = np.empty((4, X.shape[0]))
    tabulate(X, s.theta_warm, s.theta_hat, table)
    square, arm = widest(X, s.V_inv, p.threshold, table)
    s.warm[0] = 1 if square > p.threshold else 0
    if s.warm[0] == 1:
        return arm
    stale, first = mended.fit_warm_up(p, s), s.log_det[0] == -np.inf
    if first:
        s.log_det[0] = 0.0
        fit(p.link, s.X, s.y, s.t[0], mended.PENALTY, p.tolerance, s.theta_hat, s.work)
    if first or stale:
        tabulate(X, s.theta_warm, s.theta_hat, table)
    inverse(s.H, s.H_inv, s.L)
    return choose(p, s, X, table)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        mended.update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)


def aliased(policy):
    """The same RS-GLinUCB as the program ran it; ValueError for another policy."""
    if policy.init is not mended.init:
        raise ValueError(f"policy must be an RS-GLinUCB; got {policy.name!r}")
    return policy._replace(name="RS-GLinUCB, as run", play=play, select=select)
