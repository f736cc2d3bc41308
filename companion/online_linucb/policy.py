"""Online LinUCB under local differential privacy: noise on action and reward, an online learner.

The user plays optimistically in an ellipsoid, adds Gaussian noise to x and to y, and sends only the
noisy pair.  An online learner (Maler, or OGD) follows the squared loss from which the noise's own
energy is subtracted; its predictions, not the rewards, make the centre of the ellipsoid.

Source: "Improved rate for locally differentially private linear bandits", Algorithm 1 (private;
Maler is the module `maler`) and, with epsilon = inf, Algorithm 4 with the width of Theorem A.2.
Neighbours: replace one user's record (x, y).  Model: local.
Calibration: "corrected" releases the pair (x, y) as ONE Gaussian query, sigma from the exact curve
of Balle and Wang with the pair's sensitivity (`privacy.PAIR_SENSITIVITY`); "paper" is 2 sqrt(2
ln(1.25/delta))/epsilon on each of x and y, which spends the budget twice and uses a formula proved
for epsilon <= 1.
Cost: O(K d^2 + d^2 log T) time per round, for n = 19 experts at T = 20000 (OGD: none), O(n d^2)
memory; 7 times the floor of `kernels.optimism` (OGD: 3), half of it for the experts.
Differs: gradients are clipped to G (appendix B calls G "the clipping constant", Algorithm 1 does
not clip).  Width and G take practical forms by default: those of the theory leave most of random
play's regret at the paper's horizon (measured in the chapter).
"""

from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.accounting.audit import AuditInstance, AuditSpec
from companion.accounting.privacy import PAIR_SENSITIVITY, UNIVERSES, gaussian_release
from companion.core import Policy, linear_universe
from companion.jit import inlined, jit
from companion.kernels.linalg import axpy, dot, matvec, norm, sherman_morrison
from companion.kernels.mechanisms import add_gaussian, clip_record
from companion.kernels.ucb import nothing_seen, optimistic_arm, optimistic_next
from companion.online_linucb import maler
from companion.online_linucb.theory import conversion_width, practical_clip, practical_width
from companion.validate import LARGEST, need_choice, need_float, need_int, need_positive


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sigma: float  # standard deviation of the noise on every coordinate of x and on y
    jitter: float  # Delta^2, variance of the extra perturbation of x
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    width: float  # beta, radius of the ellipsoid
    learner: maler.Params


class State(NamedTuple):
    t: int  # rounds played
    V_inv: np.ndarray  # (d, d) inverse of I + sum of noisy x x'
    u: np.ndarray  # (d,) sum of <theta_s, noisy x_s> noisy x_s
    centre: np.ndarray  # (d,) V_inv u
    learner: maler.State
    x: np.ndarray  # (d,) the message
    g: np.ndarray  # (d,) its gradient
    clipped: int  # records that were outside the universe


def init(p: Params) -> State:
    """State before the first round (line 2)."""
    d = p.d
    vectors = (np.zeros(d), np.zeros(d), maler.init(p.learner), np.zeros(d), np.zeros(d))
    return State(0, np.eye(d), *vectors, 0)


def universe_of(p: Params):
    """What is not clipped."""
    return linear_universe(p.offset)


@jit
def select(p, s, X, rng):
    """Lines 8, 9: the optimistic row of X (K, d)."""
    return optimistic_arm(X, s.V_inv, s.centre, p.width)


@jit
def randomize(p, x, y, rng, out):
    """Lines 11, 12: all that leaves the device; out (d,) <- noisy x; returns (noisy y, clipped)."""
    y, clipped = clip_record(p.offset, x, y, out)
    if p.jitter > 0.0:
        add_gaussian(rng, np.sqrt(p.jitter), out)
    add_gaussian(rng, p.sigma, out)
    return y + p.sigma * rng.standard_normal(), clipped


@jit
def messages(p, x, y, rng, out):
    """out (n, d + 1) <- n independent messages (noisy x, noisy y) of one user, for audits."""
    for i in range(out.shape[0]):
        out[i, p.d] = randomize(p, x, y, rng, out[i, : p.d])[0]


@jit
def gradient(p, x, y, theta, out):
    """Line 14: out <- gradient of the corrected loss, clipped to norm G; returns <x, theta>.

    The loss is (<x, theta> - y)^2 - sigma^2 ||theta||^2.
    """
    prediction = dot(x, theta)
    for i in range(p.d):
        out[i] = 2.0 * x[i] * (prediction - y) - 2.0 * p.sigma * p.sigma * theta[i]
    size = norm(out)
    if size > p.learner.gradient:
        for i in range(p.d):
            out[i] *= p.learner.gradient / size
    return prediction


