"""LDP-, JDP- and SDP-LinUCB: LinUCB on noisy statistics (sum x x', sum r x).

They differ in where the noise stands:
    local     every user sends x x' and r x with Gaussian noise; the server adds the
    messages up server    a trusted server keeps exact sums and shows every user only a
    tree-noised version shuffler  the shuffled vector sum of Cheu et al. (2021), one batch
    of B users after the other:
              every entry is rounded at random to some bits, hidden among Bin(b, p) noise
              bits
Source: Zheng, Cai, Huang, Li and Wang (2020), local; Shariff and Sheffet (2018), server,
here with a real binary tree; Chowdhury and Zhou (2022), shuffler: the baselines of the
online-LinUCB paper.

Privacy: neighbours replace one user's record (x, r).  Its statistics, packed into a
vector of norm sqrt(||x x'||_F^2 + ||r x||^2) (entries off the diagonal times sqrt2), move
by at most s = `privacy.STATISTICS_SENSITIVITY`: sqrt(4.5) in the ball, 2 on the offset
sphere.
* local: one Gaussian release of sensitivity s.  "paper" is sigma = 4 sqrt(2
ln(1.25/delta))/epsilon
  on every coordinate.
* server (joint: what the *other* users see): a user is in at most m = floor(log2 T) + 1
nodes, so
  the node sums are one Gaussian query of sensitivity s sqrt(m).  "paper" is the classical
  formula at that sensitivity, also where it is not proved (epsilon > 1).
* shuffler: one user moves the counts by at most s g/L, plus one per entry for rounding
  (both records rounded with one uniform number; the law is a mixture over it).
  "corrected" takes the least b at which `binomial` proves (epsilon, delta); "paper" is
  the published b.  Every user is in one batch, so batches compose in parallel.
Noise off the diagonal is sigma/sqrt2, because such an entry counts twice in the Frobenius
norm.

The model is ridge regression at lambda_t = ridge + shift * (size of the Gram matrix'
noise): sigma sqrt(d t) for local and shuffler, sigma sqrt(d m / 2) for the server (a
prefix is the sum of m / 2 nodes on average).  Its width is LinUCB's radius at that ridge,
without a term for the noise in the sums: a practical choice, so `failure` is the chance
of a miss without noise only.
"""

from typing import Literal, NamedTuple

import numpy as np

from companion.accounting import privacy
from companion.accounting.binomial import binomial_bits, binomial_epsilon
from companion.accounting.privacy import (
    STATISTICS_SENSITIVITY,
    gaussian_release,
    tree_levels,
)
from companion.baselines.linucb import radius
from companion.core import WIDEST, Policy, Release, linear_universe, plain_loop
from companion.jit import jit
from companion.kernels import mechanisms, tree
from companion.kernels.linalg import axpy, copy, inverse, matvec
from companion.kernels.ucb import optimistic_arm
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)

LOCAL, SERVER, SHUFFLER = range(3)  # where the noise stands
RANGE = 1.0  # L: every packed entry of one user lies in [-1, 1]
P = 0.25  # chance that a noise bit is one


# Calibration of the shuffler


def vector_sum(d, epsilon, delta, batch, sensitivity, calibration):
    """(g, b, epsilon proved at delta) of the shuffled vector sum for statistics of this
    sensitivity."""
    g = max(2.0 * np.sqrt(batch), float(d), 4.0)
    n = mechanisms.statistics_size(d)
    # No entry changes by more than the sensitivity, nor by more than 2L; rounding adds
    # below one.
    largest = int(np.ceil(min(sensitivity, 2.0 * RANGE) * g / RANGE))
    query = sensitivity * g / RANGE + np.sqrt(n), n, largest
    if calibration == "corrected":
        return g, *binomial_bits(epsilon, delta, batch, P, *query)
    log = np.log(4.0 * (d * d + 1) / delta)
    b = int(np.ceil(24e4 * g * g * log * log / (epsilon * epsilon * batch)))
    return g, b, binomial_epsilon(delta, b * batch, P, *query)


# Ridge regression on noisy statistics


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    ridge: float  # lambda without noise
    shift: float  # lambda_t = ridge + shift * (size of the noise); see `refit`
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem
    # standard deviation of the noise on every coordinate, of one user or node
    sigma: float
    batch: int = 1  # rounds between two models
    noise_at: int = LOCAL
    g: float = 0.0  # shuffler: counts per unit of an entry
    b: int = 0  # shuffler: noise bits per user and entry


