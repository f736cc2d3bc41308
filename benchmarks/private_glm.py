"""Generalized linear bandits: a run of every policy, designs and fits, against NumPy twins.

A twin plays without noise, and must play the same arms.
"""

import time

import numpy as np

from benchmarks import glm_twins as numpy_twins
from benchmarks.core import play_blocks, seconds
from companion.baselines.ecolog import ecolog
from companion.baselines.glm_ucb import glm_ucb
from companion.kernels.glm import LOGISTIC
from companion.kernels.likelihood import fit, work_for
from companion.private_glm import joint_glm, paper_world, shuffle_glm, world
from companion.private_glm.design import optimal
from companion.private_glm.design import work_for as design_work
from companion.simulate import repetitions, simulate

SAME = 0.999  # share of rounds in which twins play our arm: rounding may break a near tie


def run(env, policy, T):
    """CPU seconds of one run, compiled, contexts included; the better of two."""
    simulate(env, [policy], min(T, 2000), repetitions(1, 1))
    return seconds(lambda: simulate(env, [policy], T, repetitions(2, 1)), 2, time.process_time)


def against(env, policy, twin, T):
    """(seconds of ours, of the twin) on T rounds that exist already."""
    blocks = list(env.blocks(T, np.random.default_rng(1)))
    X, R = (np.concatenate([b[i] for b in blocks]) for i in (0, 1))
    ours, theirs = play_blocks(policy, [(X, R, None)]), twin(policy.params, X, R)
    if (ours == theirs).mean() < SAME:
        raise AssertionError(f"{policy.name} and its twin play different arms")
    fast = seconds(lambda: play_blocks(policy, [(X, R, None)]))
    return fast, seconds(lambda: twin(policy.params, X, R), repeat=1)


def runs():
    """Policies at the paper's scale, with noise, against their limits."""
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
        yield name, run(env, policy, T), None, f"CPU seconds with contexts, at most {limit}"


def twins():
    """The same policies without noise, on streams that exist already, against their twins."""
    table, figure = paper_world(5000, 3, 2.0, "probit"), paper_world(15_000, 5, 3.5, "logistic")
    small = {"link": "probit", "theta_bound": 2.0, "kappa": table.kappa[0]}
    ball = world("ball", 3, 2.0)
    for name, env, policy, twin, T in (
        ("Joint-DP GLM, Table 2", table, joint_glm(3, 5000, np.inf, **small),
         numpy_twins.joint, 5000),
        ("GLM-UCB, logistic, T = 2000", ball, glm_ucb(3, 2000, theta_bound=2.0),
         numpy_twins.glm_ucb, 2000),
        ("ECOLog, T = 3000", figure, ecolog(5, theta_bound=3.5), numpy_twins.ecolog, 3000),
        ("ShuffleGLM, T = 20000", ball,
         shuffle_glm(3, 10, 20_000, np.inf, theta_bound=2.0), numpy_twins.shuffle, 20_000),
    ):  # fmt: skip
        yield f"{name}, no noise", *against(env, policy, twin, T), ""


def kernels():
    """A design and a fit."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 5))
    alive, pi, w = np.ones(20, np.int64), np.zeros(20), design_work(20, 5)

    def designs():
        for _ in range(1000):
            optimal(A, alive, 2.0, 500, pi, w)

    designs()
    slow = seconds(lambda: [numpy_twins.design(A) for _ in range(1000)], repeat=2)
    yield "1000 designs, 20 arms, d = 5", seconds(designs), slow, "at most 0.015 s"
    X = rng.standard_normal((5000, 5)) / 3
    y = (rng.random(5000) < 0.5).astype(float)
    work = work_for(5)

    def newton():
        fit(LOGISTIC, X, y, 5000, 0.25, 1e-8, np.zeros(5), work)

    newton()
    slow = seconds(lambda: numpy_twins.newton(X, y, 0.25, np.zeros(5)))
    yield "Newton fit of 5000 rows, d = 5", seconds(newton), slow, ""


def rows():
    """Runs, twins, kernels."""
    yield from runs()
    yield from twins()
    yield from kernels()
