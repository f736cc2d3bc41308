"""Generalized linear bandits: a run of every policy, design and fit against NumPy twins."""

import time

import numpy as np

from benchmarks.core import seconds
from companion.baselines.ecolog import ecolog
from companion.baselines.glm_ucb import glm_ucb
from companion.glm import LOGISTIC
from companion.likelihood import fit, work_for
from companion.private_glm import joint_glm, paper_world, shuffle_glm, world
from companion.private_glm.design import optimal
from companion.private_glm.design import work_for as design_work
from companion.simulate import repetitions, simulate


def fit_twin(X, y, penalty, theta):
    """Newton's method on the logistic likelihood, array by array."""
    for _ in range(20):
        m = 1.0 / (1.0 + np.exp(-X @ theta))
        g = X.T @ (m - y) + 2.0 * penalty * theta
        H = (X.T * (m * (1.0 - m))) @ X + 2.0 * penalty * np.eye(X.shape[1])
        step = np.linalg.solve(H, g)
        theta = theta - step
        if g @ step < 1e-8:
            return theta
    return theta


def design_twin(A, tolerance=2.0):
    """Wynn's algorithm with matrix inverses."""
    pi = np.full(len(A), 1.0 / len(A))
    while True:
        g = np.einsum("ki,ij,kj->k", A, np.linalg.inv(A.T @ (pi[:, None] * A)), A)
        k = int(g.argmax())
        if g[k] <= tolerance * A.shape[1]:
            return pi
        s = (g[k] / A.shape[1] - 1.0) / (g[k] - 1.0)
        pi *= 1.0 - s
        pi[k] += s


def run(env, policy, T):
    """CPU seconds of one run, compiled, contexts included."""
    simulate(env, [policy], T, repetitions(1, 1))
    begin = time.process_time()
    simulate(env, [policy], T, repetitions(2, 1))
    return time.process_time() - begin


def rows():
    """Policies at the paper's scale, then the kernels."""
    table, figure = paper_world(5000, 3, 2.0, "probit"), paper_world(15_000, 5, 3.5, "logistic")
    small = {"link": "probit", "theta_bound": 2.0, "kappa": table.kappa[0]}
    large = {"theta_bound": 3.5, "kappa": figure.kappa[0]}
    for name, env, policy, T, limit in (
        ("Joint-DP GLM, Table 2", table, joint_glm(3, 5000, 4.0, **small), 5000, "0.06 s"),
        ("Joint-DP GLM, Figure 1a", figure, joint_glm(5, 15_000, 4.0, **large), 15_000, "0.25 s"),
        ("GLM-UCB, Table 2", table, glm_ucb(3, 5000, **small), 5000, "2.5 s"),
        ("ECOLog, Figure 1a", figure, ecolog(5, theta_bound=3.5), 15_000, "0.2 s"),
        ("ShuffleGLM, T = 1e6", world("ball", 3, 2.0),
         shuffle_glm(3, 10, 10**6, 1.0, theta_bound=2.0), 10**6, "2 s"),
    ):  # fmt: skip
        yield name, run(env, policy, T), None, f"CPU seconds, at most {limit}"
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 5))
    alive, pi, w = np.ones(20, np.int64), np.zeros(20), design_work(20, 5)

    def designs():
        for _ in range(1000):
            optimal(A, alive, 2.0, 500, pi, w)

    designs()
    slow = seconds(lambda: [design_twin(A) for _ in range(1000)], repeat=2)
    yield "1000 designs, 20 arms, d = 5", seconds(designs), slow, "at most 0.015 s"
    X = rng.standard_normal((5000, 5)) / 3
    y = (rng.random(5000) < 0.5).astype(float)
    work = work_for(5)

    def newton():
        fit(LOGISTIC, X, y, 5000, 0.25, 1e-8, np.zeros(5), work)

    newton()
    slow = seconds(lambda: fit_twin(X, y, 0.25, np.zeros(5)))
    yield "Newton fit of 5000 rows, d = 5", seconds(newton), slow, ""
