"""`choose`: the decision for a setting that the arena has not played: it plays it."""

import sys

from companion.arena import decision, worlds
from companion.arena.contest import Run, Setting
from companion.arena.kinds import world_of
from companion.arena.policies import MODELS
from companion.simulate import repetitions, simulate
from companion.validate import need_choice, need_float, need_int

WIDE = 30  # characters of the bar


def choose(
    trust: str,
    d: int,
    K: int,
    T: int,
    epsilon: float,
    world: str = "dense",
    *,
    n_reps: int = 20,
    seed: int = 0,
):
    """Which private policy to use: the candidates play a world of this size; a `decision.Answer`.

    trust: whom users trust, "local" (nobody), "shuffle" (a shuffler) or "joint" (the server, so
    that any private policy will do); contexts in R^d; K >= 2 arms; T >= 100 rounds, delta = 1/T;
    epsilon in [0.01, 100]; world: a key of `kinds.KINDS`, "dense" (d >= 2), "sparse" (d >= 5),
    "clicks" or "one context" (d >= 2); n_reps >= 4 repetitions, of which half choose and half
    judge.  Constants follow from public bounds, none is tuned.  Raises ValueError on anything else,
    and where no policy can play.  Takes seconds once kernels are compiled; a terminal shows a bar.

    >>> print(choose("joint", 2, 3, 400, 8.0, n_reps=4).trust)
    joint
    """
    trust = need_choice("trust", trust, tuple(decision.TRUSTED))
    T, n_reps = need_int("T", T, 100), need_int("n_reps", n_reps, 4)
    epsilon, played = need_float("epsilon", epsilon, 0.01, 100.0), world_of(world, d, K)
    calls, refusals = worlds.lineup(played, T, epsilon)
    enough = ("local", "shuffle", "joint")[: 1 + list(MODELS).index(trust)]
    candidates = [c for c in calls if c.policy().guarantee.model in enough]
    if not candidates:
        reasons = "; ".join(f"{r.factory} {r.reason}" for r in refusals)
        raise ValueError(f"no policy can play {T=} rounds of world={world!r}: {reasons}")
    calls = [c for c in calls if c.factory == "random"] + candidates
    runs = {c.factory: _run(c, played, T, n_reps, seed) for c in _with_bar(calls)}
    setting = Setting(world, T, epsilon, runs, {r.factory: r.reason for r in refusals}, played.K)
    return decision.answer(setting, trust)


def _run(call, world, T, n_reps, seed):
    """A `Run` without tuning; streams are paired by the seeds and by the name."""
    policy = call.policy()
    env = worlds.stream(world, call.factory)
    mine = policy.renamed(call.factory)
    final = simulate(env, [mine], T, repetitions(seed, n_reps, 2), grid=[T]).final[:, 0]
    return Run(call, policy.name, policy.guarantee, 1.0, False, final, final, call)


def _with_bar(calls):
    """The calls one after another, with a bar on a terminal."""
    shown = sys.stderr.isatty()
    for i, call in enumerate(calls):
        if shown:
            bar = "#" * (WIDE * i // len(calls))
            print(f"\r[{bar:<{WIDE}}] {call.factory:<20}", end="", file=sys.stderr, flush=True)
        yield call
    if shown:
        print("\r" + " " * (WIDE + 24) + "\r", end="", file=sys.stderr)
