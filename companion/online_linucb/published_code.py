"""What the program behind Figure 1 of the online-LinUCB paper ran.

Source: the public program of Chowdhury and Zhou (2022), whose setting and baselines it
copies.

Its departures from the published mechanisms are kept:

1. contexts have norm sqrt2 (x = (v, 1), ||v|| = 1), the noise is scaled as if they had
   norm 1; the first d arms are replaced by e_i + e_d (i < d) and e_d;
2. the two statistics x x' and r x are each noised with the full budget, and the Gaussian
   scale lacks its factor sqrt2;
3. "JDP" draws floor(ln T) + 1 noise matrices once and adds the first floor(ln(1 + t)) + 1
   of them to the exact statistics: a natural logarithm where a binary tree has log2, and
   noise that stays the same between two changes, so that two consecutive releases differ
   by one user's exact data;
4. "SDP vector": users draw Bin(floor(b), 1/4) noise, the analyser subtracts b/4 as if it
   were Bin(b, 1/4);
5. the width is the same for every noise, and NaN widths (indefinite matrices) are chosen
   first.

No guarantee is attached to 3 and 4; that of the others is computed for the statistics'
sensitivity 2 sqrt3 at norm sqrt2.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting import privacy
from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    need_budget,
)
from companion.core import Policy, plain_loop
from companion.environments import draw_arm, fill, filled_blocks
from companion.jit import jit
from companion.kernels.linalg import dot, inverse, matvec, quad
from companion.kernels.mechanisms import add_symmetric_gaussian, round_at_random
from companion.validate import LARGEST, need_choice, need_int

KINDS = ("LinUCB", "LDP", "JDP", "SDP (amplification)", "SDP (vector)")
LINUCB, LDP, JDP, AMPLIFIED, VECTOR = range(len(KINDS))  # as kernels know them
# L, norm of the program's contexts; ours have norm 1 and are stretched by it
NORM = np.sqrt(2.0)
# Of (x x', r x) at that norm: ||x x' - z z'||_F^2 <= 8, ||r x - q z||^2 <= 4.
SENSITIVITY = 2.0 * np.sqrt(3.0)
P = 0.25  # chance that a noise bit is one (vector protocol)


class Params(NamedTuple):
    d: int
    T: int
    kind: int  # index in KINDS
    batch: int  # rounds between two models
    sigma: float  # noise per entry
    g: float  # counts per unit (vector protocol)
    b: float  # noise bits per user and entry, not an integer (vector protocol)
    ridge: float  # Lambda
    width: float  # beta


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    G: np.ndarray  # (d, d)
    b: np.ndarray  # (d,)
    noise_G: np.ndarray  # (levels, d, d) JDP: drawn at the first round, then reused
    noise_b: np.ndarray  # (levels, d)
    V_inv: np.ndarray
    theta: np.ndarray
    work: np.ndarray  # (2 d + 2, d) scratch: two squares, two vectors


class Arms(NamedTuple):
    """The program's fixed action set: the paper's, but the first d arms are canonical."""

    K: int = 100
    d: int = 5

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu), Bernoulli rewards; theta and arms are new in every
        repetition."""
        K = self.K
        d = self.d
        theta = np.empty(d)
        arms = np.empty((K, d))
        draw_arm(rng, True, 1.0, theta)
        for k in range(K):
            draw_arm(rng, True, 1.0, arms[k])
        arms[:d] = np.sqrt(0.5) * np.eye(d)[d - 1]
        arms[: d - 1] += np.sqrt(0.5) * np.eye(d)[: d - 1]
        offset = True
        shrink = 1.0
        fresh = False
        bernoulli = 1
        noise = 0.0
        law = (theta, offset, shrink, fresh, bernoulli, noise)
        yield from filled_blocks(fill, law, K, d, T, rng, arms)


def init(p: Params) -> State:
    """State before the first round; round 0 has a model without data."""
    d = p.d
    levels = int(np.log(p.T)) + 1
    return State(
        t=np.zeros(1, np.int64),
        G=np.zeros((d, d)),
        b=np.zeros(d),
        noise_G=np.zeros((levels, d, d)),
        noise_b=np.zeros((levels, d)),
        V_inv=np.eye(d) / p.ridge,
        theta=np.zeros(d),
        work=np.zeros((2 * d + 2, d)),
    )


@jit
def select(p, s, X, rng):
    """First row of X with the largest score, where NaN counts as largest (departure
    5)."""
    best = -np.inf
    arm = 0
    for k in range(X.shape[0]):
        ucb = dot(X[k], s.theta) + p.width * np.sqrt(quad(s.V_inv, X[k]))
        if np.isnan(ucb):
            return k
        if ucb > best:
            best = ucb
            arm = k
    return arm


@jit
def collect(p, s, x, r, rng):
    """One user's statistics, with the noise of the local kinds, into s.G and s.b."""
    for i in range(p.d):
        for j in range(i + 1):
            v = count(p, x[i] * x[j], rng)
            s.G[i, j] += v
            if i != j:
                s.G[j, i] += v
        s.b[i] += count(p, r * x[i], rng)
    if p.kind == LDP or p.kind == AMPLIFIED:
        add_noise(p, s.G, s.b, rng)


@jit
def add_noise(p, G, b, rng):
    """(N + N')/2 onto G: standard deviation sigma on the diagonal, sigma/sqrt2 off it; N
    onto b."""
    add_symmetric_gaussian(rng, p.sigma, G)
    for i in range(p.d):
        b[i] += p.sigma * rng.standard_normal()


