"""FLIPHAT: doubling episodes; each estimate from the previous episode alone, by private N-IHT.

Source: the FLIPHAT paper, Algorithm 2 and Theorem 5.1 (1 and 3: `regression`).
Cost: O(K sparsity) per round; a release on n rows takes 2 n d flops per iteration, and one peeling,
about sparsity^2 Laplace draws and d calls of exp (`kernels.peeling`); at most T d / 2 numbers of
memory (`episodes`).
Differs: while the estimate is zero (before the first release) the arm is drawn uniformly; the
paper's argmax over zeros is undefined.  `residual_fliphat` bounds each row's gradient by clipping,
which the paper does not do.
"""

import warnings

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.core import Policy
from companion.fliphat import accounting
from companion.fliphat.attack import own_attacks
from companion.fliphat.episodes import (
    Params,
    State,
    init,
    release,
    rows_in_release,
    store,
    universe_of,
)
from companion.fliphat.regression import sparse_dot
from companion.jit import inlined, jit
from companion.kernels.linalg import copy
from companion.kernels.lives import live
from companion.kernels.mechanisms import below, lazy_peel
from companion.validate import LARGEST, need_choice, need_float, need_int

MOST = 1000  # iterations of a release, and their rate


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest x'theta_hat, the first one on ties; a random row while there
    is no estimate.
    """
    if s.size == 0:
        return below(rng, X.shape[0])  # line 2
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        z = sparse_dot(X[k], s.theta_hat, s.picks, s.size)
        if z > best:
            best, arm = z, k
    return arm  # line 11


@inlined
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    t, n, clipped, size = s.t + 1, s.n, s.clipped, s.size
    episodes = p.iterations.shape[0]
    if t < 1 << episodes:  # rows of the last episode enter no release
        clipped += 1 if store(p, s, x, r) else 0  # line 13
        n += 1
    if (t + 1) & t == 0 and t + 1 <= 1 << episodes:  # line 6: round t + 1 = 2^l begins an episode
        episode = 0
        while 2 << episode <= t:
            episode += 1
        size = release(p, s, n, episode, rng)
        n = 0 if p.forget else n  # line 9
    return State(t, n, clipped, size, s.theta_hat, s.picks, s.X, s.y, s.work)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


@jit
def show_estimate(s, out):
    """out <- the estimate (d,)."""
    copy(s.theta_hat, out)


@jit
def play_many(p, s, rng, lives):
    """Play as `companion.accounting.lives` says; lives show their estimates (d,)."""
    live(play, show_estimate, p, s, rng, lives)


def warn_idle(name: str, steps: np.ndarray) -> None:
    """Warn if no release takes a step: such a policy always plays at random."""
    if not (steps > 0).any():
        text = f"{name} cannot learn as configured: none of its {len(steps)} releases takes a step"
        warnings.warn(text, UserWarning, stacklevel=3)


def need_problem(
    d: int, T: int, sparsity: int, epsilon: float, delta: float
) -> tuple[int, int, int, float, float]:
    """The arguments that every FLIPHAT takes, checked."""
    d, T = need_int("d", d, 1, LARGEST), need_int("T", T, 1, LARGEST)
    return d, T, need_int("sparsity", sparsity, 1, d), *accounting.need_affordable(epsilon, delta)


def need_scale(name: str, value) -> float:
    """A step or bound in [1e-50, 1e50]: noise in proportion to three of them is never 0 or inf."""
    return need_float(name, value, 1e-50, 1e50)


def context_bound(x_max: float, calibration: str, clip_contexts: bool | None) -> tuple[bool, float]:
    """(whether the noise is the printed one, bound to which contexts are clipped when stored)."""
    need_choice("calibration", calibration, ("corrected", "paper"))
    need_choice("clip_contexts", clip_contexts, (None, True, False))
    paper = calibration == "paper"
    if clip_contexts is False and not paper:
        raise ValueError('clip_contexts must be True with calibration="corrected"; got False')
    return paper, np.inf if paper and not clip_contexts else x_max


def fliphat(
    d: int,
    T: int,
    *,
    sparsity: int,
    epsilon: float,
    b_max: float,
    delta: float = 0.01,
    x_max: float | None = None,
    noise: float = 1.0,
    eta: float = 1e-4,
    iteration_rate: float = 0.16,
    calibration: str = "corrected",
    clip_contexts: bool | None = None,
) -> Policy:
    """Algorithm 2 for T rounds of contexts in R^d.

    sparsity in [1, d]; epsilon in [1e-9, 1e9] or inf, delta in (0, 1); b_max bounds the l1 norm of
    beta, x_max the coordinates of a context (None: sqrt(2 log max(d, 2))), eta is the step, all in
    [1e-50, 1e50]; noise >= 0 is sigma in R_l = x_max b_max + sigma sqrt(2 log(1 + N_l));
    iteration_rate in [0, 1000] is M in M_l = floor(M log(1 + N_l b_max^2)).  calibration
    "corrected": contexts are clipped to x_max, the sensitivity is proved, composition is exact
    (`noise_scales`).  "paper": as printed; contexts are not clipped unless clip_contexts=True, and
    the guarantee says what that gives (infinite if not).  Raises ValueError on anything else, and
    warns if no release takes a step.

    >>> live = fliphat(50, 1000, sparsity=4, epsilon=1.0, delta=0.01, b_max=2.0).start(0)
    >>> live.select(np.ones((1, 50)))
    0
    """
    d, T, sparsity, epsilon, delta = need_problem(d, T, sparsity, epsilon, delta)
    b_max, eta = need_scale("b_max", b_max), need_scale("eta", eta)
    x_max = need_scale("x_max", np.sqrt(2.0 * np.log(max(d, 2))) if x_max is None else x_max)
    noise = need_float("noise", noise, 0.0, 1e50)
    rate = need_float("iteration_rate", iteration_rate, 0.0, MOST)
    paper, bound = context_bound(x_max, calibration, clip_contexts)
    n = rows_in_release(T)
    iterations = np.floor(rate * np.log1p(n * b_max**2)).astype(np.int64)
    warn_idle("FLIPHAT", iterations)
    R = x_max * b_max + noise * np.sqrt(2.0 * np.log1p(n))
    xi, true = accounting.noise_scales(
        paper, n, sparsity, epsilon, delta, eta, x_max, b_max, R, iterations
    )
    guarantee = NO_PRIVACY
    if epsilon < np.inf:
        true, claim = (true if bound < np.inf else np.inf), ((epsilon, delta) if paper else None)
        guarantee = Guarantee("joint", true, delta, REPLACE_RECORD, "user", claim)
    clips, start = (bound, np.inf, np.inf), (False, True)  # nothing else is clipped; from zero
    p = Params(d, T, sparsity, eta, b_max, *clips, *start, iterations, R, *xi)
    return Policy(
        "FLIPHAT",
        p,
        init,
        select,
        update,
        play,
        guarantee,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


SECRET = ("X", "y", "work", "clipped")  # fields of the State that the curator keeps


def peeled(
    _,
    rng: np.random.Generator,
    v: np.ndarray,
    size: int,
    xi: float,
    out: np.ndarray,
    picks: np.ndarray,
    taken,
) -> list[tuple[str, np.ndarray]]:
    """What `peel` lets out, for `companion.accounting.audit`."""
    return [("peeling", v), ("peeled", out), ("picks", picks)]


def attack_instances():
    """What the audits attack: a last release of one step on four rows, of one pick.

    At epsilon = 1 no pair of rows loses half of what is proved for one pick; at 4 one does.
    """
    options = {"sparsity": 1, "b_max": 1.0, "x_max": 3.0, "noise": 10.0}
    options |= {"delta": 0.1, "iteration_rate": 0.7}
    printed = fliphat(2, 12, epsilon=1.0, calibration="paper", clip_contexts=True, **options)
    return fliphat(2, 12, epsilon=4.0, **options), printed


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: three releases."""
    options = {"sparsity": 2, "epsilon": 1.0, "b_max": 1.0, "iteration_rate": 1.5}
    paper = {"calibration": "paper", "noise": 10.0, **options}
    policies = fliphat(3, 8, **options), fliphat(3, 8, clip_contexts=True, **paper)
    bounds = True, False  # with the printed noise, every iteration is charged like the worst
    clipped = [
        AuditInstance(q, {lazy_peel: peeled}, SECRET, rounds=7, bound_is_tight=b)
        for q, b in zip(policies, bounds, strict=True)
    ]
    return (*clipped, AuditInstance(fliphat(3, 8, **paper), {lazy_peel: peeled}, SECRET, rounds=7))
