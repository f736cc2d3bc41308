"""What the chapters measure of whole runs: figures, coverage, leaks, ablations; closed forms.

Source: Joint-DP GLM and ShuffleGLM of Sarmasarkar's paper, with constants of this book's; the
theory's universal constants are set to 1.
Everything random comes from the seeds that are passed; `simulate.parallel_map` spreads repetitions.
"""

import inspect
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.accounting import audit
from companion.accounting.privacy import tree_levels
from companion.baselines import rs_glinucb
from companion.jit import jit
from companion.kernels import tree
from companion.kernels.glm import LOGISTIC, canonical, fit, mean, slope
from companion.kernels.linalg import (
    axpy,
    cholesky,
    copy,
    dot,
    inverse,
    project_ball,
    quad,
    sherman_morrison,
)
from companion.kernels.mechanisms import add_gaussian
from companion.kernels.ucb import tabulate, widest
from companion.private_glm import joint_glm as joint
from companion.private_glm.environments import ball_arms, bernoulli, idle_regret, paper_world
from companion.private_glm.joint_glm import (
    GROWTH,
    PRESETS,
    add_leaf,
    attack_world,
    below,
    gdp,
    joint_glm,
    leaf_weight,
    publish,
    simple_rho,
    start,
)
from companion.simulate import even_grid, need_seeds, parallel_map, simulate, stream
from companion.validate import need_float, need_int, need_positive, need_probability


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
    runs = parallel_map(_counted, [(env, policy, T, s, grid) for s in need_seeds(seeds)], executor)
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
            policy.play(policy.params, state, X[cut], R[cut], rng, arms[cut])
            if state.fits[1] > 0:
                first = min(first, t + start + 1)
            start += n
        gaps[t : t + len(X)] = mu.max(axis=1) - mu[np.arange(len(X)), arms]
        t += len(X)
    return np.cumsum(gaps)[grid - 1], state.fits.copy(), state.explored.sum(), first


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


# --- what the widths of ShuffleGLM cover --------------------------------------------------------


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
    return Covered(*map(np.array, zip(*parallel_map(_covered, jobs, executor), strict=True)))


def _covered(env, policy, T, seed, fresh):
    p, rng = policy.params, stream(seed, policy.name)
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    state, left = policy.init(p), int(p.ends[-2])
    blocks = env.blocks(T, stream(seed, "environment"))
    while left > 0:
        X, R, _ = next(blocks)
        n = min(left, len(X))
        arms = np.empty(n, np.int64)
        policy.play(p, state, X[:n], R[:n], rng, arms)
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
        rows = s.X[: p.ends[-2] - p.ends[-3]]
        doubt = p.widths[0] * np.sqrt(np.einsum("ni,il,nl->n", rows, s.V_inv[0], rows))
        c = slopes(p.link, rows @ theta) - weights(rows @ s.theta[0], doubt)
        excess = np.linalg.eigvalsh((rows.T * c) @ rows)[0] / p.ridge[-1]
    inside = (np.abs(scores - true) <= widths).mean(axis=(1, 2))
    return inside, heavy.mean(), excess, np.array(left), lost.mean()


# --- Table 2: RS-GLinUCB as its public program ran it -------------------------------------------
#
# The matrix at the last fit is the *same array* as the running one, which is updated in place, so
# det H never exceeds 1.5 det H again.  The second estimate is fitted exactly once, right after the
# warm-up, on the few rows of the warm-up, while the width uses the current H.  In the long run
# regret is linear, with a slope that depends on luck.  Source: Sawarni et al. (2024).


@jit
def aliased_decide(p, s, X, table):
    """As `rs_glinucb.decide`, with one fit of all rows, and the width from the running matrix."""
    tabulate(X, s.theta_warm, s.theta_hat, table)
    square, arm = widest(X, s.V_inv, p.threshold, table)
    s.warm[0] = 1 if square > p.threshold else 0
    if s.warm[0] == 1:
        return arm
    stale, first = rs_glinucb.fit_warm_up(p, s), s.log_det[0] == -np.inf
    if first:
        s.log_det[0] = 0.0
        fit(p.link, s.X, s.y, s.t[0], rs_glinucb.PENALTY, p.tolerance, s.theta_hat, s.work)
    if first or stale:
        tabulate(X, s.theta_warm, s.theta_hat, table)
    inverse(s.H, s.H_inv, s.L)
    return rs_glinucb.choose(p, s, X, table)


