"""Generalized linear bandits: designs and fits against NumPy twins; the twins of the policies.

Twins of private policies play without noise, beside ours without noise.
"""

import numpy as np
from companion.timing.roster import GLM, made

from benchmarks import glm_twins
from benchmarks.measure import Twin, beside
from companion.kernels.glm import LOGISTIC, fit, work_for
from companion.private_glm.shuffle_glm import optimal
from companion.private_glm.shuffle_glm import work_for as design_work

JOINT = made("joint_glm", "d", "T", epsilon=np.inf, **GLM)
SHUFFLE = made("shuffle_glm", "d", "K", "T", epsilon=np.inf, **GLM)
TWINS = {
    "gloc": Twin(glm_twins.gloc),
    "ecolog": Twin(glm_twins.ecolog),
    "glm_ucb": Twin(glm_twins.glm_ucb),
    "joint_glm": Twin(glm_twins.joint, 1000, JOINT),
    "shuffle_glm": Twin(glm_twins.shuffle, 1000, SHUFFLE),
}


def rows():
    """100 designs and a fit."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 5))
    alive, pi, w = np.ones(20, np.int64), np.zeros(20), design_work(20, 5)

    def designs():
        for _ in range(100):
            optimal(A, alive, 2.0, 500, pi, w)

    def designs_in_numpy():
        for _ in range(100):
            glm_twins.design(A)

    yield beside("100 designs, 20 arms, d = 5", designs, designs_in_numpy, 7.5)
    X = rng.standard_normal((5000, 5)) / 3
    y = (rng.random(5000) < 0.5).astype(float)
    work = work_for(5)
    yield beside(
        "Newton fit of 5000 rows, d = 5",
        lambda: fit(LOGISTIC, X, y, 5000, 0.25, 1e-8, np.zeros(5), work),
        lambda: glm_twins.newton(X, y, 0.25, np.zeros(5)),
        0.42,
    )
