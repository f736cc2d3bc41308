"""The arm that points along the noisy sum of r x: users send r x with Laplace noise.

Source: the Laplace mechanism, Dwork and Roth (2014), Theorem 3.6, on the sum of a perceptron.
Neighbours: replace one user's record (x, r).  Model: local.
Cost: O(K d) time per round, O(d) memory.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.accounting.audit import AuditInstance, AuditSpec, shows
from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.core import Policy
from companion.jit import jit
from companion.kernels.linalg import dot
from companion.kernels.mechanisms import clip_to_ball, laplace
from companion.validate import need_float, need_int, need_positive


class Params(NamedTuple):
    d: int  # dimension of a context
    explore: float  # share of rounds in which any arm is played
    scale: float  # of the Laplace noise on every coordinate


class State(NamedTuple):
    total: np.ndarray  # (d,) sum of messages
    x: np.ndarray  # (d,) scratch: the clipped context
    message: np.ndarray  # (d,) of one user


def init(p):
    """State before the first round."""
    return State(np.zeros(p.d), np.zeros(p.d), np.zeros(p.d))


@jit
def randomize(p, x, r, rng, clean, message):
    """Everything that leaves the device: message <- r x with Laplace noise, clipped before."""
    r, _ = clip_to_ball(x, r, clean)
    for i in range(p.d):
        message[i] = r * clean[i] + laplace(rng, p.scale)


@jit
def messages(p, x, r, rng, clean, out):
    """out (n, d) <- n independent messages of one user, for audits."""
    for i in range(out.shape[0]):
        randomize(p, x, r, rng, clean, out[i])


@jit
def select(p, s, X, rng):
    """The row of X (K, d) of largest product with the sum, or now and then any row."""
    if rng.random() < p.explore:
        return rng.integers(0, X.shape[0])
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        score = dot(X[k], s.total)
        if score > best:
            best, arm = score, k
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    randomize(p, x, r, rng, s.x, s.message)
    for i in range(p.d):
        s.total[i] += s.message[i]
    return s


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def noisy_direction(d, epsilon, *, explore=0.1) -> Policy:
    """A private perceptron for contexts in the unit ball of R^d, d >= 1, and rewards in [-1, 1].

    epsilon in (0, inf]: pure local privacy (inf: no noise); records outside are clipped; explore in
    [0, 1] is the share of rounds that try any arm.  Raises ValueError on anything else.
    """
    d, epsilon = need_int("d", d, 1), need_positive("epsilon", epsilon, allow_inf=True)
    # ||r x||_2 <= 1, so two messages differ by at most 2 in norm 2, and 2 sqrt(d) in norm 1.
    p = Params(d, need_float("explore", explore, 0.0, 1.0), 2.0 * math.sqrt(d) / epsilon)
    guarantee = NO_PRIVACY
    if epsilon < np.inf:
        guarantee = Guarantee("local", epsilon, 0.0, REPLACE_RECORD, "user")
    return Policy(
        "Noisy direction",
        p,
        init,
        select,
        update,
        play,
        guarantee,
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def example():
    """A small instance for the common tests."""
    return noisy_direction(3, 1.0)


def own_attacks(policy):
    """`audit.Attack`: one user's message, for a context along the diagonal and either reward."""
    p = policy.params

    def mechanism(record, rng, n):
        out = np.empty((n, p.d))
        messages(p, *record, rng, np.empty(p.d), out)
        return out

    def signs(outputs):  # all the information is in the clipped coordinates
        return np.clip(-outputs, -1.0 / math.sqrt(p.d), 1.0 / math.sqrt(p.d)).sum(axis=1)

    x = np.full(p.d, 1.0 / math.sqrt(p.d))
    return (audit.Attack(mechanism, (x, -1.0), (x, 1.0), signs, "message", runs=False),)


def audit_instances():
    """What the laboratory of `companion.audits` plays: one message per user."""
    sent = shows(randomize, "laplace", "message")
    diagonal = np.array([[math.sqrt(0.5), math.sqrt(0.5), r] for r in (-1.0, 1.0)])
    return (AuditInstance(noisy_direction(2, 1.0), sent, ("x",), records=diagonal),)