@jit
def aliased_select(p, s, X, rng):
    """`aliased_decide`, with scratch of its own."""
    return aliased_decide(p, s, X, np.empty((4, X.shape[0])))


@jit
def aliased_play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    table = np.empty((4, X.shape[1]))
    for t in range(X.shape[0]):
        arms[t] = aliased_decide(p, s, X[t], table)
        rs_glinucb.update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)


def aliased(policy):
    """The same RS-GLinUCB as the program ran it; ValueError for another policy."""
    if policy.init is not rs_glinucb.init:
        raise ValueError(f"policy must be an RS-GLinUCB; got {policy.name!r}")
    return policy._replace(name="RS-GLinUCB, as run", play=aliased_play, select=aliased_select)


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

    first = {
        a.sees: audit.attacked(a, **options).epsilon for a in joint.own_attacks(leaky(rule))[-2:]
    }
    third = mean_gradients(0.1, 20, 3) if rule == "paper" else refitted(late(rule))
    second, rows = estimates_released(late(rule)), np.array([[1, 1], [1, 0]])
    return {
        "leak 1, the state": first["state"],
        "leak 1, arms of others": first["actions"],
        "leak 2, estimates released": found(second, *late_world()),
        "leak 3, noise of gradients": found(third, *rows),
    }


def exploration_audit(epsilon: float, trials: int, seed: int, level: float = 0.999) -> float:
    """The audit's lower bound at delta = 0.01 for `explorations`, on data that move them."""
    preset = PRESETS["tight"]._replace(gamma=2.0, a_v=1.0)
    policy = joint_glm(
        3, 64, epsilon=epsilon, delta=0.01, theta_bound=2.0, kappa=4.1, preset=preset
    )
    mechanism, pair = explorations(policy, 20), attack_world(user=20)
    options = {"delta": 0.01, "trials": trials, "seed": seed, "level": level}
    return audit.epsilon_lower_bound(mechanism, *pair, **options).epsilon


def tree_nodes(sigma: float, T: int):
    """The mechanism that averages N_11 - N_22 over the m nodes that one user enters, whose leaf is
    e_1 e_1' or e_2 e_2' (data +1 or -1); every node has N(0, sigma^2) on its diagonal."""
    m = tree_levels(T)

    def mechanism(side, rng, n):
        return side + sigma * np.sqrt(2.0 / m) * rng.standard_normal(n)

    return mechanism


def node_loss(
    T: int, user: int, sigma: float, shift: np.ndarray, trials: int, seed: int
) -> np.ndarray:
    """Privacy loss (trials,) of the tree's nodes, for a leaf of round `user` (from 1) that moves by
    the packed vector `shift`: the log-likelihood ratio of every node that holds the leaf."""
    rng, out = np.random.default_rng(seed), np.empty(trials)
    _node_losses(rng, T, user, sigma, shift, np.zeros((tree_levels(T), len(shift))), out)
    return out


@jit
def _node_losses(rng, T, user, sigma, shift, nodes, out):
    """out (trials,) <- the privacy losses of `node_loss`; nodes (levels, len(shift)): scratch."""
    before, z = np.zeros(shift.shape[0]), np.zeros(shift.shape[0])
    for i in range(out.shape[0]):
        out[i] = 0.0
        nodes[:] = 0.0
        for t in range(1, T + 1):
            rest = t & (t - 1)  # the prefix before the node that t completes
            before[:] = 0.0
            if rest > 0:
                copy(nodes[tree.trailing_zeros(rest)], before)
            row = tree.advance(nodes, t, sigma, rng)
            for j in range(z.shape[0]):
                z[j] = nodes[row, j] - before[j]
            if rest < user <= t:  # this node holds the leaf
                out[i] += (dot(shift, shift) + 2.0 * dot(shift, z)) / (2.0 * sigma**2)


def late_world(K: int = 4, d: int = 3, seed: int = 0):
    """(a, b): data (X, R) of two rounds; the second user has unit vectors in a and zeros in b."""
    (X, R), _ = attack_world(T=2, user=0, K=K, d=d, seed=seed)
    X[1] = attack_world(T=3, user=1, K=K, d=d, seed=seed + 1)[0][0][1]
    X[0] *= 0.3 / np.maximum(np.linalg.norm(X[0], axis=1, keepdims=True), 1e-300)
    other = X.copy()
    other[1] = 0.0
    return (X, R), (other, R)