def need_ridge(d, T, universe, ridge, shift, noise, theta_bound, failure, width) -> tuple:
    """The fields of `Params` up to the width, checked; ValueError by name on anything
    else."""
    T = need_int("T", T, 1)
    return (
        need_int("d", d, 1, WIDEST),
        T,
        universe == "offset_sphere",
        need_positive("ridge", ridge),
        need_float("shift", shift, 0.0),
        need_float("noise", noise, 0.0),
        need_float("theta_bound", theta_bound, 0.0),
        need_probability("failure", 1.0 / (T + 1.0) if failure is None else failure),
        need_float("width", width, 0.0),
    )


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    G: np.ndarray  # (d, d) noisy sum of x x'
    b: np.ndarray  # (d,) noisy sum of r x
    V_inv: np.ndarray  # (d, d) inverse of noisy Gram matrix + lambda I, at the last fit
    theta: np.ndarray  # (d,) V_inv times the noisy sum of r x
    radius: np.ndarray  # (1,) of the confidence set
    work: np.ndarray  # (2, d, d) scratch
    x: np.ndarray  # (d,) clipped context
    # local: the last user's noisy packed statistics; server: the exact ones, which nobody
    # sees; shuffler: the exact ones, overwritten by the estimate at the end of a batch
    message: np.ndarray
    clipped: np.ndarray  # (1,) records outside the universe: exact, must not be shown
    exact: np.ndarray  # server: packed exact statistics (secret)
    # server: (levels, packed) noise of the prefix up to each live block
    nodes: np.ndarray
    release: np.ndarray  # server: packed, what the next user sees
    counts: np.ndarray  # shuffler: rounded statistics of the running batch


def init(p):
    """State before the first round."""
    d = p.d
    n = mechanisms.statistics_size(p.d)
    at_server = n * (p.noise_at == SERVER)
    at_shuffler = n * (p.noise_at == SHUFFLER)
    start = np.array([radius(p, 0, p.ridge)])
    model = np.zeros((d, d)), np.zeros(d), np.eye(d) / p.ridge, np.zeros(d), start
    user = np.zeros((2, d, d)), np.zeros(d), np.zeros(n), np.zeros(1, np.int64)
    server = (
        np.zeros(at_server),
        np.zeros((tree_levels(p.T), at_server)),
        np.zeros(at_server),
    )
    return State(np.zeros(1, np.int64), *model, *user, *server, np.zeros(at_shuffler))


@jit
def refit(p, s, size):
    """Ridge regression on the noisy statistics s.G, s.b, with lambda = ridge + shift *
    size.

    A noisy Gram matrix may stay indefinite after the shift; its inverse is then used as
    it is.  One that has no inverse (a shuffler's noise is discrete) leaves the last model
    in force.
    """
    ridge = p.ridge + p.shift * size
    A = s.work[0]
    copy(s.G, A)
    for i in range(p.d):
        A[i, i] += ridge
    if inverse(A, A, s.work[1]):
        copy(A, s.V_inv)
        matvec(s.V_inv, s.b, s.theta)
        s.radius[0] = radius(p, s.t[0], ridge)


@jit
def statistics(p, x, r, clean, message):
    """message <- packed (x x', r x) of the clipped record; 1 if it was outside the
    universe."""
    r, clipped = mechanisms.clip_record(p.offset, x, r, clean)
    mechanisms.pack_statistics(clean, r, message)
    return clipped


@jit
def randomize(p, x, r, rng, clean, message):
    """Everything that leaves a device: message <- packed (x x', r x) + N(0, sigma^2 I);
    returns 1 if clipped."""
    clipped = statistics(p, x, r, clean, message)
    mechanisms.add_gaussian(rng, p.sigma, message)
    return clipped


@jit
def release(p, s, t, rng):
    """s.release <- the server's exact statistics of t rounds + noise of the tree's live
    blocks."""
    row = tree.advance(s.nodes, t, p.sigma, rng)
    for i in range(s.release.shape[0]):
        s.release[i] = s.exact[i] + s.nodes[row, i]


