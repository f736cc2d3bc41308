"""Streaming private optimisation: Algorithm 1 by geometry, and twins on NumPy vectors."""

import numpy as np

from benchmarks.measure import Twin, beside
from companion.streaming_sco.environments import flat, regression
from companion.streaming_sco.streaming import streaming_fw

N, PART = 20_000, 0.05  # records; the part of them that a twin reads
FASTER = {  # dimension: {p: how many times faster than NumPy at least}
    10: {1.5: 55.0, 2.0: 52.0, np.inf: 44.0, 3.0: 25.0},
    100: {1.5: 12.0, 2.0: 10.0, np.inf: 8.5, 3.0: 4.0},
}


class Tree:
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


def learned(kind, p, X, Y, rng, n=None):
    """The parameter after n records (None: all)."""
    other = kind(p)
    for t in range(n or len(X)):
        other.step(t + 1, X[t], Y[t], rng)
    return other.theta


def tree(p, X, Y, rng):
    """Algorithm 1: the last parameter."""
    return learned(Tree, p, X, Y, rng)


def noisy_sgd(p, X, Y, rng):
    """NoisySGD: the last iterate."""
    theta = np.zeros(p.d)
    for _ in range(p.steps):
        j = rng.integers(0, p.n)
        g = 2 * (X[j] @ theta - Y[j]) * X[j] + p.sigma * rng.standard_normal(p.d)
        theta = np.clip(theta - p.eta * g, -p.radius, p.radius)
    return theta


def sco_bandit(p, X, R, rng):
    """Algorithm 3 with Algorithm 1 in its arms: arms (n,)."""
    arms, forced = [Tree(p.learner) for _ in range(p.K)], np.zeros((p.K, p.d))
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


TWINS = {
    "sco_bandit": Twin(sco_bandit),
    "streaming_fw": Twin(tree, 1000),
    "noisy_sgd": Twin(noisy_sgd, 60),
}


def rows():
    """Algorithm 1 on N records, by dimension and geometry."""
    for d, limits in FASTER.items():
        for p, least in limits.items():
            X, Y = regression(p, flat(d, p)).records(N, np.random.default_rng(0))
            o, out = streaming_fw(d, N, 1.0, p=p, radius=2.0, label_bound=1.2), np.empty((N, d))

            def ours(o=o, X=X, Y=Y, out=out):
                rng = np.random.default_rng(1)
                o.run(o.params, o.init(o.params, rng), X, Y, rng, out)

            def twin(q=o.params, X=X, Y=Y):
                return learned(Tree, q, X, Y, np.random.default_rng(1), int(PART * N))

            ours()
            np.testing.assert_allclose(out[int(PART * N) - 1], twin(), atol=1e-6)
            yield beside(f"Algorithm 1, n={N}, d={d}, p={p}", ours, twin, least, PART)