def estimates_released(policy):
    """The mechanism that counts the fits of theta_tau when all users of data (X, R) have left."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            policy.play(policy.params, state, X, R, rng, arms)
            out[i] = state.fits[1]
        return out

    return mechanism


def mean_gradients(rho: float, steps: int, d: int):
    """The mechanism that releases `steps` mean gradients of n rows (all 0) with the printed noise,
    variance 2 steps/(n^2 rho) per coordinate; of these their mean square.  Data: which rounds
    explored, of which there are n."""

    def mechanism(explored, rng, n):
        rows = explored.sum()
        sigma = np.sqrt(2.0 * steps / (rows * rows * rho))
        return sigma**2 * (rng.standard_normal((n, steps * d)) ** 2).mean(axis=1)

    return mechanism


def refitted(policy, times: int = 8):
    """The mechanism that fits theta_o `times` times, from 0, on rows whose contexts are all 0; of
    the estimates their mean square.  Data: which rounds explored."""
    p, nothing = policy.params, np.zeros((1, policy.params.d))

    def mechanism(explored, rng, n):
        out = np.zeros(n)
        s = policy.init(p)
        s.t[0] = len(explored)
        s.explored[: len(explored)] = explored
        s.V.last[:] = -1e9 * np.eye(p.d)  # any matrix has outgrown this one
        last = s.V.last.copy()
        for i in range(n):
            for _ in range(times):
                s.theta_o[:], s.fits[0], s.V.last[:] = 0.0, 0, last
                policy.select(p, s, nothing, rng)
                out[i] += (s.theta_o**2).mean() / times
        return out

    return mechanism


def explorations(policy, user: int):
    """The mechanism that counts the rounds of all users but `user` in which Criterion I fired."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            policy.play(policy.params, state, X, R, rng, arms)
            out[i] = state.explored[: len(X)].sum() - state.explored[user]
        return out

    return mechanism


def tight_tree(
    sensitivity: float,
    epsilon: float,
    delta: float,
    T: int,
    trials: int,
    seed: int,
    level: float = 0.999,
):
    """(audit's lower bound, exact epsilon) of tree V calibrated tightly to (epsilon, delta) for
    leaves that move by `sensitivity`; the user moves from e_1 to e_2."""
    m = tree_levels(T)
    sigma = sensitivity * np.sqrt(m / (2.0 * simple_rho(epsilon, delta)))
    found = audit.epsilon_lower_bound(
        tree_nodes(sigma, T), 1.0, -1.0, delta=delta, trials=trials, seed=seed, level=level
    )
    return found.epsilon, gdp(m / sigma**2, delta)


# --- the terms into which the proof of Theorem 6.2 splits regret (Theorem K.1, M.1, P.1, Q.2) ---


def terms(env, policy, T: int, seeds, executor=None):
    """What the proof of Theorem 6.2 adds up, as means over runs of a Joint-DP GLM in a `World`.

    Regret in rounds that explore, of the others before the first fit of theta_tau, and after it;
    both elliptical potentials, without noise, beside 2 d log(1 + n L/(d ridge)) for n rounds and
    weights up to L; the share of weights above the slope at theta*.
    """
    rows = parallel_map(_terms, [(env, policy, T, s) for s in need_seeds(seeds)], executor)
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


@jit
def watched_play(p, s, X, R, rng, arms, watched):
    """`joint_glm.play`; watched (n, 2) <- after every round the weight in H of the played context
    at theta_o, and how often theta_tau was fitted."""
    for t in range(X.shape[0]):
        arms[t] = joint.select(p, s, X[t], rng)
        joint.update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
        watched[t, 0] = leaf_weight(p.link, dot(X[t, arms[t]], s.theta_o))
        watched[t, 1] = s.fits[1]


