"""What the public program behind the paper's baselines ran, where that departs from its paper.

RS-GLinUCB, aliased: the matrix at the last fit is the *same array* as the running one, which is
updated in place, so det H never exceeds 1.5 det H again.  The second estimate is fitted exactly
once, right after the warm-up, on the few rows of the warm-up, while the width uses the current H.
Regret is then linear, with a slope that depends on luck.
Source: the public program of Sawarni et al. (2024); used only by cells that explain Table 2.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from companion._jit import jit
from companion._types import Array, Ints, Rng
from companion.baselines import rs_glinucb as mended
from companion.baselines.glm_parts import widest
from companion.baselines.rs_glinucb import choose
from companion.kernels.likelihood import fit
from companion.kernels.linalg import inverse
from companion.kernels.optimism import scores

if TYPE_CHECKING:
    from companion.core import Policy


@jit
def select(p: Any, s: Any, X: Array, rng: Rng) -> int:
    """As `rs_glinucb.select`, with one fit, and the width from the running matrix."""
    known = scores(X, s.theta_warm, s.V_inv)
    square, arm = widest(known)
    s.warm[0] = 1 if square > p.threshold else 0
    if s.warm[0] == 1:
        return arm
    if s.log_det[0] == -np.inf:
        s.log_det[0] = 0.0
        fit(p.link, s.X, s.y, s.t, mended.PENALTY, p.tolerance, s.theta_hat, s.work)
    inverse(s.H, s.H_inv, s.L)
    return choose(p, s, X, known)


@jit
def play(p: Any, s: Any, X: Array, R: Array, rng: Rng, arms: Ints) -> Any:
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = mended.update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def aliased(policy: "Policy") -> "Policy":
    """The same RS-GLinUCB as the program ran it; ValueError for another policy."""
    if policy.init is not mended.init:
        raise ValueError(f"policy must be an RS-GLinUCB; got {policy.name!r}")
    return policy._replace(name="RS-GLinUCB, as run", play=play, select=select)
