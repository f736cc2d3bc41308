"""Streaming private optimisation and its NumPy twins: Algorithms 1 and 3, NoisySGD, Tables 2-4.

A twin runs a part of its work (its seconds are multiplied), and must end where our kernel ends.
"""

import time

import numpy as np

from benchmarks.core import seconds
from companion.baselines.noisy_sgd import noisy_sgd
from companion.report.published import published
from companion.simulate import repetitions
from companion.streaming_sco import (
    as_run,
    experiments,
    flat,
    one_context,
    regression,
    sco_bandit,
    streaming_fw,
)
from companion.streaming_sco.learner import noise_scale

N, T, STEPS = 100_000, 10_000, 1_000_000
LIMITS = {10: 0.03, 100: 0.15}  # seconds for N records at p = 1.5, 2, inf
OTHER = 0.5  # at other p


class Twin:
    """Algorithm 1 with the tree on NumPy vectors, record by record; p = 1, inf or between."""

    def __init__(self, p):
        self.p, self.nodes = p, {}
        self.theta = self.old = self.total = np.zeros(p.d)

    def step(self, t, x, y, rng):
        """Record t >= 1."""
        p = self.p
        g = (2 * (t + 1) * (x @ self.theta - y) - 2 * t * (x @ self.old - y)) * x
        size = np.linalg.norm(g, p.clip_norm)
        self.total = self.total + (g if size <= p.clip else g * (p.clip / size))
        v = self.vertex(t, rng)
        self.old, self.theta = self.theta, self.theta + (v - self.theta) / (t + 1)

    def vertex(self, t, rng):
        """The vertex for the released sum."""
        p, low = self.p, t & -t
        self.nodes = {k: z for k, z in self.nodes.items() if k > low}
        self.nodes[low] = p.sigma * rng.standard_normal(p.d)
        direction = (self.total + sum(self.nodes.values())) / (t + 1)
        if p.p == 1.0:
            here = np.arange(p.d) == np.abs(direction).argmax()
            return np.where(here, -p.radius * np.sign(direction), 0.0)
        if p.p == np.inf:
            return -p.radius * np.sign(direction)
        v = np.sign(direction) * np.abs(direction / np.abs(direction).max()) ** (p.q - 1)
        return -p.radius * v / np.linalg.norm(v, p.p)


class VertexTwin(Twin):
    """Algorithm 2 with Gumbel noise."""

    def vertex(self, t, rng):
        """The noisily best one: its coordinate and sign."""
        p, score = self.p, -self.p.radius * self.total / (t + 1)
        noise = -noise_scale(p, t) * np.log(rng.standard_exponential((p.d, 2)))
        j, negative = divmod(int((np.stack([score, -score], axis=1) + noise).argmax()), 2)
        return np.where(np.arange(p.d) == j, -p.radius if negative else p.radius, 0.0)