def _terms(env, policy, T, seed):
    p, rng, state = policy.params, stream(seed, policy.name), policy.init(policy.params)
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    gaps, watched, t = np.empty(T), np.empty((T, 2)), 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        n, arms = len(X), np.empty(len(X), np.int64)
        watched_play(p, state, X, R, rng, arms, watched[t : t + n])
        gaps[t : t + n] = mu.max(axis=1) - mu[np.arange(n), arms]
        t += n
    x, wide = state.X[:T], state.explored[:T] == 1
    weights, fitted = watched[:, 0], watched[:, 1] > 0
    true, top = np.vectorize(slope)(p.link, x @ theta), slope(p.link, 0.0) / math.e
    return {
        "explored": wide.sum(),
        "regret exploring": gaps[wide].sum(),
        "before the first fit": gaps[~wide & ~fitted].sum(),
        "after it": gaps[~wide & fitted].sum(),
        "potential of V": _potential(x[wide], np.ones(wide.sum()), p.ridge_v),
        "bound V": 2.0 * p.d * math.log1p(wide.sum() / (p.d * p.ridge_v)),
        "potential of H": _potential(x[~wide], weights[~wide], p.ridge_h),
        "bound H": 2.0 * p.d * math.log1p((~wide).sum() * top / (p.d * p.ridge_h)),
        "weights above the slope": (weights[~wide] > true[~wide] * (1 + 1e-12)).mean(),
    }


def _potential(X, weights, ridge):
    """Sum of w x' V^-1 x, at most 1 each, over rows of X (n, d), V growing from ridge I."""
    rows = np.sqrt(weights)[:, None] * X
    return potential(rows, np.eye(X.shape[1]) / ridge, np.empty(X.shape[1]))


@jit
def potential(X, V_inv, work):
    """Sum of x' V^-1 x, at most 1 each, over rows of X (n, d), V growing by x x'; V_inv (d, d) and
    work (d,) are overwritten."""
    total = 0.0
    for t in range(X.shape[0]):
        total += min(1.0, quad(V_inv, X[t]))
        sherman_morrison(V_inv, X[t], work)
    return total


# --- Lemma S.1: how far a fit is from theta* if its loss is nu above the least one --------------
#
# The loss is L(theta) = sum of b(x'theta) - r x'theta, plus (ridge/2) ||theta||^2, for logistic
# rewards (R = 1), so that g(theta) = sum of mean x + ridge theta and H* its Hessian at theta*.


def logistic(z):
    """Logistic mean of scores z."""
    return 1.0 / (1.0 + np.exp(-z))


def logistic_loss(X: np.ndarray, r: np.ndarray, ridge: float, theta: np.ndarray):
    """L at theta (d,) for rows X (n, d), rewards r (n,)."""
    z = X @ theta
    return (np.logaddexp(0.0, z) - r * z).sum() + 0.5 * ridge * theta @ theta


def minimiser(X: np.ndarray, r: np.ndarray, ridge: float):
    """The minimiser of the loss, by Newton's method; ArithmeticError if it does not converge."""
    theta = np.zeros(X.shape[1])
    for _ in range(100):
        m = logistic(X @ theta)
        g = X.T @ (m - r) + ridge * theta
        if np.abs(g).max() < 1e-10:
            return theta
        theta = theta - np.linalg.solve(hessian(X, ridge, theta), g)
    raise ArithmeticError(f"no minimum after 100 steps; the gradient is {np.abs(g).max():g}")


def hessian(X: np.ndarray, ridge: float, theta: np.ndarray):
    """(d, d) Hessian of the loss at theta."""
    m = logistic(X @ theta)
    return (X * (m * (1.0 - m))[:, None]).T @ X + ridge * np.eye(X.shape[1])


def lemma_s1_bound(gamma: float, nu, c: float, ridge: float):
    """The right side of Lemma S.1 at R = 1."""
    return (2.0 + c) * (gamma + np.sqrt(nu)) + np.sqrt(
        (2.0 + c) * (gamma**2 / np.sqrt(ridge) + gamma)
    )


def fits_with_excess(n: int, d: int, norm, ridge: float, excesses, runs, seed: int):
    """(share, moved), each (runs, m), for excess losses nu (m,) in one random direction per run.

    n contexts in the unit ball of R^d, ||theta*|| = norm.  share: distance from theta* in the norm
    of H* over `lemma_s1_bound`, with its gamma and c = max |x'(theta - theta*)| as they are; moved:
    distance from the minimiser in the same norm.
    """
    rng = np.random.default_rng([seed, 7])
    found = [_fits(n, d, norm, ridge, excesses, rng) for _ in range(runs)]
    share, moved = (np.array(part) for part in zip(*found, strict=True))
    return share, moved


