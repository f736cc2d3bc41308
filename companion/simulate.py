"""Policies x repetitions -> Result: every policy plays the same stream, so differences
are paired.

Seeds: a repetition is one `numpy.random.SeedSequence`.  Its child 0 feeds the
environment; a policy's child is named by a digest of the policy's name.  A result
therefore depends on the parameters and the seed alone: not on threads, executors or
order, nor on which other policies are in the list.
"""

import functools
import hashlib
import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from companion.contract import (
    interrupts_wait,
    need_block,
    need_contexts,
    need_nothing,
    need_rounds,
)
from companion.core import Policy
from companion.jit import PACKAGE
from companion.validate import need_int, need_members, need_method, need_module, need_seed

# stop: the event after which a thread of the default pool has to end
WORKER = threading.local()


class Result(NamedTuple):
    """What `simulate` returns; axes: repetition, policy (in the order given), round of
    the grid."""

    names: tuple
    rounds: np.ndarray  # (n_grid,) increasing, counted from 1; the last one is T
    regret: np.ndarray  # (n_reps, n_policies, n_grid) cumulative pseudo-regret
    guarantees: tuple
    seconds: np.ndarray  # (n_reps, n_policies) CPU time inside `play`

    @property
    def final(self) -> np.ndarray:
        """Regret after the last round, (n_reps, n_policies)."""
        return self.regret[:, :, -1]

    def of(self, name: str) -> np.ndarray:
        """Regret curves of one policy, (n_reps, n_grid)."""
        return self.regret[:, self.names.index(name)]

    def to_frame(self):
        """Tidy pandas data frame with columns policy, repetition, round, regret."""
        pd = need_module("pandas", "data")
        axes = {
            "repetition": range(len(self.regret)),
            "policy": self.names,
            "round": self.rounds,
        }
        index = pd.MultiIndex.from_product(axes.values(), names=axes)
        frame = pd.DataFrame({"regret": self.regret.ravel()}, index).reset_index()
        return frame[["policy", "repetition", "round", "regret"]]


def repetitions(seed: int, n_reps: int, *key):
    """Independent seeds of n_reps >= 1 repetitions, from one integer seed >= 0.

    key: integers >= 0 that name an experiment; another key gives other seeds.
    """
    entropy = [need_seed("seed", seed), *(need_seed("key", k) for k in key)]
    root = np.random.SeedSequence(entropy if key else entropy[0])
    return root.spawn(need_int("n_reps", n_reps, 1, 10_000_000))


def stream(seed, label: str) -> np.random.Generator:
    """The generator of one part of a repetition: `label` "environment", or the name of a
    policy."""
    key = (
        (0,)
        if label == "environment"
        else (1, *hashlib.sha256(label.encode()).digest()[:8])
    )
    named = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))
    return np.random.default_rng(named)


