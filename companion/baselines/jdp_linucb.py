"""JDP-LinUCB: LinUCB on statistics (sum x x', sum r x) that a trusted server releases.

The server keeps exact sums.  Every user is shown only a noisy version of them, whose
noise comes from a binary tree over the rounds (`kernels/tree.py`).
Source: Shariff and Sheffet (2018), here with a real binary tree; a baseline of the
online-LinUCB paper.

Privacy (joint: what the *other* users see): neighbours replace one user's record (x, r).
Its statistics, packed into a vector of norm sqrt(||x x'||_F^2 + ||r x||^2) (entries off
the diagonal times sqrt2), move by at most s = `privacy.STATISTICS_SENSITIVITY`: sqrt(4.5)
in the ball, 2 on the offset sphere.  A user is in at most m = floor(log2 T) + 1 nodes, so
the node sums are one Gaussian query of sensitivity s sqrt(m).  "paper" is the classical
formula at that sensitivity, also where it is not proved (epsilon > 1).  The packed vector
holds the sqrt2, and every packed number has noise sigma.  So in the matrix noise off the
diagonal is sigma/sqrt2.

The model is ridge regression at lambda = ridge + shift * (size of the noise in the Gram
matrix), the size being sigma sqrt(d m / 2): a prefix is the sum of m / 2 nodes on
average.  Its width is LinUCB's radius at that ridge, without a term for the noise in the
sums: a practical choice, so `failure` is the chance of a miss without noise only.
"""

from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import (
    STATISTICS_SENSITIVITY,
    UNIVERSES,
    gaussian_release,
    tree_levels,
)
from companion.baselines.ldp_linucb import Params
from companion.baselines.linucb import radius
from companion.core import WIDEST, Policy, Release, linear_universe
from companion.jit import jit
from companion.kernels import mechanisms, tree
from companion.kernels import ridge as regression
from companion.kernels.linalg import axpy
from companion.kernels.ucb import optimistic_arm
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)

# The law of a node's noise stands in these three places and nowhere else: its name, how
# it is drawn, and the standard deviation sigma that a budget asks for.  A law that needs
# the sensitivity in L1 needs d in `node_noise`, too.

LAW = "gaussian"


@jit
def add_node_noise(rng, sigma, node):
    """node (packed,) <- node + noise of standard deviation sigma on every coordinate."""
    mechanisms.add_gaussian(rng, sigma, node)


def node_noise(T, epsilon, delta, calibration, universe):
    """(sigma, Guarantee) of all node sums of T rounds, of which a record enters
    tree_levels(T)."""
    levels = tree_levels(T)
    return gaussian_release(
        "joint",
        epsilon,
        delta,
        calibration,
        universe,
        STATISTICS_SENSITIVITY,
        releases=levels,
    )


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    G: np.ndarray  # (d, d) noisy sum of x x'
    b: np.ndarray  # (d,) noisy sum of r x
    V_inv: np.ndarray  # (d, d) (G + lambda_t I)^-1, at the last fit
    theta: np.ndarray  # (d,) V_inv b
    radius: np.ndarray  # (1,) of the confidence set
    work: np.ndarray  # (2, d, d) scratch
    x: np.ndarray  # (d,) clipped context
    message: np.ndarray  # (packed,) the last user's statistics: exact, secret
    clipped: np.ndarray  # (1,) records outside the universe: exact, must not be shown
    exact: np.ndarray  # (packed,) exact sums: secret
    nodes: (
        np.ndarray
    )  # (levels, packed) noise of the prefix up to each live block: secret
    release: np.ndarray  # (packed,) the noisy sums, which the next user sees


def init(p):
    """State before the first round."""
    n = mechanisms.statistics_size(p.d)
    return State(
        t=np.zeros(1, np.int64),
        G=np.zeros((p.d, p.d)),
        b=np.zeros(p.d),
        V_inv=np.eye(p.d) / p.ridge,
        theta=np.zeros(p.d),
        radius=np.array([radius(p, 0, p.ridge)]),
        work=np.zeros((2, p.d, p.d)),
        x=np.zeros(p.d),
        message=np.zeros(n),
        clipped=np.zeros(1, np.int64),
        exact=np.zeros(n),
        nodes=np.zeros((tree_levels(p.T), n)),
        release=np.zeros(n),
    )


@jit
def release(p, s, t, rng):
    """s.release <- the exact statistics of t rounds + noise of the tree's live blocks."""
    row = tree.trailing_zeros(t)
    add_node_noise(rng, p.sigma, s.nodes[row])
    tree.complete(s.nodes, t)
    for i in range(s.release.shape[0]):
        s.release[i] = s.exact[i] + s.nodes[row, i]


@jit
def select(p, s, X, rng):
    """The row of X (K, d) with the largest upper confidence bound; the first one on
    ties."""
    return optimistic_arm(X, s.V_inv, s.theta, s.radius[0])


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,): the exact sums grow, and their noisy version
    is shown anew."""
    s.t[0] += 1
    t = s.t[0]
    s.clipped[0] += regression.clipped_statistics(p.offset, x, r, s.x, s.message)
    axpy(1.0, s.message, s.exact)
    release(p, s, t, rng)
    s.G[:] = 0.0
    s.b[:] = 0.0
    mechanisms.add_unpacked(1.0, s.release, s.G, s.b)
    size = p.sigma * np.sqrt(0.5 * p.d * s.nodes.shape[0])
    ridge = p.ridge + p.shift * size
    if regression.fit(s, ridge):
        s.radius[0] = radius(p, t, ridge)


def jdp_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: Literal["corrected", "paper"] = "corrected",
    universe: Literal["ball", "offset_sphere"] = "ball",
    ridge: float = 1.0,
    shift: float = 0.7,
    noise: float = 0.5,
    theta_bound: float = 1.0,
    failure: float | None = None,
    width: float = 1.0,
) -> Policy:
    """LinUCB on tree-noised statistics; epsilon = inf is LinUCB itself.

    T is the horizon of the tree; parameters, result and errors are those of `ldp_linucb`.

    Examples
    --------
    >>> print(jdp_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-joint DP, replace one record, per user (ball)
    """
    d = need_int("d", d, 1, WIDEST)
    T = need_int("T", T, 1)
    need_choice("universe", universe, UNIVERSES)
    sigma, guarantee = node_noise(T, epsilon, delta, calibration, universe)
    if failure is None:
        failure = 1.0 / (T + 1.0)
    p = Params(
        d=d,
        T=T,
        offset=universe == "offset_sphere",
        ridge=need_positive("ridge", ridge),
        shift=need_float("shift", shift, 0.0),
        noise=need_float("noise", noise, 0.0),
        theta_bound=need_float("theta_bound", theta_bound, 0.0),
        failure=need_probability("failure", failure),
        width=need_float("width", width, 0.0),
        sigma=sigma,
    )
    return Policy(
        name="JDP-LinUCB",
        params=p,
        init=init,
        select=select,
        update=update,
        guarantee=guarantee,
        universe=linear_universe(p.offset),
        delayed_feedback=True,
        releases=(Release(release, "s.release", LAW),),
        private=("exact", "nodes", "x", "message", "clipped"),
    )