def _fits(n, d, norm, ridge, excesses, rng):
    X, true, way = (rng.standard_normal((k, d)) for k in (n, 1, 1))
    X *= (rng.random(n) ** (1.0 / d) / np.linalg.norm(X, axis=1))[:, None]  # uniform in the ball
    true, way = norm * true[0] / np.linalg.norm(true), way[0] / np.linalg.norm(way)
    r = (rng.random(n) < logistic(X @ true)).astype(float)
    best, H = minimiser(X, r, ridge), hessian(X, ridge, true)
    low = logistic_loss(X, r, ridge, best)
    gap = X.T @ (logistic(X @ best) - logistic(X @ true)) + ridge * (best - true)
    gamma, share, moved = np.sqrt(gap @ np.linalg.solve(H, gap)), [], []
    for nu in excesses:
        far = brentq(lambda s: logistic_loss(X, r, ridge, best + s * way) - low - nu, 0.0, 1e4)  # noqa: B023
        theta = best + far * way
        off, c = theta - true, np.abs(X @ (theta - true)).max()
        share.append(np.sqrt(off @ H @ off) / lemma_s1_bound(gamma, nu, c, ridge))
        moved.append(far * np.sqrt(way @ H @ way))
    return share, moved


# --- two parts of Algorithm 2 on their own: the printed optimiser, and both switching rules -----


class PrintedDescent(NamedTuple):
    """The optimiser of Lemma U.4."""

    link: int
    radius: float  # of the ball
    sigma: float  # noise of the mean gradient
    steps: int
    eta: float  # length of a step


@jit
def printed_descent(q, X, y, rng, work):
    """work[1] <- mean iterate of `PrintedDescent` q on the mean loss of rows X (n, d), y (n,);
    work[0] the last one; work (3, d) is overwritten."""
    theta, average, g = work[0], work[1], work[2]
    n = X.shape[0]
    theta[:], average[:] = 0.0, 0.0
    for _ in range(q.steps):
        axpy(1.0 / q.steps, theta, average)
        g[:] = 0.0
        for s in range(n):
            axpy((mean(q.link, dot(X[s], theta)) - y[s]) / n, X[s], g)
        add_gaussian(rng, q.sigma, g)
        axpy(-q.eta, g, theta)
        project_ball(theta, q.radius)


def excess_loss(
    link: int,
    X: np.ndarray,
    y: np.ndarray,
    radius: float,
    rho: float,
    failure: float,
    rng: np.random.Generator,
) -> float:
    """Excess mean loss of `printed_descent` at zCDP budget rho, with the lemma's noise, step and
    number of steps (L = 1, diameter 2 radius), over the least loss in the ball.

    The least loss is that of 1000 steps without noise from 0, each at most 4 (the inverse of
    the largest curvature of either link) long: it differs from the minimum by rounding only.
    """
    n, d = X.shape
    steps, work = max(1, round((n * n * rho + math.log(1.0 / failure)) / d)), np.zeros((3, d))
    sigma, eta = math.sqrt(2.0 * steps / (n * n * rho)), 2.0 * radius / math.sqrt(steps)
    printed_descent(PrintedDescent(link, radius, sigma, steps, eta), X, y, rng, work)
    found = mean_loss(link, X, y, work[1])
    printed_descent(PrintedDescent(link, radius, 0.0, 1000, 2.0), X, y, rng, work)
    return found - mean_loss(link, X, y, work[0])  # the last iterate, not the mean one


@jit
def mean_loss(link, X, y, theta):
    """Mean canonical loss of rows X (n, d), y (n,)."""
    total = 0.0
    for s in range(X.shape[0]):
        total += canonical(link, dot(X[s], theta), y[s])
    return total / X.shape[0]


@jit
def count_switches(X, weight, sigma, growth, directional, c, rng, A, B):
    """(switches, worst lambda_max(H_last^-1 H) between them) of the sum of weight x x' over rows X
    (T, d) released with tree noise: when it has grown by this factor in some direction if
    directional, else in its determinant.

    The ratio is bounded by growing from 1 in steps of 5 %.  c: a new `Continual`; A, B (d, d) are
    overwritten.
    """
    made, worst, ridge = 0, 1.0, c.value[0, 0]
    last = X.shape[1] * math.log(ridge)
    for t in range(X.shape[0]):
        add_leaf(weight, X[t], c.exact)
        publish(c, t + 1, ridge, 0.25 * ridge, sigma, rng, A, B)
        value = log_det(c.value, B)
        switch = (
            not below(c.value, growth, c.last, A, B)
            if directional
            else value >= last + math.log(growth)
        )
        if switch:
            made, last = made + 1, value
            copy(c.value, c.last)
        else:
            while not below(c.value, worst, c.last, A, B):
                worst *= 1.05
    return made, worst