def even_grid(T: int, n: int = 200) -> np.ndarray:
    """About n evenly spaced rounds from 1 to T, with T; ValueError unless both are
    integers."""
    T = need_int("T", T, 1)
    n = need_int("n", n, 1)
    # in whole numbers: the last one is T
    return np.unique(-(-np.arange(1, n + 1) * T // n))


def simulate(
    env,
    policies,
    T: int,
    seeds,
    executor=None,
    *,
    grid=None,
    keep: str | Path | None = None,
) -> Result:
    """Play T rounds of env with every policy, once per seed.

    Parameters
    ----------
    env : object with `blocks(T, rng)`, see `companion.environments`
    policies : `Policy` values with distinct names
    T : rounds, at most the horizon of every policy
    seeds : integers >= 0 or SeedSequences, one per repetition (see `repetitions`)
    executor : a `concurrent.futures.Executor` or a Dask `Client`; None: threads over the
        cores
    grid : increasing rounds at which regret is kept; None: 200 even ones
    keep : a folder of yours, one for all workers, in which every finished repetition is
        kept (by `joblib.Memory`), named by all that it depends on; a later call reads it
        instead of playing it again, so a run that is killed, or ended by Ctrl-C, loses at
        most the repetitions under way.  Classes and functions from outside this package
        are known by name alone: take another folder when you change their code.

    Returns
    -------
    `Result`, which depends on the arguments alone, not on the executor or on what was
    kept.

    Raises
    ------
    ValueError before anything runs on bad arguments, and during the run on a bad block.

    >>> from companion.policies import linucb
    >>> from companion.environments import sphere
    >>> played = simulate(sphere(4, 3), [linucb(3)], 500, repetitions(1, 2))
    >>> played.final.shape  # repetitions, policies
    (2, 1)
    """
    policies, T, seeds, grid = need_run(policies, T, seeds, grid)
    need_method("env", env, "blocks")
    jobs = [(env, policies, T, s, grid) for s in seeds]
    if keep is None:
        return as_result(policies, grid, parallel_map(repetition, jobs, executor))
    if not isinstance(keep, (str, os.PathLike)) or not str(keep) or "\0" in str(keep):
        raise ValueError(f"keep must be the path of a folder; got {keep=}")
    need_module("joblib", "sweeps")
    store = Path(keep, imported_code())
    jobs = [(store, *job) for job in jobs]
    return as_result(policies, grid, parallel_map(kept_repetition, jobs, executor))


def imported_code() -> str:
    """The digest of the sources of this package, as this process imported them.

    Raises ValueError if one was written to since, or if there are no files, as in an
    archive: then no digest tells what code runs here.
    """
    modules = PACKAGE.modules()
    if not modules:
        raise ValueError("keep needs the sources of this package as files")
    digest = PACKAGE.digest(modules)
    # asked after they were read, so that they were not written to meanwhile either
    written = PACKAGE.written(PACKAGE.file(m) for m in modules)
    if written:
        raise ValueError(
            "keep needs the sources that this session imported; begin a new one, for "
            f"this file was written to since: {written[0]}"
        )
    return digest


@functools.cache
def need_code(digest: str) -> None:
    """Raise ValueError unless this process imported the sources with this digest: asked
    once."""
    here = imported_code()
    if here != digest:
        raise ValueError(
            f"keep needs workers with the session's sources, {digest}; got {here}"
        )


def kept_repetition(store: Path, *job):
    """`repetition` of a job, read from the folder `store` if it is kept there, else kept.

    store: named by the digest of the sources that the results come from.  Raises
    ValueError if this process, a worker that began later say, imported others.  Where the
    folder takes no more files, as on a full disk, it warns, and keeps nothing.
    """
    need_code(store.name)
    kept = need_module("joblib", "sweeps").Memory(store, verbose=0).cache(repetition)
    try:
        return kept(*job)
    except OSError as error:
        warnings.warn(f"not kept in {store}: {error.strerror}", stacklevel=2)
        return repetition(*job)


def threads() -> int:
    """Number of threads of the default pool: COMPANION_THREADS if set (a runner of
    several), else cores."""
    return int(os.environ.get("COMPANION_THREADS", 0)) or os.cpu_count() or 1


def parallel_map(task, jobs, executor=None):
    """[task(*job) for job in jobs], in this order: the one place that spreads work out.

    executor: a `concurrent.futures.Executor`, a Dask `Client`, or None for a thread pool
    over the cores (kernels run without the global lock).  Every job brings its own random
    stream, so the results do not depend on the executor.  If one fails, or at Ctrl-C,
    those not begun are cancelled; those under way on the default threads end at the next
    block of rounds (`go_on`), and nobody waits for them.
    """
    if executor is None:
        return _on_threads(task, jobs)
    submit = need_method("executor", executor, "submit").submit
    futures = [submit(task, *job) for job in jobs]
    try:
        return [f.result() for f in futures]
    except BaseException:
        for f in futures:
            f.cancel()
        raise


def _on_threads(task, jobs):
    """`parallel_map` on a pool of its own: the main thread waits, and hears Ctrl-C at
    once."""
    stop = threading.Event()
    workers = min(threads(), len(jobs))
    pool = ThreadPoolExecutor(workers, "repetitions", _begin_worker, (stop,))
    try:
        return parallel_map(task, jobs, pool)
    finally:
        stop.set()
        pool.shutdown(wait=False)


def _begin_worker(stop):
    WORKER.stop = stop


def go_on() -> None:
    """End this job if the others of its `parallel_map` have failed or were interrupted.

    Called between two kernels (`play_block` does): a kernel itself is not interrupted.
    """
    stop = getattr(WORKER, "stop", None)
    if stop is not None and stop.is_set():
        raise RuntimeError(
            "this repetition ends, because the run it belongs to has ended"
        )


def need_run(policies, T: int, seeds, grid):
    """(policies, T, seeds, grid) of `simulate`, checked: tuple, int, SeedSequences,
    rounds to T."""
    policies = need_members("policies", policies, Policy)
    T = need_int("T", T, 1)
    names = tuple(p.name for p in policies)
    if len(set(names)) < len(names):
        raise ValueError(f"policies must have distinct names; got {names}")
    for p in policies:
        need_rounds(p, T)
        need_method(f"play of {p.name!r}", p.loop)
    return (
        policies,
        T,
        need_seeds(seeds),
        even_grid(T) if grid is None else need_grid(grid, T),
    )


def need_seeds(seeds):
    """Seeds of repetitions as SeedSequences: integers >= 0 or SeedSequences, at least
    one."""
    whole = np.random.SeedSequence
    given = need_members("seeds", seeds)
    return [s if isinstance(s, whole) else whole(need_seed("seeds", s)) for s in given]


def as_result(policies, grid, runs) -> Result:
    """`Result` from one (regret (n_policies, n_grid), seconds (n_policies,)) per
    repetition."""
    return Result(
        names=tuple(p.name for p in policies),
        rounds=grid,
        regret=np.stack([regret for regret, _ in runs]),
        guarantees=tuple(p.guarantee for p in policies),
        seconds=np.stack([seconds for _, seconds in runs]),
    )


def need_grid(grid, T: int) -> np.ndarray:
    """The grid as increasing rounds that end with T; ValueError unless they lie in [1,
    T]."""
    grid = np.array(
        [need_int("grid", t, 1, T) for t in need_members("grid", grid)],
        np.int64,
    )
    if not (np.diff(grid) > 0).all():
        raise ValueError(f"grid must hold increasing rounds in [1, {T}]; got {grid}")
    return grid if grid[-1] == T else np.append(grid, T)


def trace(env, policy: Policy, T: int, seed, every: int):
    """Watch one repetition: yield (t, state, X, mu, arms) after every `every` rounds.

    t counts from 1; X (n, K, d), mu (n, K), arms (n,) are the rounds since the last
    yield, as far as they lie in one block.  The run is that of `simulate` with this seed
    (an integer or a SeedSequence), and refuses what `simulate` refuses.  The arrays of
    `state` are overwritten afterwards.
    """
    (policy,), T, (seed,), _ = need_run([policy], T, [seed], None)
    need_method("env", env, "blocks")
    every = need_int("every", every, 1)
    rng = stream(seed, policy.name)
    state = policy.init(policy.params)
    t = 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        _check_block(X, R, mu, (policy,), T - t)
        start = 0
        while start < len(X):
            n = min(len(X) - start, every - t % every)
            cut = slice(start, start + n)
            arms = np.empty(n, dtype=np.int64)
            play_block(policy, state, X[cut], R[cut], rng, arms)
            t = t + n
            start = start + n
            if t % every == 0:
                yield t, state, X[cut], mu[cut], arms


def play_block(policy: Policy, state, X, R, rng, arms) -> None:
    """Play the rounds of one block: `state` is changed in place, `arms` is written."""
    go_on()
    with interrupts_wait():
        returned = policy.loop(policy.params, state, X, R, rng, arms)
    need_nothing(policy.name, "play", returned)


def repetition(env, policies, T: int, seed, grid):
    """One repetition of checked arguments: (regret (n_policies, n_grid), seconds
    (n_policies,))."""
    rngs = [stream(seed, p.name) for p in policies]
    states = [p.init(p.params) for p in policies]
    regret = np.zeros((len(policies), len(grid)))
    total = np.zeros(len(policies))
    seconds = np.zeros(len(policies))
    played = 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        n = _check_block(X, R, mu, policies, T - played)
        best = mu.max(axis=1)
        here = (grid > played) & (grid <= played + n)
        for i, p in enumerate(policies):
            arms = np.empty(n, dtype=np.int64)
            begin = time.thread_time()
            play_block(p, states[i], X, R, rngs[i], arms)
            seconds[i] += time.thread_time() - begin
            if arms.min() < 0 or arms.max() >= R.shape[1]:
                raise ValueError(
                    f"policy {p.name!r} chose an arm outside 0..{R.shape[1] - 1}"
                )
            curve = total[i] + np.cumsum(best - mu[np.arange(n), arms])
            regret[i, here] = curve[grid[here] - played - 1]
            total[i] = curve[-1]
        played += n
    if played != T:
        raise ValueError(f"the environment must give T={T} rounds; got {played}")
    return regret, seconds


def _check_block(X, R, mu, policies, left):
    """Number of rounds of a block, at most `left`, after checking all that kernels rely
    on."""
    need_contexts(policies, X)
    if X.ndim != 3:
        raise ValueError(f"block X must have shape (n, K, d); got shape {X.shape}")
    need_block("block R", R, X.shape[:2])
    need_block("block mu", mu, X.shape[:2])
    if len(X) > left:
        raise ValueError(f"the environment must give T rounds; got {len(X) - left} more")
    return len(X)