@jit
def select(p, s, X, rng):
    """The row of X (K, d) with the largest upper confidence bound; the first one on
    ties."""
    return optimistic_arm(X, s.V_inv, s.theta, s.radius[0])


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); the model is fitted anew at the end of a
    batch."""
    s.t[0] += 1
    t = s.t[0]
    size = p.sigma * np.sqrt(float(p.d * t))
    if p.noise_at == LOCAL:  # a noisy message enters the sums
        s.clipped[0] += randomize(p, x, r, rng, s.x, s.message)
        mechanisms.add_unpacked(1.0, s.message, s.G, s.b)
    elif (
        p.noise_at == SERVER
    ):  # the exact sums grow, and their noisy version is shown anew
        s.clipped[0] += statistics(p, x, r, s.x, s.message)
        axpy(1.0, s.message, s.exact)
        release(p, s, t, rng)
        s.b[:] = 0.0
        s.G[:] = 0.0
        mechanisms.add_unpacked(1.0, s.release, s.G, s.b)
        size = p.sigma * np.sqrt(0.5 * p.d * s.nodes.shape[0])
    else:  # rounded counts; at the end of a batch the analyser's estimate enters the sums
        s.clipped[0] += statistics(p, x, r, s.x, s.message)
        mechanisms.shuffle_add(rng, s.message, RANGE, p.g, s.counts)
        # all users' noise bits are drawn at once: their sum has the same law
        if t % p.batch == 0:
            mechanisms.shuffle_analyse(
                rng,
                s.counts,
                p.batch,
                RANGE,
                p.g,
                p.b,
                P,
                s.message,
            )
            mechanisms.add_unpacked(1.0, s.message, s.G, s.b)
            s.counts[:] = 0.0
    if t % p.batch == 0:
        refit(p, s, size)


play = plain_loop(select, update)


def _policy(name, p, guarantee, released, private):
    """The `Policy` of these Params."""
    return Policy(
        name=name,
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=linear_universe(p.offset),
        delayed_feedback=True,
        releases=(released,),
        private=private,
    )


def ldp_linucb(
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
    """LinUCB on locally randomised statistics; epsilon = inf is LinUCB itself.

    Parameters
    ----------
    d, T : dimension of a context, in [1, 10,000], and horizon, at least 1.
    epsilon, delta : budget of a user, in (0, inf] and (0, 1).
    calibration : "corrected" or "paper".
    universe : "ball" (||x|| <= 1, |r| <= 1) or "offset_sphere" (x = (u, 1/sqrt2), 0 <= r
    <= 1);
        records outside are clipped into it and counted.
    ridge : lambda without noise, at least 1e-100.
    shift : multiple of the noise's size that is added to the ridge, at least 0.
    noise : scale of the rewards, at least 0.
    theta_bound : bound on the norm of theta, at least 0.
    failure : chance in (0, 1) that some confidence set misses theta; None: 1/(T + 1).
    width : multiple of the theorem's radius, at least 0.

    Returns
    -------
    Policy with the guarantee that its noise gives.

    Raises
    ------
    ValueError by name on anything else.

    Examples
    --------
    >>> print(ldp_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    sigma, guarantee = gaussian_release(
        "local",
        epsilon,
        delta,
        calibration,
        universe,
        STATISTICS_SENSITIVITY,
        paper=4.0,
    )
    model = need_ridge(d, T, universe, ridge, shift, noise, theta_bound, failure, width)
    p = Params(*model, sigma)
    message = Release(randomize, "message", "gaussian")
    return _policy("LDP-LinUCB", p, guarantee, message, ("x", "clipped"))


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
    levels = tree_levels(need_int("T", T, 1))
    sigma, guarantee = gaussian_release(
        "joint",
        epsilon,
        delta,
        calibration,
        universe,
        STATISTICS_SENSITIVITY,
        releases=levels,
    )
    model = need_ridge(d, T, universe, ridge, shift, noise, theta_bound, failure, width)
    p = Params(*model, sigma, noise_at=SERVER)
    sums = Release(release, "s.release", "gaussian")
    secret = ("exact", "nodes", "x", "message", "clipped")
    return _policy("JDP-LinUCB", p, guarantee, sums, secret)


def sdp_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    batch: int = 20,
    calibration: Literal["corrected", "paper"] = "corrected",
    universe: Literal["ball", "offset_sphere"] = "ball",
    ridge: float = 1.0,
    shift: float = 0.7,
    noise: float = 0.5,
    theta_bound: float = 1.0,
    failure: float | None = None,
    width: float = 1.0,
) -> Policy:
    """LinUCB on shuffled statistics, refitted once per batch.

    Parameters
    ----------
    epsilon : in (0, inf).
    batch : users B of a batch, from 1 to 10^12.

    The others, result and errors are those of `ldp_linucb`.

    Examples
    --------
    >>> sdp_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee.model
    'shuffle'
    """
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("universe", universe, privacy.UNIVERSES)
    epsilon = need_positive("epsilon", epsilon)
    delta = need_probability("delta", delta)
    batch = need_int("batch", batch, 1, 10**12)
    d = need_int("d", d, 1, WIDEST)
    model = need_ridge(d, T, universe, ridge, shift, noise, theta_bound, failure, width)
    sensitivity = STATISTICS_SENSITIVITY[universe]
    unit = f"user ({universe})"
    g, b, true = vector_sum(d, epsilon, delta, batch, sensitivity, calibration)
    sigma = float(RANGE / g * np.sqrt(b * P * (1 - P)))  # of a user's noise bits
    claimed = None if calibration == "corrected" else (epsilon, delta)
    guarantee = privacy.Guarantee(
        model="shuffle",
        epsilon=true,
        delta=delta,
        neighbours=privacy.REPLACE_RECORD,
        unit=unit,
        claimed=claimed,
    )
    p = Params(*model, sigma, batch, SHUFFLER, float(g), b)
    sums = Release(mechanisms.shuffle_analyse, "out", "counts")
    return _policy(
        "SDP-LinUCB",
        p,
        guarantee,
        sums,
        ("x", "message", "counts", "clipped"),
    )