@jit
def log_det(A, L):
    """log det A of a positive definite A; L is overwritten."""
    cholesky(A, L)
    s = 0.0
    for i in range(A.shape[0]):
        s += 2.0 * math.log(L[i, i])
    return s


def switches(X: np.ndarray, weight: float, ridge: float, sigma: float, seed: int) -> np.ndarray:
    """(4,): switches and worst ratio of the directional rule and of determinant doubling."""
    rng = np.random.default_rng(seed)
    rules = (
        switch_rule(X, weight, ridge, sigma, directional, rng) for directional in (True, False)
    )
    return np.array([number for found in rules for number in found])


def switch_rule(X, weight, ridge, sigma, directional, rng, growth=GROWTH):
    """`count_switches` of one rule, from ridge I on."""
    T, d = X.shape
    c = start(d, tree_levels(T), ridge)
    return count_switches(X, weight, sigma, growth, directional, c, rng, *np.zeros((2, d, d)))


def axis_switches(
    d: int, T: int, weight: float, ridge: float, blocks, growth: float = GROWTH
) -> tuple[int, float]:
    """Noise-free switches of the directional rule where contexts are unit vectors: each axis for
    T/d rounds on end if blocks, else all in turn."""
    axes = np.arange(T) * d // T if blocks else np.arange(T) % d
    return switch_rule(np.eye(d)[axes], weight, ridge, 0.0, True, np.random.default_rng(0), growth)[
        0
    ]


def excess_losses(cases, reps: int, seed: int, failure: float = 0.02) -> np.ndarray:
    """`excess_loss` (reps, m) for cases (n, rho): logistic rewards, theta of norm 1.87 in R^3,
    contexts on the unit sphere, radius 2; all fresh in every repetition."""
    theta, out = np.array([1.5, -1.0, 0.5]), np.empty((reps, len(cases)))
    rng = np.random.default_rng(seed)
    for row in out:
        for i, (n, rho) in enumerate(cases):
            X, R, mu = np.empty((n, 1, 3)), np.empty((n, 1)), np.empty((n, 1))
            ball_arms(rng, X)
            X /= np.linalg.norm(X, axis=2, keepdims=True)
            bernoulli(rng, LOGISTIC, theta, X, R, mu)
            row[i] = excess_loss(LOGISTIC, X[:, 0].copy(), R[:, 0].copy(), 2.0, rho, failure, rng)
    return out


def switch_counts(d: int, T: int, ridge: float, noise: float, seed: int) -> dict[str, float]:
    """`switches` by name for T contexts uniform in the unit ball of R^d, of weight 0.1; noise: the
    size of the tree's noise relative to the ridge."""
    X = np.empty((T, 1, d))
    ball_arms(np.random.default_rng([seed, d]), X)
    unit = ridge / (2.0 * math.sqrt(d * math.log2(T)))  # this sigma makes prefixes about the ridge
    found = switches(X[:, 0].copy(), 0.1, ridge, noise * unit, seed)
    names = "directional", "its worst ratio", "determinant", "worst ratio of this"
    return {"d": d, "T": T, "noise / ridge": noise} | dict(zip(names, found, strict=True))


# --- closed forms: (50) to (52) and Section J.1, Lemmas P.4 and U.4, (6) and (122) --------------


class ClosedForms(NamedTuple):
    """Closed forms of Algorithm 2."""

    ridge: float  # lambda, (50)
    width: float  # beta, (51)
    gamma: float  # (52)
    threshold: float  # 1/(gamma^2 kappa R^2), of Criterion I
    cutoff_o: float  # 8 d R^2 kappa gamma^2 log T
    cutoff_tau: float  # 4 log2(1 + T R^3/d)
    sigma: float  # noise of a tree node as printed: sqrt(72 m) log(32/delta)/(kappa* epsilon)