def agree(ours, theirs):
    """Raise AssertionError unless two parameters are the same but for rounding."""
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def algorithm_1():
    """One run of N records, by dimension and geometry."""
    for d, limit in LIMITS.items():
        for p in (1.5, 2.0, np.inf, 3.0):
            X, Y = regression(p, flat(d, p)).records(N, np.random.default_rng(0))
            o = streaming_fw(d, N, 1.0, p=p, radius=2.0, label_bound=1.2)
            out = np.empty((N, d))

            def ours(o=o, X=X, Y=Y, out=out, q=o.params):
                rng = np.random.default_rng(1)
                o.run(q, o.init(q, rng), X, Y, rng, out)

            def twin(q=o.params, X=X, Y=Y):
                other, rng = Twin(q), np.random.default_rng(1)
                for t in range(1, N // 20 + 1):
                    other.step(t, X[t - 1], Y[t - 1], rng)
                return other.theta

            ours()
            agree(out[N // 20 - 1], twin())
            slow = 20 * seconds(twin, 2, time.thread_time)
            most = limit if p != 3.0 else OTHER
            yield (f"Algorithm 1, n={N}, d={d}, p={p}", seconds(ours, 5, time.thread_time), slow,
                   f"at most {most} s of CPU")  # fmt: skip


def noisy_sgd_steps(p, X, Y, steps, rng):
    """NoisySGD over a box on NumPy vectors: the last iterate of `steps` steps."""
    theta = np.zeros(p.d)
    for _ in range(steps):
        j = rng.integers(0, p.n)
        g = 2 * (X[j] @ theta - Y[j]) * X[j] + p.sigma * rng.standard_normal(p.d)
        theta = np.clip(theta - p.eta * g, -p.radius, p.radius)
    return theta


def noisy_sgd_run():
    """(row, the twin's seconds per step) of NoisySGD."""
    d, n = 10, 1_000
    X, Y = regression(np.inf, flat(d, np.inf)).records(n, np.random.default_rng(0))
    sgd, out = noisy_sgd(d, n, 1.0, radius=2.0, label_bound=1.2), np.empty((1, d))

    def ours(p=sgd.params):
        rng = np.random.default_rng(1)
        sgd.run(p, sgd.init(p, rng), X, Y, rng, out)

    def twin(steps=STEPS // 20):
        return noisy_sgd_steps(sgd.params, X, Y, steps, np.random.default_rng(1))

    ours(sgd.params._replace(steps=STEPS // 20))
    agree(out[0], twin())
    each = seconds(twin, 2, time.thread_time) / (STEPS // 20)
    limit = f"at most {0.2e-6 * STEPS:.1f} s of CPU"
    spent = seconds(ours, 3, time.thread_time)
    return (f"NoisySGD, {STEPS} steps, d={d}", spent, STEPS * each, limit), each


def bandit_twin(kind, p, X, R, rng):
    """Algorithm 3 with twins of this kind in its arms: the arms (n,) of the first n rounds."""
    arms, forced = [kind(p.learner) for _ in range(p.K)], np.zeros((p.K, p.d))
    clocks, played = np.zeros(p.K, dtype=int), []
    for t, (rows, rewards) in enumerate(zip(X, R, strict=True)):
        x, free = rows[0], t >= p.K * p.t0
        arm = t // max(p.t0, 1)
        if free:
            near = forced @ x > (forced @ x).max() - 0.5 * p.gap
            arm = int(np.where(near, np.array([a.theta for a in arms]) @ x, -np.inf).argmax())
        for k in range(p.K) if free else [arm]:
            clocks[k] += 1
            seen = (x, np.clip(rewards[k], -p.learner.high, p.learner.high))
            arms[k].step(clocks[k], *(seen if k == arm else (np.zeros(p.d), 0.0)), rng)
        played.append(arm)
        if t + 1 == p.K * p.t0:
            forced = np.array([a.theta for a in arms])
    return np.array(played)


def bandits():
    """A run of Algorithm 3, by learner."""
    blocks = list(one_context(5, 50, 5).blocks(T, np.random.default_rng(0)))
    few = [np.concatenate([b[i] for b in blocks])[: T // 10] for i in (0, 1)]
    for learner, kind in (("tree", Twin), ("gumbel", VertexTwin)):
        policy = sco_bandit(50, 5, T, 1.0, learner=learner, label_bound=1.2)

        def ours(p=policy.params, policy=policy):
            state, rng, played = policy.init(p), np.random.default_rng(1), []
            for A, R, _ in blocks:
                played.append(np.empty(len(A), dtype=np.int64))
                state = policy.play(p, state, A, R, rng, played[-1])
            return np.concatenate(played)

        def twin(kind=kind, p=policy.params):
            return bandit_twin(kind, p, *few, np.random.default_rng(1))

        if (ours()[: T // 10] != twin()).mean() > 1e-3:  # rounding may break a near tie
            raise AssertionError("Algorithm 3 and its twin play different arms")
        slow = 10 * seconds(twin, 2, time.thread_time)
        yield (f"Algorithm 3, {learner}, T={T}, K=5, d=50", seconds(ours, 3, time.thread_time),
               slow, "at most 0.25 s of CPU")  # fmt: skip


def tables(each):
    """Tables 2 to 4 as the chapter computes them, on all cores; the twin, on one, is not run: it
    takes `each` second for every step of NoisySGD.
    """
    settings = [(n, d) for n in (1_000, 2_000) for d in (5, 10)]
    programs = {"Algorithm 1": as_run.algorithm1, "NoisySFW": as_run.noisy_sfw}
    rest = repetitions(1, 100), published("streaming_sco")["grids"], programs
    rows, begin, steps = experiments.ROWS, time.perf_counter(), 0
    experiments.table({"Algorithm 1": 100, "NoisySFW": 100}, rows, settings, 1.5, *rest)
    experiments.table({"Algorithm 1": 100}, rows, settings, np.inf, *rest)
    for reps, some in ((40, rows[:1]), (10, rows[1:])):
        found = experiments.table({"NoisySGD": reps}, some, settings, np.inf, *rest)
        steps += sum(reps * n * n * len(scales) for (*_, (n, _)), scales in found.items())
    spent = time.perf_counter() - begin
    name = "Tables 2 to 4, wall clock; NumPy: the steps of NoisySGD alone"
    return name, spent, steps * each, "at most 60 s on 2 cores"


def rows():
    """The rows of this file."""
    yield from algorithm_1()
    steps, each = noisy_sgd_run()
    yield steps
    yield from bandits()
    yield tables(each)