@jit
def count(p, v, rng):
    """What an entry v of one user's statistics adds to the sum, before any Gaussian
    noise.

    In the vector protocol (departure 4) a user sends bits, and the analyser estimates v.
    """
    if p.kind != VECTOR:
        return v
    bits = round_at_random(rng, (v + NORM) * p.g / NORM) + rng.binomial(int(p.b), P)
    return NORM / p.g * (bits - P * p.b) - NORM


@jit
def refit(p, s, t):
    """New model after t rounds; JDP adds its first floor(ln(1 + t)) + 1 noises (departure
    3)."""
    live = int(math.log(1.0 + t)) + 1 if p.kind == JDP else 0
    A = s.work[: p.d]
    square = s.work[p.d : 2 * p.d]
    u = s.work[2 * p.d]
    for i in range(p.d):
        u[i] = s.b[i]
        for m in range(live):
            u[i] += s.noise_b[m, i]
        for j in range(p.d):
            A[i, j] = s.G[i, j] + (p.ridge if i == j else 0.0)
            for m in range(live):
                A[i, j] += s.noise_G[m, i, j]
    if not inverse(A, s.V_inv, square):
        s.V_inv[0, 0] = np.nan  # a singular matrix has no widths
    matvec(s.V_inv, u, s.theta)


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,) of norm 1, stretched to the program's
    norm."""
    if s.t[0] == 0 and p.kind == JDP:
        for m in range(s.noise_b.shape[0]):
            add_noise(p, s.noise_G[m], s.noise_b[m], rng)
    stretched = s.work[2 * p.d + 1]
    for i in range(p.d):
        stretched[i] = NORM * x[i]
    collect(p, s, stretched, r, rng)
    s.t[0] += 1
    if s.t[0] % p.batch == 0:
        refit(p, s, s.t[0])


play = plain_loop(select, update)


BATCH = 20  # users of a batch


def scales(kind: str, d: int, T: int, epsilon: float, delta: float):
    """(noise per entry sigma, Gamma, g, b) of the program for one of KINDS.

    Gamma bounds the noise in the Gram matrix of T rounds; ridge and width are made from
    it.
    """
    sigma = 0.0
    gamma = 1.0
    g = 0.0
    b = 0.0
    if kind == "LDP":
        sigma = np.sqrt(np.log(2.5 / delta)) / epsilon
        gamma = sigma * np.sqrt(T * d)
    elif kind == "JDP":
        sigma = np.sqrt(np.log(T)) * np.log(2.5 / delta) / epsilon
        gamma = sigma * np.sqrt(d * np.log(T))
    elif kind == "SDP (amplification)":
        sigma = np.sqrt(np.log(2.5 * BATCH / delta)) / (epsilon * np.sqrt(BATCH))
        gamma = sigma * np.sqrt(T * d)
    elif kind == "SDP (vector)":
        tuned = 1.0 if epsilon < 1.0 else 10.0  # the program's c at 0.2, and at 1 and 10
        g = max(2.0 * np.sqrt(BATCH), float(d), 4.0)
        b = tuned * g * g * np.log(d / delta) ** 2 / (epsilon**2 * BATCH)
        gamma = 0.25 * np.log(d / delta) / (epsilon * np.sqrt(BATCH)) * np.sqrt(T * d)
    return sigma, gamma, g, b


MODELS = {
    "LDP": "local",
    "JDP": "joint",
    "SDP (amplification)": "shuffle",
    "SDP (vector)": "shuffle",
}


def true_epsilon(kind: str, sigma: float, delta: float) -> float:
    """What the noise of one of KINDS gives; departures 3 and 4 guarantee nothing.

    What is private by itself stays so behind a shuffler.
    """
    if kind in ("LDP", "SDP (amplification)"):
        return privacy.gaussian_epsilon(delta, sigma, SENSITIVITY)
    return np.inf


def baseline(
    kind: str,
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
) -> Policy:
    """One of KINDS as the program ran it, on contexts of norm 1 in R^d, d >= 2, for T >=
    2 rounds.

    Raises ValueError on an unknown kind or budget, or a d or T out of range.
    """
    need_choice("kind", kind, KINDS)
    d = need_int("d", d, 2, LARGEST)
    T = need_int("T", T, 2, LARGEST)
    epsilon, delta = need_budget(epsilon, delta)
    sigma, gamma, g, b = scales(kind, d, T, epsilon, delta)
    log = np.log((1.0 + T * NORM**2 / gamma) * T)
    width = np.sqrt(gamma * d) + 0.5 * np.sqrt(d * log)
    ridge = 1e-4 if kind == "LinUCB" else 2.0 * gamma
    every = BATCH if kind.startswith("SDP") else 1
    p = Params(
        d=d,
        T=T,
        kind=KINDS.index(kind),
        batch=every,
        sigma=sigma,
        g=g,
        b=b,
        ridge=ridge,
        width=width,
    )
    guarantee = NO_PRIVACY
    if kind != "LinUCB":
        guarantee = Guarantee(
            model=MODELS[kind],
            epsilon=true_epsilon(kind, sigma, delta),
            delta=delta,
            neighbours=REPLACE_RECORD,
            unit="user",
            claimed=(epsilon, delta),
        )
    return Policy(
        name=kind,
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
    )
