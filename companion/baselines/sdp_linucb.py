"""SDP-LinUCB: a shuffler stands between the users and the server, and the model is refitted once
per batch of B users.

Source: Chowdhury and Zhou (2022), the baselines "SDP" of the online-LinUCB paper.  Two protocols:
* "vector": the shuffled vector sum of Cheu et al. (2021).  Every entry of a user's statistics is
  rounded at random to a count of g' bits, hidden among Bin(b, p) noise bits; the server sees the
  number of ones per entry and batch.
* "amplification": LDP messages, shuffled; a whole batch is then more private than one message.
Neighbours: replace one user's record.  Model: shuffle.  Every user is in one batch, so batches
compose in parallel.
Calibration, "vector": one user moves the counts by at most sensitivity g/L in Euclidean norm, plus
one per entry for rounding (both records rounded with one uniform number; the law is a mixture over
it).  `binomial` bounds what Bin(b B, p) noise gives for such a move, and the guarantee is that
bound.  "corrected" chooses the least integer b at which it is at most epsilon at delta; at d = 5,
B = 20 and delta = 0.1 that is 2, 4 and 25 to 27 percent more bits at epsilon = 0.2, 1 and 10 than
for Gaussian noise of the same variance, which does not suffice.
"paper" is the published b = 24 10^4 g^2 ln^2(4 (d^2 + 1)/delta) / (epsilon^2 B).
Calibration, "amplification": local noise at a budget (epsilon_0, delta_0) that Feldman, McMillan
and Talwar (2021) amplify to (epsilon, delta).  Where their condition on B fails, or where that
takes more noise, the local budget is (epsilon, delta): this is LDP-LinUCB with batches.
Width: radius of LinUCB at ridge lambda_t = 1 + shift s sqrt(d t), s the noise per user and
coordinate.
Cost: O(K d^2) time per round and O(d^3) per batch, O(d^2) memory; 4 times the floor of
`kernels.optimism`: of 1.0 microseconds 0.25 learn, the others select; where the arms stay, once
per batch, and 0.1 to see that they do.  Noise bits are drawn
once per batch and entry, as one Bin(b B, p): exactly the law of the messages
(`mechanisms.shuffle_messages`).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.accounting.audit import AuditInstance, AuditSpec, lives, shows
from companion.accounting.binomial import binomial_bits, binomial_epsilon
from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    STATISTICS_SENSITIVITY,
    UNIVERSES,
    Guarantee,
    gaussian_scale,
    need_release,
    shuffle_epsilon,
)
from companion.baselines import ldp_linucb, noisy_ridge
from companion.baselines.noisy_ridge import Model, choose, init_model, refit
from companion.core import Policy
from companion.jit import jit
from companion.kernels.linalg import copy
from companion.kernels.mechanisms import (
    add_unpacked,
    clip_record,
    pack_statistics,
    shuffle_add,
    shuffle_analyse,
    statistics_size,
)
from companion.kernels.ucb import same_arms
from companion.validate import need_choice, need_int, need_options

RANGE = 1.0  # L: every packed entry of one user lies in [-1, 1]
P = 0.25  # chance that a noise bit is one


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    offset: bool  # universe that records are clipped into
    g: float  # counts per unit of an entry
    b: int  # noise bits per user and entry
    statistics: noisy_ridge.Params


class State(NamedTuple):
    t: int  # rounds played
    G: np.ndarray  # (d, d) sum of the batches' estimates
    b: np.ndarray  # (d,)
    model: Model
    x: np.ndarray  # (d,) clipped context
    message: np.ndarray  # packed statistics of one user
    counts: np.ndarray  # rounded statistics of the running batch
    clipped: int  # records that were outside the universe


def init(p: Params) -> State:
    """State before the first round."""
    d, n = p.d, statistics_size(p.d)
    model = init_model(p.statistics)
    return State(0, np.zeros((d, d)), np.zeros(d), model, np.zeros(d), np.zeros(n), np.zeros(n), 0)


universe_of = ldp_linucb.universe_of


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return choose(s.model, X)


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); at the end of a batch the analyser's estimate
    enters the model.
    """
    t, q = s.t + 1, p.statistics
    r, clipped = clip_record(p.offset, x, r, s.x)
    pack_statistics(s.x, r, s.message)
    shuffle_add(rng, s.message, RANGE, p.g, s.counts)
    if t % q.batch == 0:
        shuffle_analyse(rng, s.counts, q.batch, RANGE, p.g, p.b, P, s.message)
        add_unpacked(1.0, s.message, s.G, s.b)
        s.counts[:] = 0.0
        refit(q, s.model, t, q.sigma * np.sqrt(float(p.d * t)), s.G, s.b)
    return State(t, s.G, s.b, s.model, s.x, s.message, s.counts, s.clipped + clipped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]].

    Within a batch the model stays, and the same arms have the same best one.
    """
    for t in range(X.shape[0]):
        if t > 0 and s.t % p.statistics.batch > 0 and same_arms(X, t):
            arms[t] = arms[t - 1]
        else:
            arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def vector_sum(
    d: int, epsilon: float, delta: float, batch: int, sensitivity: float, calibration: str
) -> tuple[float, int, float]:
    """(g, b, epsilon proved at delta) of the shuffled vector sum for statistics of this
    sensitivity.
    """
    g, n = max(2.0 * np.sqrt(batch), float(d), 4.0), statistics_size(d)
    # No entry changes by more than the sensitivity, nor by more than 2L; rounding adds below one.
    largest = int(np.ceil(min(sensitivity, 2.0 * RANGE) * g / RANGE))
    query = sensitivity * g / RANGE + np.sqrt(n), n, largest
    if calibration == "corrected":
        return g, *binomial_bits(epsilon, delta, batch, P, *query)
    log = np.log(4.0 * (d * d + 1) / delta)
    b = int(np.ceil(24e4 * g * g * log * log / (epsilon * epsilon * batch)))
    return g, b, binomial_epsilon(delta, b * batch, P, *query)


def amplified_local_budget(epsilon: float, delta: float, batch: int) -> tuple[float, float]:
    """(epsilon_0, delta_0) whose shuffled batch is (epsilon, delta)-DP, with the least local noise.

    Half of delta goes to the amplification and half to the local deltas, which enter as
    (e^epsilon + 1)(1 + e^-epsilon_0 / 2) B delta_0 (Feldman, McMillan and Talwar 2021, Theorem
    3.8).  So delta_0 is tiny, and (epsilon, delta) itself often needs less noise: then it is
    returned, as wherever the theorem's condition on B fails.
    """
    top = np.log(batch / (16.0 * np.log(4.0 / delta)))
    if not (top > 0.0 and shuffle_epsilon(top, delta / 2, batch) > epsilon):
        e0 = top
    else:
        e0 = brentq(lambda e: shuffle_epsilon(e, delta / 2, batch) - epsilon, 1e-9, top)
    if not e0 > epsilon:
        return epsilon, delta
    d0 = delta / 2 / ((np.exp(epsilon) + 1.0) * (1.0 + np.exp(-e0) / 2.0) * batch)
    return min((e0, d0), (epsilon, delta), key=lambda budget: gaussian_scale(*budget))


def sdp_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    batch: int = 20,
    protocol: str = "vector",
    calibration: str = "corrected",
    universe: str = "ball",
    **options,
) -> Policy:
    """LinUCB on shuffled statistics, refitted once per batch.

    batch = B >= 1 users; protocol "vector" or "amplification" (its only calibration is
    "corrected"); epsilon in (0, inf) for "vector", (0, inf] for "amplification"; the rest as in
    `ldp_linucb`.  Raises ValueError on anything else.
    """
    need_options("sdp_linucb", options, noisy_ridge.make_params)
    epsilon, delta = need_release(epsilon, delta, calibration, universe)
    batch, d = need_int("batch", batch, 1), need_int("d", d, 1)
    sensitivity, unit = STATISTICS_SENSITIVITY[universe], f"user ({universe})"
    if need_choice("protocol", protocol, ("vector", "amplification")) == "amplification":
        need_choice("calibration", calibration, ("corrected",))
        sigma, guarantee = 0.0, NO_PRIVACY
        if epsilon < np.inf:
            sigma = gaussian_scale(*amplified_local_budget(epsilon, delta, batch), sensitivity)
            guarantee = Guarantee("shuffle", epsilon, delta, REPLACE_RECORD, unit)
        p = noisy_ridge.make_params(d, T, batch, sigma, universe, **options)
        local = ldp_linucb.ldp_linucb(
            d, T, epsilon=np.inf, delta=0.1
        )  # the same rounds, but for noise and batch
        return local._replace(name="SDP-LinUCB (amplification)", params=p, guarantee=guarantee)
    if epsilon == np.inf:
        raise ValueError(f'epsilon must be finite for protocol="vector"; got {epsilon=}')
    g, b, true = vector_sum(d, epsilon, delta, batch, sensitivity, calibration)
    sigma = RANGE / g * np.sqrt(b * P * (1 - P))  # of a user's noise bits, in statistics' units
    q = noisy_ridge.make_params(d, T, batch, sigma, universe, **options)
    claimed = None if calibration == "corrected" else (epsilon, delta)
    guarantee = Guarantee("shuffle", true, delta, REPLACE_RECORD, unit, claimed)
    p = Params(q.d, q.T, q.offset, g, b, q)
    return Policy(
        "SDP-LinUCB",
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
    """`audit.Attack`: the estimate of a batch in which all other users have rounded already."""
    p = policy.params
    if not isinstance(p, Params):
        raise ValueError(f"policy must use protocol 'vector'; got {policy.name!r}")
    past = init(p)._replace(t=p.statistics.batch - 1)

    def last(record, rng, out):
        batches(p, past, *record, rng, out)

    mechanism = learned.filled((statistics_size(p.d),), last)
    return (audit.Attack(mechanism, *noisy_ridge.far_apart(p), "batch"),)


@jit
def batches(p, s, x, r, rng, out):
    """out (n, packed) <- the analyser's estimate of n batches whose last user has the record x, r;
    all others have rounded already; the arrays of s, a state before the last round, are
    overwritten."""
    for i in range(out.shape[0]):
        s.counts[:] = 0.0
        copy(update(p, s, 0, x, r, rng).message, out[i])


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: a batch's last user; two small batches."""
    sums, secret = shows(shuffle_analyse, "counts", "out"), ("x", "message", "counts", "clipped")
    found = []
    for c, u in (("corrected", "ball"), ("corrected", UNIVERSES[1]), ("paper", "ball")):
        policy = sdp_linucb(2, 800, epsilon=1.0, delta=0.1, batch=400, calibration=c, universe=u)
        past = init(policy.params)._replace(t=399)
        found.append(AuditInstance(policy, sums, secret, past, bound_is_tight=False))
    found += lives(
        sums, secret, sdp_linucb(2, 4, epsilon=1.0, delta=0.1, batch=2), bound_is_tight=None
    )
    policy, sent = (
        sdp_linucb(2, 800, epsilon=1.0, delta=0.1, protocol="amplification"),
        ldp_linucb.randomize,
    )
    past = ldp_linucb.init(policy.params)._replace(t=19)
    return (
        *found,
        AuditInstance(policy, shows(sent, "gaussian", "message"), ("x",), past, rounds=2),
    )
