"""What the chapters measure of whole runs: counts beside regrets, what widths cover, what leaks.

Source: Joint-DP GLM and ShuffleGLM of Sarmasarkar's paper, with constants of this book's.

Everything random comes from the seeds that are passed; `simulate.over` spreads repetitions.
"""

import inspect
import math
from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.jit import jit
from companion.kernels.glm import slope
from companion.private_glm import attacks
from companion.private_glm.environments import idle_regret, paper_world
from companion.private_glm.joint import attack, joint_glm
from companion.private_glm.presets import PRESETS
from companion.simulate import even_grid, need_seeds, over, simulate, stream


class Counted(NamedTuple):
    """Several runs of one Joint-DP GLM."""

    rounds: np.ndarray  # (m,) grid
    regret: np.ndarray  # (n, m)
    fits: np.ndarray  # (n, 2) of theta_o and theta_tau
    explored: np.ndarray  # (n,) rounds in which Criterion I fired
    first_fit: np.ndarray  # (n,) at most 50 rounds before the first fit of theta_tau, or T + 1


def counted(env, policy, T: int, seeds, executor=None) -> Counted:
    """`Counted` runs of a Joint-DP GLM, on the streams of `simulate`, one per seed.

    Raises AssertionError if a run makes more fits than its ledger pays for.
    """
    grid = even_grid(T)
    runs = over(_counted, [(env, policy, T, s, grid) for s in need_seeds(seeds)], executor)
    regret, fits, explored, first = (np.array(part) for part in zip(*runs, strict=True))
    p = policy.params
    assert (fits <= [p.fit_o.cutoff, p.fit_tau.cutoff]).all(), "more fits than were paid for"
    return Counted(grid, regret, fits, explored, first)


def _counted(env, policy, T, seed, grid):
    rng, state = stream(seed, policy.name), policy.init(policy.params)
    gaps, t, first = np.empty(T), 0, T + 1
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        start, arms = 0, np.empty(len(X), np.int64)
        while start < len(X):
            n = len(X) if first <= T else 50  # nothing is looked for after the first fit
            cut = slice(start, start + n)
            state = policy.play(policy.params, state, X[cut], R[cut], rng, arms[cut])
            if state.fits[1] > 0:
                first = min(first, t + start + 1)
            start += n
        gaps[t : t + len(X)] = mu.max(axis=1) - mu[np.arange(len(X)), arms]
        t += len(X)
    return np.cumsum(gaps)[grid - 1], state.fits.copy(), state.rows.side.sum(), first


# --- the paper's line-ups -----------------------------------------------------------------------


def labelled(preset: str, epsilon: float) -> str:
    """How a Joint-DP GLM of this preset and budget is called in a figure."""
    return f"{preset}, no noise" if epsilon == math.inf else f"{preset}, ε = {epsilon:g}"


def lineup(d: int, T: int, delta: float, choices, **model):
    """Joint-DP GLMs, one for every (preset, epsilon) in choices, renamed by `labelled`.

    Raises AssertionError if one spends more than its epsilon.
    """
    policies = [
        joint_glm(d, T, epsilon=e, delta=delta, preset=name, **model) for name, e in choices
    ]
    spent = [p.guarantee.epsilon for p in policies]
    assert all(s <= e * (1 + 1e-9) for s, (_, e) in zip(spent, choices, strict=True)), spent
    return [p.renamed(labelled(*c)) for p, c in zip(policies, choices, strict=True)]


def figure1(panel, T: int, delta: float, choices, baselines, seeds):
    """(Result, random play's regret (T,)) of one panel of Figure 1.

    panel: its d, theta_bound and link (`published.json`); baselines: factories, which get d and
    whatever they take of T, link, theta_bound and kappa.
    """
    d, env = panel["d"], paper_world(T, panel["d"], panel["theta_bound"], panel["link"])
    model = {"link": panel["link"], "theta_bound": panel["theta_bound"], "kappa": env.kappa[0]}
    policies = []
    for factory in baselines:
        taken = inspect.signature(factory).parameters
        options = {k: v for k, v in (model | {"T": T}).items() if k in taken}
        policies.append(factory(d, **options))
    policies += lineup(d, T, delta, choices, **model)
    found = simulate(env, policies, T, seeds, grid=even_grid(T, 60))
    return found, idle_regret(env, T, "random")


# --- what the widths of ShuffleGLM cover ----------------------------------------------------------


class Covered(NamedTuple):
    """Several runs of a ShuffleGLM up to its last batch, and what it says of fresh contexts."""

    inside: np.ndarray  # (n, M - 1) arms whose score is within the width of that batch, share
    too_heavy: np.ndarray  # (n,) arms whose weight exceeds the slope at theta*, share (Lemma F.7)
    excess: np.ndarray  # (n,) least eigenvalue of H* - H over lambda, batch 2 (nan for M = 2)
    alive: np.ndarray  # (n, M - 1) arms left after that batch, mean
    lost: np.ndarray  # (n,) rounds in which the best arm was ruled out, share


def covered(env, policy, T: int, seeds, fresh=400, executor=None) -> Covered:
    """`Covered` runs of a ShuffleGLM in a `World`, one per seed, on the streams of `simulate`."""
    jobs = [(env, policy, T, s, fresh) for s in need_seeds(seeds)]
    return Covered(*map(np.array, zip(*over(_covered, jobs, executor), strict=True)))


