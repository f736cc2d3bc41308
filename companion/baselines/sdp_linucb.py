"""SDP-LinUCB: LinUCB on statistics (sum x x', sum r x) of shuffled batches.

Users send bits; a shuffler mixes those of a batch of B users.  The server sees the
shuffled vector sum of Cheu et al. (2021): every entry is rounded at random to some bits,
hidden among Bin(b, p) noise bits of every user.
Source: Chowdhury and Zhou (2022); a baseline of the online-LinUCB paper.

Privacy (shuffle): neighbours replace one user's record (x, r).  Its statistics, packed
into a vector of norm sqrt(||x x'||_F^2 + ||r x||^2) (entries off the diagonal times
sqrt2), move by at most s = `privacy.STATISTICS_SENSITIVITY`: sqrt(4.5) in the ball, 2 on
the offset sphere.  One user moves the counts by at most s g/L, plus one per entry for
rounding (both records rounded with one uniform number; the law is a mixture over it).
"corrected" takes the least b at which `binomial` proves (epsilon, delta); "paper" is the
published b.  Every user is in one batch, so batches compose in parallel.

The model is ridge regression at lambda_t = ridge + shift * (size of the noise in the Gram
matrix), the size being sigma sqrt(d t).  Its width is LinUCB's radius at that ridge,
without a term for the noise in the sums: a practical choice, so `failure` is the chance
of a miss without noise only.
"""

from typing import Literal, NamedTuple

import numpy as np

from companion.accounting import privacy
from companion.accounting.binomial import binomial_bits, binomial_epsilon
from companion.baselines.linucb import radius
from companion.core import WIDEST, Policy, Release, linear_universe
from companion.jit import jit
from companion.kernels import mechanisms
from companion.kernels import ridge as regression
from companion.kernels.ucb import optimistic_arm
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)

RANGE = 1.0  # L: every packed entry of one user lies in [-1, 1]
P = 0.25  # chance that a noise bit is one


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


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    ridge: float  # lambda without noise
    shift: float  # lambda_t = ridge + shift * (size of the noise in the Gram matrix)
    noise: float  # R, sub-Gaussian scale of the rewards
    theta_bound: float  # S
    failure: float  # chance that some confidence set misses theta
    width: float  # multiple of the theorem's radius that is used; 1 is the theorem
    sigma: float  # standard deviation of one user's noise bits, on every coordinate
    batch: int  # B, users between two models
    g: float  # counts per unit of an entry
    b: int  # noise bits per user and entry


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    G: np.ndarray  # (d, d) noisy sum of x x'
    b: np.ndarray  # (d,) noisy sum of r x
    V_inv: np.ndarray  # (d, d) (G + lambda_t I)^-1, at the last fit
    theta: np.ndarray  # (d,) V_inv b
    radius: np.ndarray  # (1,) of the confidence set
    work: np.ndarray  # (2, d, d) scratch
    x: np.ndarray  # (d,) clipped context
    # exact statistics of the last user, overwritten by the estimate at the end of a batch
    message: np.ndarray  # (packed,)
    clipped: np.ndarray  # (1,) records outside the universe: exact, must not be shown
    counts: np.ndarray  # (packed,) rounded statistics of the running batch: secret


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
        counts=np.zeros(n),
    )


@jit
def select(p, s, X, rng):
    """The row of X (K, d) with the largest upper confidence bound; the first one on
    ties."""
    return optimistic_arm(X, s.V_inv, s.theta, s.radius[0])


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); at the end of a batch the analyser's
    estimate enters the sums, and the model is fitted anew."""
    s.t[0] += 1
    t = s.t[0]
    s.clipped[0] += regression.clipped_statistics(p.offset, x, r, s.x, s.message)
    mechanisms.shuffle_add(rng, s.message, RANGE, p.g, s.counts)
    if t % p.batch != 0:
        return
    # all users' noise bits are drawn at once: their sum has the same law
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
    size = p.sigma * np.sqrt(float(p.d * t))
    ridge = p.ridge + p.shift * size
    if regression.fit(s, ridge):
        s.radius[0] = radius(p, t, ridge)


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
    d = need_int("d", d, 1, WIDEST)
    T = need_int("T", T, 1)
    epsilon = need_positive("epsilon", epsilon)
    delta = need_probability("delta", delta)
    batch = need_int("batch", batch, 1, 10**12)
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("universe", universe, privacy.UNIVERSES)
    sensitivity = privacy.STATISTICS_SENSITIVITY[universe]
    g, b, true = vector_sum(d, epsilon, delta, batch, sensitivity, calibration)
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
        sigma=float(RANGE / g * np.sqrt(b * P * (1 - P))),
        batch=batch,
        g=float(g),
        b=b,
    )
    claimed = None if calibration == "corrected" else (epsilon, delta)
    guarantee = privacy.Guarantee(
        model="shuffle",
        epsilon=true,
        delta=delta,
        neighbours=privacy.REPLACE_RECORD,
        unit=f"user ({universe})",
        claimed=claimed,
    )
    return Policy(
        name="SDP-LinUCB",
        params=p,
        init=init,
        select=select,
        update=update,
        guarantee=guarantee,
        universe=linear_universe(p.offset),
        delayed_feedback=True,
        releases=(Release(mechanisms.shuffle_analyse, "out", "counts"),),
        private=("x", "message", "counts", "clipped"),
    )
