"""Exact shortcuts for FLIPHAT on autoregressive contexts and in worlds with a margin: the same law
of regret as `simulate`, far fewer draws.

Every decision and every regret depends on two numbers of an arm alone, x'theta_hat and x'beta, and
given these two all the rest of a row is one linear map of them plus independent noise
(`two_scores` has the derivation).

* "lazy": draw the two numbers of every arm, then the rest of the row that is stored.  Exact for
  every FLIPHAT policy, and for the lasso bandit; 2 K + d normals per round, of which all policies
  of one call share the d.
* "scores": an episode enters the release only through u = sum clip(y_t) x_t, whose law given all
  these numbers and rewards needs one row for the whole episode: 2 K normals per round.  Exact if
  every release is at most one iteration from zero on unclipped contexts; refused otherwise.

Tests compare the laws with `simulate`, which draws all K x d coordinates.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from companion._jit import jit
from companion._types import Array, Environment, Ints, Rng
from companion.baselines import lasso_bandit
from companion.baselines.lasso_bandit import update as learn
from companion.checks import need_choice
from companion.fliphat import episodes, two_scores
from companion.fliphat.environments import Autoregressive, Margin, draw_rows
from companion.fliphat.policy import update
from companion.fliphat.two_scores import Scored, scored
from companion.simulate import as_result, need_run, over, simulate, stream

if TYPE_CHECKING:
    from companion.core import Policy
    from companion.simulate import Result

PATHS = ("auto", "full", "lazy", "scores")


@jit
def run_lazy(
    p: Any,
    s: Any,
    w: Scored,
    Z: Array,
    first: int,
    rng: Rng,
    noise_rng: Rng,
    grid: Ints,
    regret: Array,
) -> Any:
    """Play the episode that begins with round `first`, to round grid[-1] at most, with the policy's
    own `update`; row t - first of Z makes that of round t.  regret[i] <- cumulative regret after
    round grid[i].

    Size: 9 arguments; a run as it stands, and the draws of its next part.
    """
    f, at = two_scores.factor(w, s.theta_hat), 0
    while grid[at] < first:
        at += 1
    for t in range(first, min(2 * first - 1, grid[-1]) + 1):
        one, two, y = two_scores.play_round(w, f, s.size == 0, rng)
        if t < 1 << p.iterations.shape[0]:  # rows of the last episode are never looked at
            two_scores.move(w, f, s.theta_hat, s.picks, (one, two), 1.0, Z[t - first], w.x)
        s = update(p, s, 0, w.x, y, noise_rng)
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
    return s


@jit
def run_lasso(
    p: Any,
    s: Any,
    w: Scored,
    Z: Array,
    first: int,
    rng: Rng,
    noise_rng: Rng,
    grid: Ints,
    regret: Array,
) -> Any:
    """`run_lazy` of the lasso bandit, whose estimate may change at any round: rounds from `first`
    on, of which row t - first of Z makes round t.

    Size: 9 arguments; those of `run_lazy`.
    """
    f, at = two_scores.factor(w, s.theta_hat), 0
    while grid[at] < first:
        at += 1
    for t in range(first, min(2 * first - 1, grid[-1]) + 1):
        one, two, y = two_scores.play_round(w, f, t <= p.every, rng)
        picks = s.index[: s.active]
        two_scores.move(w, f, s.theta_hat, picks, (one, two), 1.0, Z[t - first], w.x)
        s = learn(p, s, 0, w.x, y, noise_rng)
        if t % p.every == 0:
            f = two_scores.factor(w, s.theta_hat)
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
    return s


@jit
def run_scores(
    p: Any, s: Any, w: Scored, rng: Rng, noise_rng: Rng, grid: Ints, regret: Array
) -> Any:
    """Play to round grid[-1], one row per episode; regret as in `run_lazy`; returns the state (no
    rows are stored)."""
    size, T, episode = 0, grid[-1], 0
    while 1 << episode <= T:
        two_scores.play_episode(p, s, w, episode, size, rng, grid, regret)
        if 2 << episode <= T:
            size = episodes.release_from_moment(p, s, 1 << episode, episode, noise_rng)
        episode += 1
    return episodes.State(T, 0, 0, size, s.theta_hat, s.picks, s.X, s.y, s.work)


def aggregated_is_exact(policy: "Policy") -> bool:
    """Whether the path "scores" has the policy's law: at most one iteration, from zero, on one
    episode, nothing but y clipped.
    """
    p = policy.params
    if not isinstance(p, episodes.Params):
        return False
    unclipped = p.row_clip == p.gradient_clip == p.residual_clip == np.inf
    deepest = p.iterations.max(initial=0)
    return bool(unclipped and p.forget and not p.warm and deepest <= 1)


def simulate_sparse(
    env: Environment,
    policies: "Sequence[Policy]",
    T: int,
    seeds: Sequence[Any],
    executor: Any = None,
    *,
    grid: Any = None,
    path: str = "auto",
) -> "Result":
    """`simulate` for FLIPHAT policies and lasso bandits on an `Autoregressive` or a `Margin`
    environment, by the cheapest path that is exact.

    Arguments, executor and result as in `companion.simulate.simulate`; path "auto" takes
    "scores" where it is exact, else "lazy"; "full" draws every coordinate.  Unlike `simulate`,
    policies of one repetition draw scores of their own; by "lazy" they share the rest of the rows,
    so the time for that counts for the first of them.  Raises ValueError on another environment
    or policy, and on a path that is not exact.
    """
    need_choice("path", path, PATHS)
    policies, T, seeds, grid = need_sparse_run(env, policies, T, seeds, grid)
    for p in policies:
        if path == "scores" and not aggregated_is_exact(p):
            raise ValueError(
                f"path must be 'lazy' or 'full' for {p.name!r}: aggregation is not exact"
            )
    if path == "full":
        return simulate(env, policies, T, seeds, executor, grid=grid)
    jobs = [(env, policies, grid, path, seed) for seed in seeds]
    return as_result(policies, grid, over(_repetition, jobs, executor))


def need_sparse_run(
    env: Any, policies: "Sequence[Policy]", T: int, seeds: Sequence[Any], grid: Ints | None = None
) -> "tuple[Sequence[Policy], int, Sequence[Any], Ints | None]":
    """What `simulate` checks, and that kernels may index the contexts of env as these policies do.

    Raises ValueError unless env is an `Autoregressive` or a `Margin` environment and the policies
    are FLIPHAT's or lasso bandits, of its dimension.
    """
    policies, T, seeds, grid = need_run(policies, T, seeds, grid)
    if not isinstance(env, (Autoregressive, Margin)):
        kind = type(env).__name__
        raise ValueError(f"env must be an Autoregressive or a Margin environment; got {kind}")
    for p in policies:
        if not isinstance(p.params, (episodes.Params, lasso_bandit.Params)) or p.params.d != env.d:
            raise ValueError(
                f"policies must be FLIPHAT policies or lasso bandits of dimension d={env.d}; "
                f"got {p.name!r}"
            )
    return policies, T, seeds, grid


def _streams(seed, policy):
    """Generators of a policy's contexts and of its noise."""
    return stream(seed, f"contexts of {policy.name}"), stream(seed, policy.name)


