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
  every release is at most one iteration from zero on unclipped contexts, and for lasso bandits
  that do not fit in every round (`lasso_rows`); refused otherwise.

Tests compare the laws with `simulate`, which draws all K x d coordinates.
"""

import time

import numpy as np

from companion.baselines import lasso_bandit
from companion.fliphat import episodes
from companion.fliphat.environments import Autoregressive, Margin, draw_rows
from companion.fliphat.lasso_rows import run_lasso, run_segments
from companion.fliphat.runs import run_lazy, run_scores, run_streamed
from companion.fliphat.two_scores import Part, scored
from companion.simulate import as_result, need_run, over, simulate, stream
from companion.validate import need_choice

PATHS = ("auto", "full", "lazy", "scores")


def aggregated_is_exact(policy) -> bool:
    """Whether the path "scores" has the policy's law: at most one iteration, from zero, on one
    episode, nothing but y clipped; or a lasso of several rounds at a time.
    """
    p = policy.params
    if not isinstance(p, episodes.Params):
        return p.every > 1
    unclipped = p.row_clip == p.gradient_clip == p.residual_clip == np.inf
    return unclipped and p.forget and not p.warm and one_step(p)


def one_step(p) -> bool:
    """Whether `run_streamed` is `run_lazy` for FLIPHAT with these Params: releases take one step,
    whose moment is known row by row."""
    if not (len(p.iterations) and p.iterations.max() <= 1):
        return False
    one_start = not p.warm or (p.forget and p.row_clip == np.inf)
    return bool(one_start and (p.forget or p.reward_clip.min() == np.inf))


def simulate_sparse(
    env,
    policies,
    T: int,
    seeds,
    executor=None,
    *,
    grid=None,
    path: str = "auto",
):
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


def need_sparse_run(env, policies, T: int, seeds, grid: np.ndarray | None = None):
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
        (own, noise), w = _streams(seed, policy), scored(env)
        if isinstance(p, episodes.Params):
            run_scores(p, episodes.init(p, 0), w, own, noise, grid, regret[i])
        else:
            run_segments(p, policy.init(p), w, own, grid, regret[i], np.zeros(3, np.int64))
        seconds[i] = time.thread_time() - begin
    if lazy:
        policies = [policies[i] for i in lazy]
        regret[lazy], seconds[lazy] = lazily([env] * len(lazy), policies, grid, seed)
    return regret, seconds


def _begun(p, memory):
    """The state of a FLIPHAT policy before the first round; memory: {rows: where those that forget
    store so many}."""
    if one_step(p) or not (p.forget and len(p.iterations)):
        return episodes.init(p, 0 if one_step(p) else None)
    rows = 1 << (len(p.iterations) - 1)
    if rows not in memory:
        memory[rows] = np.empty((rows, p.d)), np.empty(rows)
    X, y = memory[rows]
    return episodes.init(p, 0)._replace(X=X, y=y)


def lazily(envs, policies, grid: np.ndarray, seed) -> tuple[np.ndarray, np.ndarray]:
    """One repetition by the path "lazy" of policies, each in its environment of envs, of checked
    arguments: (regret (n_policies, n_grid), seconds (n_policies,)).

    An episode at a time, all on the same rows; those that forget store them in the same memory.
    seed: a SeedSequence.
    """
    regret, seconds = np.zeros((len(policies), len(grid))), np.zeros(len(policies))
    streams, worlds = [_streams(seed, p) for p in policies], [scored(env) for env in envs]
    states, memory, rows, first = [], {}, stream(seed, "rows"), 1
    kernels = []
    stored = 0
    for p in (policy.params for policy in policies):
        sparse = isinstance(p, episodes.Params)
        kernels.append(run_lasso if not sparse else run_streamed if one_step(p) else run_lazy)
        states.append(_begun(p, memory) if sparse else lasso_bandit.init(p))
        stored = max(stored, (1 << len(p.iterations)) - 1 if sparse else p.T)
    stored = min(stored, grid[-1])
    Z = np.empty(((stored + 1) // 2, envs[0].d))
    while first <= grid[-1]:
        begin = time.thread_time()
        draw_rows(worlds[0].phi, rows, Z[: max(min(first, stored - first + 1), 0)])
        for i, policy in enumerate(policies):
            part = Part(first, Z, grid, regret[i])
            states[i] = kernels[i](policy.params, states[i], worlds[i], part, *streams[i])
            seconds[i] += time.thread_time() - begin
            begin = time.thread_time()
        first *= 2
    return regret, seconds
