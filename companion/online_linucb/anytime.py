"""Online LinUCB without a horizon: Algorithm 1 is started anew for 1, 2, 4, 8, ... rounds.

Source: "Improved rate for locally differentially private linear bandits", Algorithm 9; base
learner 1 of its combiner (Algorithm 2) is this one with k = 1/8.
Epoch m plays 2^m rounds with the learner, width and clip of horizon 2^m and with the extra
perturbation Delta_m^2 = 2^(-m k) wherever lambda_min <= 2^(-m k).
Neighbours, model, calibration: those of `online_linucb`.  A user is in one epoch and sends the same
message as there, so nothing composes and the guarantee is that of one message.
Cost: O(K d^2 + d^2 log T) time per round, that of `online_linucb` with the n = ceil(m/2) + 1
learning rates of the running epoch; 7 times the floor of `kernels.optimism`, most of it the
experts.
Differs: the last of the EPOCHS = 40 epochs (10^12 rounds) does not end.  What an epoch learned is
forgotten at its end, as in the paper, though messages could be used again at no privacy cost.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.core import Policy, linear_universe
from companion.jit import inlined, jit
from companion.online_linucb import maler, policy
from companion.online_linucb.policy import message_attack
from companion.validate import need_float, need_positive

EPOCHS = 40
NEVER = 1 << 62  # length of an epoch that does not end


class Params(NamedTuple):
    """Algorithm 1's parameters, one row per epoch; rows of `rates` and `log_prior` are padded."""

    d: int  # dimension of a context
    sigma: float  # standard deviation of the noise on every coordinate of x and on y
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    length: np.ndarray  # (E,) rounds of the epoch
    jitter: np.ndarray  # (E,) Delta^2
    width: np.ndarray  # (E,) beta
    clip: np.ndarray  # (E,) G
    ball: np.ndarray  # (E,) D
    rate_convex: np.ndarray  # (E,) eta_c
    n_rates: np.ndarray  # (E,) learning rates in use
    rates: np.ndarray  # (E, n) eta_i
    log_prior: np.ndarray  # (E, 2 n + 1)


class State(NamedTuple):
    t: int  # rounds played in all epochs
    epoch: int  # m
    run: policy.State  # of the running epoch; `clipped` counts over all epochs


def init(p: Params) -> State:
    """State before the first round; arrays are as large as the epoch with most rates needs."""
    d, e = p.d, int(np.argmax(p.n_rates))
    big = maler.Params(d, p.ball[e], p.clip[e], p.rates[e], p.rate_convex[e])
    rest = np.zeros(d), np.zeros(d)
    run = policy.State(0, np.eye(d), np.zeros(d), np.zeros(d), maler.init(big), *rest, 0)
    return State(0, 0, restart(p, run, 0))


def universe_of(p: Params):
    """What is not clipped."""
    return linear_universe(p.offset)


@inlined
def epoch_params(p, m):
    """Parameters of Algorithm 1 in epoch m; views, nothing is copied."""
    rates = p.rates[m, : p.n_rates[m]]
    learner = maler.Params(p.d, p.ball[m], p.clip[m], rates, p.rate_convex[m])
    return policy.Params(p.d, p.length[m], p.sigma, p.jitter[m], p.offset, p.width[m], learner)


@inlined
def restart(p, s, m):
    """Algorithm 1's state at the start of epoch m, in the arrays of its state s."""
    a, n = s.learner, p.n_rates[m]
    s.u[:] = s.centre[:] = a.theta[:] = a.convex[:] = 0.0
    s.V_inv[:] = a.strong[:] = a.newton[:] = a.S[:] = a.S_inv[:] = 0.0
    scale = 4.0 * maler.NEWTON**2 * p.ball[m] ** 2
    for i in range(p.d):
        s.V_inv[i, i] = 1.0
        for k in range(n):
            a.S[i, i, k], a.S_inv[i, i, k] = 1.0 / scale, scale
    for k in range(2 * n + 1):
        a.log_w[k] = p.log_prior[m, k]
    return policy.at(s, 0, 0, s.clipped)


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return policy.select(epoch_params(p, s.epoch), s.run, X, rng)


@jit
def randomize(p, s, x, r, rng):
    """The user's message: s.run.x <- noisy x; returns (noisy reward, 1 if clipped)."""
    return policy.randomize(epoch_params(p, s.epoch), x, r, rng, s.run.x)


