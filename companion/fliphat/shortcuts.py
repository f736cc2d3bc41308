"""Exact shortcuts for FLIPHAT on autoregressive contexts: the same law of regret as `simulate`, far
fewer draws.

Every decision and every regret needs the contexts only on I = supp(beta) + supp(theta_hat).

* "lazy": draw the K arms on I, then fill in the chosen row, coordinate by coordinate, from its law
  given x_I.  Exact for every FLIPHAT policy; K |I| + d normals per round.
* "aggregated": an episode enters the release only through u = sum clip(y_t) x_t.  Given all x_I and
  rewards, the other coordinates of every row are the same linear map of x_I plus independent
  Gaussian noise, so u is that map of u_I plus the noise of one row times sqrt(sum clip(y_t)^2): one
  fill per episode, K |I| normals per round.  Exact if every release is at most one iteration from
  zero on unclipped contexts; refused otherwise.
* "scores": exact and refused like "aggregated", but of an arm only the two numbers that decide are
  drawn, x'theta_hat and x'beta, and all else of the rows once per episode (`two_scores` has the
  derivation): 2 K normals per round.

Tests compare the laws with `simulate`, which draws all K x d coordinates.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from companion._jit import jit
from companion._types import Array, Environment, Ints, Rng
from companion.checks import need_choice
from companion.fliphat import episodes, two_scores
from companion.fliphat.environments import Autoregressive, draw_noise
from companion.fliphat.lazy_contexts import draw_round, episode_moment, fill, plan, world
from companion.fliphat.policy import update
from companion.fliphat.two_scores import Scored, scored
from companion.simulate import as_result, need_run, over, simulate, stream

if TYPE_CHECKING:
    from companion.core import Policy
    from companion.fliphat.lazy_contexts import World
    from companion.simulate import Result

PATHS = ("auto", "full", "lazy", "aggregated", "scores")


@jit
def run_lazy(
    p: Any, s: Any, w: "World", rng: Rng, noise_rng: Rng, grid: Ints, regret: Array
) -> Any:
    """Play p.T rounds with the policy's own `update`; regret[i] <- cumulative regret after round
    grid[i].
    """
    m, total, at = plan(w, s.theta_hat), 0.0, 0
    for t in range(1, grid[-1] + 1):
        arm, mu, loss = draw_round(w, m, s.theta_hat, s.size == 0, rng)
        for i in range(m):
            w.x[w.revealed[i]] = w.rows[arm, i]
        if t < 1 << p.iterations.shape[0]:  # rows of the last episode are never looked at
            fill(w, m, 1.0, rng, w.x)
        s = update(p, s, arm, w.x, mu + draw_noise(rng, w.uniform, w.noise), noise_rng)
        if (t + 1) & t == 0:
            m = plan(w, s.theta_hat)
        total += loss
        if t == grid[at]:
            regret[at] = total
            at += 1
    return s


@jit
def play_episode(
    p: Any,
    s: Any,
    w: "World",
    episode: int,
    size: int,
    rng: Rng,
    total: float,
    grid: Ints,
    regret: Array,
) -> float:
    """Play one episode with s.theta_hat (zero if size == 0); s.work.moment <- sum clip(y) x, if a
    release needs it.  Returns the total regret.

    Size: 9 arguments; as `episode_moment`.
    """
    s.work.moment[:] = 0.0
    needed = episode < p.iterations.shape[0]
    bound = p.reward_clip[episode] if needed else np.inf
    first, last = 1 << episode, min((2 << episode) - 1, grid[-1])
    theta, moment = s.theta_hat, s.work.moment
    return episode_moment(
        w, theta, size == 0, first, last, bound, needed, rng, total, grid, regret, moment
    )


@jit
def run_aggregated(
    p: Any, s: Any, w: "World", rng: Rng, noise_rng: Rng, grid: Ints, regret: Array
) -> Any:
    """Play to round grid[-1], one fill per episode; regret as in `run_lazy`; returns the state (no
    rows are stored).
    """
    size, total, T = 0, 0.0, grid[-1]
    releases = 0
    while 2 << releases <= T:
        releases += 1
    for episode in range(releases + 1):
        total = play_episode(p, s, w, episode, size, rng, total, grid, regret)
        if episode < releases:
            size = episodes.release_from_moment(p, s, 1 << episode, episode, noise_rng)
    return episodes.State(T, 0, 0, size, s.theta_hat, s.picks, s.X, s.y, s.work)


@jit
def run_scores(
    p: Any, s: Any, w: Scored, rng: Rng, noise_rng: Rng, grid: Ints, regret: Array
) -> Any:
    """`run_aggregated` in law, from two numbers an arm."""
    size, T, episode = 0, grid[-1], 0
    while 1 << episode <= T:
        two_scores.play_episode(p, s, w, episode, size, rng, grid, regret)
        if 2 << episode <= T:
            size = episodes.release_from_moment(p, s, 1 << episode, episode, noise_rng)
        episode += 1
    return episodes.State(T, 0, 0, size, s.theta_hat, s.picks, s.X, s.y, s.work)


def aggregated_is_exact(policy: "Policy") -> bool:
    """Whether the paths "aggregated" and "scores" have the policy's law: at most one iteration,
    from zero, on one episode, nothing but y clipped.
    """
    p = policy.params
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
    """`simulate` for FLIPHAT policies on an `Autoregressive` environment, by the cheapest path that
    is exact.

    Arguments, executor and result as in `companion.simulate.simulate`; path "auto" takes
    "scores" where it is exact, else "lazy"; "full" draws every coordinate.  Unlike `simulate`,
    policies of one repetition have independent contexts. Raises ValueError on another environment
    or policy, and on a path that is not exact.
    """
    need_choice("path", path, PATHS)
    policies, T, seeds, grid = need_sparse_run(env, policies, T, seeds, grid)
    for p in policies:
        if path in ("aggregated", "scores") and not aggregated_is_exact(p):
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

    Raises ValueError unless env is an `Autoregressive` environment and the policies are FLIPHAT's,
    of its dimension.
    """
    policies, T, seeds, grid = need_run(policies, T, seeds, grid)
    if not isinstance(env, Autoregressive):
        raise ValueError(f"env must be an Autoregressive environment; got {type(env).__name__}")
    for p in policies:
        if not isinstance(p.params, episodes.Params) or p.params.d != env.d:
            raise ValueError(
                f"policies must be FLIPHAT policies of dimension d={env.d}; got {p.name!r}"
            )
    return policies, T, seeds, grid


RUNS = {
    "lazy": (run_lazy, world),
    "aggregated": (run_aggregated, world),
    "scores": (run_scores, scored),
}


def _repetition(env, policies, grid, path, seed):
    """One repetition: (regret (n_policies, n_grid), seconds (n_policies,)), contexts included."""
    regret, seconds = np.zeros((len(policies), len(grid))), np.zeros(len(policies))
    for i, policy in enumerate(policies):
        p = policy.params
        contexts, noise = stream(seed, f"contexts of {policy.name}"), stream(seed, policy.name)
        best = "scores" if aggregated_is_exact(policy) else "lazy"
        run, made = RUNS[best if path == "auto" else path]
        begin = time.thread_time()
        run(p, episodes.init(p), made(env), contexts, noise, grid, regret[i])
        seconds[i] = time.thread_time() - begin
    return regret, seconds