def _covered(env, policy, T, seed, fresh):
    p, rng = policy.params, stream(seed, policy.name)
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    state, left = policy.init(p), int(p.ends[-2])
    blocks = env.blocks(T, stream(seed, "environment"))
    while left > 0:
        X, R, _ = next(blocks)
        n = min(left, len(X))
        arms = np.empty(n, np.int64)
        state = policy.play(p, state, X[:n], R[:n], rng, arms)
        left -= n
    X = env.arms(stream(seed, "fresh"), fresh)
    return _inside(p, state, theta, X)


def slopes(link: int, z: np.ndarray) -> np.ndarray:
    """Slope of the link at every score of an array."""
    out = np.ravel(z).copy()
    slopes_in_place(link, out)
    return out.reshape(np.shape(z))


@jit
def slopes_in_place(link, z):
    """z (n,) <- slope of the link at every score."""
    for i in range(z.shape[0]):
        z[i] = slope(link, z[i])


def _inside(p, s, theta, X):
    """One run's row of `Covered`, from contexts X (n, K, d)."""
    true = X @ theta
    widths = p.widths[:, None, None] * np.sqrt(np.einsum("nki,jil,nkl->jnk", X, s.V_inv[:-1], X))
    scores = np.einsum("nki,ji->jnk", X, s.theta[:-1])
    alive, left = np.ones(true.shape, bool), []
    for score, width in zip(scores, widths, strict=True):
        low = np.where(alive, score - width, -np.inf).max(axis=1, keepdims=True)
        alive &= score + width >= low
        left.append(alive.sum(axis=1).mean())
    lost = ~np.take_along_axis(alive, true.argmax(axis=1)[:, None], axis=1)

    def weights(z, doubt):
        down = np.exp(-np.minimum(2.0 * p.theta_bound, doubt))
        return np.minimum(slopes(p.link, z) * down, p.caps[1])

    heavy = weights(scores[0], widths[0]) > slopes(p.link, true) * (1 + 1e-12)
    excess = np.nan
    if len(p.ends) > 2:  # the rows of the last batch that was read are still there
        rows = s.batch.X[: p.ends[-2] - p.ends[-3]]
        doubt = p.widths[0] * np.sqrt(np.einsum("ni,il,nl->n", rows, s.V_inv[0], rows))
        c = slopes(p.link, rows @ theta) - weights(rows @ s.theta[0], doubt)
        excess = np.linalg.eigvalsh((rows.T * c) @ rows)[0] / p.ridge[-1]
    inside = (np.abs(scores - true) <= widths).mean(axis=(1, 2))
    return inside, heavy.mean(), excess, np.array(left), lost.mean()


# --- what attacks find of the printed and of the corrected rule ---------------------------------


def leaky(rule: str, epsilon: float = 1.0, delta: float = 0.01):
    """Joint-DP GLM as attacked: it explores in every round that offers a unit vector.

    The bound on theta is large, so that an estimate of noise alone rules arms out.
    """
    preset = PRESETS["explore"]._replace(gamma=3.0, cutoff_o=100)
    return joint_glm(
        3, 64, epsilon=epsilon, delta=delta, theta_bound=10.0, kappa=20.0, preset=preset, rule=rule
    )


def late(rule: str, epsilon: float = 1.0, delta: float = 0.01):
    """Joint-DP GLM that explores unit vectors but not those of norm 0.3, with so small a ridge of H
    that noise alone outgrows it after one round."""
    preset = PRESETS["tight"]._replace(gamma=4.0, a_h=0.0)
    return joint_glm(
        3, 64, epsilon=epsilon, delta=delta, theta_bound=1e4, kappa=20.0, preset=preset, rule=rule
    )


def leaks(rule: str, trials: int, seed: int, level: float = 0.999):
    """{attack: lower bound on epsilon} of the three leaks under a rule that claims (1, 0.01).

    The first is told by the policy's own `attack`.  The third is about the noise of a fit: 2
    explored rounds against 1, all contexts 0.  As printed the gradients are means; the corrected
    rule is played.
    """
    options = {"delta": 0.01, "trials": trials, "seed": seed, "level": level}

    def found(mechanism, a, b):
        return audit.epsilon_lower_bound(mechanism, a, b, **options).epsilon

    first = {a.sees: audit.attacked(a, **options).epsilon for a in attack(leaky(rule))[-2:]}
    third = attacks.mean_gradients(0.1, 20, 3) if rule == "paper" else attacks.refitted(late(rule))
    second, rows = attacks.estimates_released(late(rule)), np.array([[1, 1], [1, 0]])
    return {
        "leak 1, the state": first["state"],
        "leak 1, arms of others": first["actions"],
        "leak 2, estimates released": found(second, *attacks.late_world()),
        "leak 3, noise of gradients": found(third, *rows),
    }


def exploration_audit(epsilon: float, trials: int, seed: int, level: float = 0.999) -> float:
    """The audit's lower bound at delta = 0.01 for `explorations`, on data that move them."""
    preset = PRESETS["tight"]._replace(gamma=2.0, a_v=1.0)
    policy = joint_glm(
        3, 64, epsilon=epsilon, delta=0.01, theta_bound=2.0, kappa=4.1, preset=preset
    )
    mechanism, pair = attacks.explorations(policy, 20), attacks.attack_world(user=20)
    options = {"delta": 0.01, "trials": trials, "seed": seed, "level": level}
    return audit.epsilon_lower_bound(mechanism, *pair, **options).epsilon
