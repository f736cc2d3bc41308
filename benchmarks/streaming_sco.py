"""Streaming private optimisation: Algorithm 1, NoisySGD and Algorithm 3 against NumPy twins."""

import time

import numpy as np

from benchmarks.core import seconds
from companion.baselines.noisy_sgd import noisy_sgd
from companion.streaming_sco import flat, one_context, regression, sco_bandit, streaming_fw

N, T = 100_000, 10_000
LIMITS = {10: 0.03, 100: 0.15}  # seconds for N records at p = 1.5, 2, inf
OTHER = 0.5  # at other p


def twin(X, Y, p, radius, sigma, clip, rng):
    """Algorithm 1 with the tree, a loop over NumPy vectors; p is finite and above 1."""
    n, d = X.shape
    q, nodes = p / (p - 1), {}
    theta = old = total = np.zeros(d)
    for t in range(1, n + 1):
        x, y = X[t - 1], Y[t - 1]
        g = (2 * (t + 1) * (x @ theta - y) - 2 * t * (x @ old - y)) * x
        total = total + g * min(1.0, clip / max(np.linalg.norm(g), 1e-300))
        low = t & -t
        nodes = {k: v for k, v in nodes.items() if k > low}
        nodes[low] = sigma * rng.standard_normal(d)
        direction = (total + sum(nodes.values())) / (t + 1)
        v = np.abs(direction / np.abs(direction).max()) ** (q - 1)
        v *= -radius * np.sign(direction) / np.linalg.norm(v, p)
        old, theta = theta, theta + (v - theta) / (t + 1)
    return theta


def algorithm_1():
    """One run of N records, by dimension and geometry."""
    for d, limit in LIMITS.items():
        for p in (1.5, 2.0, np.inf, 3.0):
            X, Y = regression(p, flat(d, p)).records(N, np.random.default_rng(0))
            o = streaming_fw(d, N, 1.0, p=p, radius=2.0, label_bound=1.2)
            out, rng, q = np.empty((N, d)), np.random.default_rng(1), o.params

            def ours(o=o, X=X, Y=Y, out=out, rng=rng, q=q):
                o.run(q, o.init(q, rng), X, Y, rng, out)

            ours()
            slow = None
            if p == 1.5:
                few = slice(0, N // 20)
                args = X[few], Y[few], p, 2.0, q.sigma, q.clip, np.random.default_rng(1)
                slow = 20 * seconds(lambda args=args: twin(*args), 2, time.thread_time)
            said = f"at most {limit if p != 3.0 else OTHER} s of CPU"
            yield (
                f"Algorithm 1, n={N}, d={d}, p={p}",
                seconds(ours, 3, time.thread_time),
                slow,
                said,
            )


def rows():
    """Algorithm 1; a step of NoisySGD; a run of Algorithm 3."""
    yield from algorithm_1()
    d, n = 10, 1_000
    X, Y = regression(np.inf, flat(d, np.inf)).records(n, np.random.default_rng(0))
    sgd, rng, out = noisy_sgd(d, n, 1.0), np.random.default_rng(1), np.empty((1, d))

    def steps():
        sgd.run(sgd.params, sgd.init(sgd.params, rng), X, Y, rng, out)

    steps()
    spent = seconds(steps, 3, time.thread_time)
    yield f"NoisySGD, {n * n} steps, d={d}", spent, None, f"at most {0.2e-6 * n * n:.1f} s of CPU"
    blocks = list(one_context(5, 50, 5).blocks(T, np.random.default_rng(0)))
    for learner in ("tree", "gumbel"):
        policy = sco_bandit(50, 5, T, 1.0, learner=learner)

        def play(policy=policy):
            state = policy.init(policy.params)
            for A, R, _ in blocks:
                arms = np.empty(len(A), dtype=np.int64)
                state = policy.play(policy.params, state, A, R, rng, arms)

        play()
        spent = seconds(play, 3, time.thread_time)
        yield f"Algorithm 3, {learner}, T={T}, K=5, d=50", spent, None, "at most 0.25 s of CPU"