@inlined
def receive(p, s, y, clipped):
    """State after the message (s.run.x, y); a new epoch begins when the old one is over."""
    run = policy.receive(epoch_params(p, s.epoch), s.run, y, clipped)
    if run.t < p.length[s.epoch]:
        return State(s.t + 1, s.epoch, run)
    return State(s.t + 1, s.epoch + 1, restart(p, run, s.epoch + 1))


@inlined
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    y, clipped = randomize(p, s, x, r, rng)
    return receive(p, s, y, clipped)


@jit
def rounds(p, s, X, R, rng, arms):
    """(rounds, epoch, its rounds, its gradients, clipped records) after all rounds of `play`."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s.t, s.epoch, s.run.t, s.run.learner.t, s.run.clipped


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    t, epoch, run, seen, clipped = rounds(p, s, X, R, rng, arms)
    return State(t, epoch, policy.at(s.run, run, seen, clipped))


def stack_epochs(runs) -> Params:
    """`Params` from Algorithm 1's parameters, one per epoch: epoch m lasts for its own horizon."""
    n = max(len(q.learner.rates) for q in runs)
    rates, log_prior = np.zeros((len(runs), n)), np.zeros((len(runs), 2 * n + 1))
    for q, rate, prior in zip(runs, rates, log_prior, strict=True):
        k = len(q.learner.rates)
        rate[:k] = q.learner.rates
        prior[: 2 * k + 1] = maler.init(q.learner).log_w
    per_epoch = (
        np.array([q.jitter for q in runs]),
        np.array([float(q.width) for q in runs]),
        np.array([q.learner.gradient for q in runs]),
        np.array([q.learner.ball for q in runs]),
        np.array([q.learner.rate_convex for q in runs]),
        np.array([len(q.learner.rates) for q in runs]),
    )
    length = np.array([q.T for q in runs[:-1]] + [NEVER])
    first = runs[0]
    return Params(first.d, first.sigma, first.offset, length, *per_epoch, rates, log_prior)


def anytime_linucb(
    d: int,
    *,
    epsilon: float,
    delta: float,
    k: float = 0.125,
    lambda_min: float = 0.0,
    calibration: str = "corrected",
    universe: str = "ball",
    learner: str = "maler",
    width: Callable[[float, int], float] | None = None,
    clip: Callable[[float, float, int], float] | None = None,
    ball: float = 1.0,
) -> Policy:
    """Algorithm 9; epsilon = inf gives restarts of the non-private Algorithm 4, with no jitter.

    k > 0, power of the perturbation; lambda_min in [0, 1], what is known of the second moment of
    the played contexts (0: nothing, every epoch perturbs); width: function (sigma, horizon) of an
    epoch, None: `practical_width`, or Theorem A.2's without noise; clip: function (sigma, jitter,
    d) of an epoch, None: `practical_clip`; the rest as in `online_linucb`.  Raises ValueError on
    anything else, a number for width or clip included.
    """
    k, lambda_min = need_positive("k", k), need_float("lambda_min", lambda_min, 0.0, 1.0)
    takes = {"width": (width, "(sigma, horizon)"), "clip": (clip, "(sigma, jitter, d)")}
    for name, (given, arguments) in takes.items():
        if not (callable(given) or given is None):
            raise ValueError(
                f"{name} must be None or a function {arguments} that returns a number, because "
                f"every epoch has its own; got {name}={given!r}"
            )
    options = {"calibration": calibration, "universe": universe, "learner": learner}
    options |= {"delta": delta, "ball": ball}
    first = policy.online_linucb(d, 1, epsilon=epsilon, **options)
    sigma = first.params.sigma

    def epoch(m):
        jitter = 2.0 ** (-m * k)
        jitter = jitter if sigma > 0.0 and lambda_min <= jitter else 0.0
        beta = None if width is None else width(sigma, 2**m)
        G = None if clip is None else clip(sigma, jitter, d)
        each = options | {"jitter": jitter, "width": beta, "clip": G}
        return policy.online_linucb(d, 2**m, epsilon=epsilon, **each).params

    p = stack_epochs([epoch(m) for m in range(EPOCHS)])
    return Policy(
        f"{first.name}, anytime",
        p,
        init,
        select,
        update,
        play,
        first.guarantee,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def own_attacks(policy: Policy):
    """`audit.Attack`: one user's message in the last epoch, which perturbs least."""
    p = policy.params
    return message_attack(epoch_params(p, len(p.length) - 1))


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: rounds of three epochs."""
    kernels = {policy.randomize: policy.pair_of}
    return tuple(
        AuditInstance(
            anytime_linucb(2, epsilon=1.0, delta=0.1, lambda_min=1.0, calibration=c),
            kernels,
            rounds=3,
        )
        for c in ("corrected", "paper")
    )