@inlined
def receive(p, s, y, clipped):
    """Lines 17 to 19, the server: State after the message (s.x, y); arrays are overwritten."""
    prediction = gradient(p, s.x, y, s.learner.theta, s.g)
    sherman_morrison(s.V_inv, s.x, s.centre)  # line 19: V <- V + x x' (centre is scratch here)
    axpy(prediction, s.x, s.u)  # line 19, with the prediction made before the learner moves
    matvec(s.V_inv, s.u, s.centre)
    learner = maler.update(p.learner, s.learner, s.g)  # line 17
    return State(s.t + 1, s.V_inv, s.u, s.centre, learner, s.x, s.g, s.clipped + clipped)


@inlined
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    y, clipped = randomize(p, x, r, rng, s.x)
    return receive(p, s, y, clipped)


@inlined
def at(s, t, seen, clipped):
    """The state s with other counts: t rounds, `seen` gradients of the learner, clipped records."""
    learner = maler.at(s.learner, seen)
    return State(t, s.V_inv, s.u, s.centre, learner, s.x, s.g, clipped)


@jit
def rounds(p, s, X, R, rng, arms, seen):
    """(rounds, gradients, clipped records) after all rounds of `play`; seen as in `all_arms`."""
    for t in range(X.shape[0]):
        arms[t] = optimistic_next(X, t, s.V_inv, s.centre, p.width, seen)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s.t, s.learner.t, s.clipped


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    t, seen, clipped = rounds(p, s, X, R, rng, arms, nothing_seen(X))
    return at(s, t, seen, clipped)


def pair_noise(epsilon: float, delta: float, calibration: str, universe: str):
    """(sigma, Guarantee) of the pair (x, y) with Gaussian noise: nothing else is released."""
    # Line 2 prints one block's sensitivity, 2, for each of the two blocks.
    return gaussian_release(
        "local", epsilon, delta, calibration, universe, PAIR_SENSITIVITY, paper=2.0
    )


def online_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: str = "corrected",
    universe: str = "ball",
    learner: str = "maler",
    width: float | None = None,
    clip: float | None = None,
    jitter: float = 0.0,
    ball: float = 1.0,
) -> Policy:
    """Online LinUCB (Algorithm 1); epsilon = inf gives the non-private Algorithm 4.

    d >= 1; T >= 1, horizon; epsilon in (0, inf], delta in (0, 1); calibration "corrected" or
    "paper"; universe "ball" (||x|| <= 1, |y| <= 1) or "offset_sphere" (x = (u, 1/sqrt2), 0 <= y <=
    1): records outside are clipped into it and counted in `State.clipped`; learner "maler" or
    "ogd"; width >= 0 (None: `practical_width`, or Theorem A.2's without noise); clip > 0, the bound
    G on gradients (None: `practical_clip`); jitter = Delta^2 >= 0; ball = D > 0, the radius within
    which predictions stay.  Raises ValueError on anything else.

    >>> print(online_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    d, T = need_int("d", d, 1, LARGEST), need_int("T", T, 1, LARGEST)
    need_choice("learner", learner, maler.KINDS)
    sigma, guarantee = pair_noise(epsilon, delta, calibration, universe)
    jitter = need_float("jitter", jitter, 0.0)
    G = practical_clip(sigma, jitter, d) if clip is None else need_positive("clip", clip)
    inner = maler.learner(learner, d, T, ball=ball, gradient=G)
    if width is None:
        width = practical_width(sigma, T) if sigma > 0.0 else conversion_width(inner, T)
    width = need_float("width", width, 0.0)
    p = Params(d, T, sigma, jitter, universe == "offset_sphere", width, inner)
    name = "OnlineLinUCB" if learner == "maler" else "OnlineLinUCB (OGD)"
    return Policy(
        name,
        p,
        init,
        select,
        update,
        play,
        guarantee,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def own_attacks(policy: Policy):
    """`audit.Attack`: one user's message, for two records that are as far apart as any."""
    return message_attack(policy.params)


def message_attack(p: Params):
    """The same from the `Params` of any policy with this message."""
    x, y, size = np.zeros(p.d), 0.0 if p.offset else -1.0, np.sqrt(0.5) if p.offset else 1.0
    x[0] = size
    z = -x
    if p.offset:
        x[-1] = z[-1] = size

    def mechanism(record, rng, n):
        out = np.empty((n, p.d + 1))
        messages(p, *record, rng, out)
        return out

    far = audit.along(np.append(x - z, 1.0 - y))
    return (audit.Attack(mechanism, (x, 1.0), (z, y), far, "message", runs=False, fresh=True),)


def pair_of(
    result: tuple[float, int],
    p: Params,
    x: np.ndarray,
    y: float,
    rng: np.random.Generator,
    out: np.ndarray,
) -> list[tuple[str, np.ndarray]]:
    """The message that `randomize` lets out, for `companion.accounting.audit`."""
    return [("gaussian", out), ("gaussian", np.array([result[0]]))]


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: one message per user."""
    return tuple(
        AuditInstance(
            online_linucb(2, 8, epsilon=1.0, delta=0.1, calibration=c, universe=u),
            {randomize: pair_of},
            rounds=3,
        )
        for c in ("corrected", "paper")
        for u in UNIVERSES
    )