def _repetition(env, policies, grid, path, seed):
    """One repetition: (regret (n_policies, n_grid), seconds (n_policies,)), contexts included."""
    regret, seconds, lazy = np.zeros((len(policies), len(grid))), np.zeros(len(policies)), []
    for i, policy in enumerate(policies):
        if path == "lazy" or not aggregated_is_exact(policy):
            lazy.append(i)
            continue
        p, begin = policy.params, time.thread_time()
        run_scores(p, episodes.init(p), scored(env), *_streams(seed, policy), grid, regret[i])
        seconds[i] = time.thread_time() - begin
    if lazy:
        policies = [policies[i] for i in lazy]
        regret[lazy], seconds[lazy] = lazily([env] * len(lazy), policies, grid, seed)
    return regret, seconds


def lazily(
    envs: Sequence[Any], policies: "Sequence[Policy]", grid: Ints, seed: Any
) -> tuple[Array, Array]:
    """One repetition by the path "lazy" of policies, each in its environment of envs, of checked
    arguments: (regret (n_policies, n_grid), seconds (n_policies,)).

    An episode at a time, all on the same rows; those that forget store them in the same memory.
    seed: a SeedSequence.
    """
    regret, seconds = np.zeros((len(policies), len(grid))), np.zeros(len(policies))
    streams, worlds = [_streams(seed, p) for p in policies], [scored(env) for env in envs]
    states, memory, rows, first = [], {}, stream(seed, "rows"), 1
    stored = 0
    for p in (policy.params for policy in policies):
        sparse = isinstance(p, episodes.Params)
        s = (episodes if sparse else lasso_bandit).init(p)
        if sparse and p.forget:
            X, y = memory.setdefault(len(s.y), (s.X, s.y))
            s = s._replace(X=X, y=y)
        states.append(s)
        stored = max(stored, (1 << len(p.iterations)) - 1 if sparse else p.T)
    stored = min(stored, grid[-1])
    Z = np.empty(((stored + 1) // 2, envs[0].d))
    while first <= grid[-1]:
        begin = time.thread_time()
        draw_rows(worlds[0].phi, rows, Z[: max(min(first, stored - first + 1), 0)])
        for i, policy in enumerate(policies):
            game = policy.params, states[i], worlds[i], Z, first, *streams[i]
            run: Any = run_lazy if isinstance(policy.params, episodes.Params) else run_lasso
            states[i] = run(*game, grid, regret[i])
            seconds[i] += time.thread_time() - begin
            begin = time.thread_time()
        first *= 2
    return regret, seconds