def printed(
    d: int,
    T: int,
    epsilon: float,
    delta: float,
    failure: float,
    theta_bound: float,
    kappa: float,
    kappa_star: float,
    R: float = 1.0,
) -> ClosedForms:
    """(50) to (52) and what follows, all universal constants 1; raises ValueError on bad input."""
    d, T = need_int("d", d, 1), need_int("T", T, 2)
    epsilon, delta = need_positive("epsilon", epsilon), need_probability("delta", delta)
    failure, S = need_probability("failure", failure), need_positive("theta_bound", theta_bound)
    kappa, star = need_positive("kappa", kappa), need_float("kappa_star", kappa_star, 0.0, kappa)
    R = need_positive("R", R)
    L_T, L_d = math.log(T / failure), math.log(1.0 / delta)
    low = min(star, 1.0)
    ridge = 1.25 * d * L_T + 100.0 * math.sqrt(d) * L_d * math.log(T) * (
        math.sqrt(L_T) + math.sqrt(d)
    ) / (epsilon * star)
    private = d**0.25 * math.sqrt(L_T * L_d) * (d + L_T) ** 0.25
    width = R * math.sqrt(d * L_T) + R * S * private / math.sqrt(epsilon * low)
    gamma = (
        R**2 * S * math.sqrt(d * L_T)
        + R**2 * S * private / math.sqrt(epsilon * star)
        + R**4 * S**4 * d * math.sqrt(kappa) * L_T * math.sqrt(L_d) / epsilon
    )
    sigma = math.sqrt(72.0 * math.ceil(math.log2(T) + 1)) * math.log(32.0 / delta)
    return ClosedForms(
        ridge, width, gamma, 1.0 / (gamma**2 * kappa * R**2),
        8.0 * d * R**2 * kappa * gamma**2 * math.log(T),
        count2(d, T, R), sigma / (star * epsilon),
    )  # fmt: skip


def exploration_rounds(d: int, ridge: float, threshold: float) -> float:
    """Least number of unit vectors after which no direction has squared width >= threshold: each of
    d directions needs 1/threshold - ridge of them (noise-free, best case)."""
    return d * max(0.0, 1.0 / threshold - ridge)


def switches_bound(d: int, t: int, ridge: float, L: float = 1.0) -> float:
    """Lemma P.4: most switches in t rounds, 1 + d/log(11/8) log(1 + t L^2/(ridge d))."""
    return 1.0 + d / math.log(11.0 / 8.0) * math.log1p(t * L * L / (ridge * d))


def printed_tree_rho(epsilon: float, delta: float, kappa_star: float) -> float:
    """zCDP of tree V under the printed node noise, at its true sensitivity sqrt2: m nodes of
    1/sigma^2 each, kappa*^2 epsilon^2/(72 log^2(32/delta))."""
    return (kappa_star * epsilon / math.log(32.0 / delta)) ** 2 / 72.0


def lower_bound(d: int, epsilon: float, delta: float) -> float:
    """What the proof of Lemma 7.1 gives, universal constants 1: d epsilon/(epsilon^2 + delta
    log(1/delta)); the lemma prints d/epsilon."""
    return d * epsilon / (epsilon**2 + delta * math.log(1.0 / delta))


def first_batch(kappa: float, theta_bound: float, d: int, gamma: float, alpha: float) -> float:
    """B_1 of (6): (sqrt(kappa) e^(3S) d^2 gamma^2 alpha/S)^(2/3)."""
    S = theta_bound
    return (math.sqrt(kappa) * math.exp(3.0 * S) * d * d * gamma**2 * alpha / S) ** (2.0 / 3.0)


def composed(epsilon: float, delta: float, iterations: int) -> float:
    """Epsilon of Algorithm 7's gradients by its own composition theorem.

    Each is (epsilon_0, delta/(N + 1)) with epsilon_0 = epsilon/(2 sqrt(2 N log(1/delta))); N of
    them leave a slack of delta/(N + 1), and N epsilon_0 (e^epsilon_0 - 1) + epsilon_0 sqrt(2 N
    log((N + 1)/delta)) (Dwork and Roth 2014, Theorem 3.20).
    """
    N = iterations
    e0 = epsilon / (2.0 * math.sqrt(2.0 * N * math.log(1.0 / delta)))
    return N * e0 * math.expm1(e0) + e0 * math.sqrt(2.0 * N * math.log((N + 1) / delta))


def count2(d: int, T: int, R=1.0) -> float:
    """Lemma J.6: most fits on all other rounds, 4 log2(1 + T R^3/d)."""
    return 4.0 * math.log2(1.0 + T * R**3 / d)
