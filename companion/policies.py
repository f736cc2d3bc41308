"""All policies of the package, by name.

    from companion.policies import fliphat, jdp_linucb

A module is imported when its policy is first asked for.  `TABLE` maps each name to the module of its
factory and to a small instance for the common tests: a function of the factory and a number of
arms K, which most ignore.  A new policy is a file, and a line here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from companion.core import Entry

if TYPE_CHECKING:  # for editors and type checkers
    from companion.baselines.ecolog import ecolog as ecolog
    from companion.baselines.forced_lasso import forced_lasso as forced_lasso
    from companion.baselines.glm_ucb import glm_ucb as glm_ucb
    from companion.baselines.gloc import gloc as gloc
    from companion.baselines.jdp_linucb import jdp_linucb as jdp_linucb
    from companion.baselines.lasso_bandit import lasso_bandit as lasso_bandit
    from companion.baselines.ldp_linucb import ldp_linucb as ldp_linucb
    from companion.baselines.linucb import linucb as linucb
    from companion.baselines.random import random as random
    from companion.baselines.rs_glinucb import rs_glinucb as rs_glinucb
    from companion.baselines.sdp_linucb import sdp_linucb as sdp_linucb
    from companion.fliphat.policy import fliphat as fliphat
    from companion.fliphat.residual import residual_fliphat as residual_fliphat
    from companion.lplr.policy import lplr as lplr
    from companion.lplr.ssp import suffstats as suffstats
    from companion.online_linucb.anytime import anytime_linucb as anytime_linucb
    from companion.online_linucb.combiner import combiner as combiner
    from companion.online_linucb.corrected_ridge import corrected_ridge as corrected_ridge
    from companion.online_linucb.policy import online_linucb as online_linucb
    from companion.private_glm.joint_glm import joint_glm as joint_glm
    from companion.private_glm.shuffle_glm import shuffle_glm as shuffle_glm
    from companion.streaming_sco.policy import sco_bandit as sco_bandit


def _two_learners(combiner, K):
    """OnlineLinUCB at two widths beside its anytime form."""
    bases = [factory("online_linucb")(3, 400, epsilon=1.0, delta=0.1, width=w) for w in (1.0, 30.0)]
    return combiner([factory("anytime_linucb")(3, epsilon=1.0, delta=0.1), *bases], 400)


TABLE = {
    "anytime_linucb": Entry(
        "companion.online_linucb.anytime", lambda f, K: f(3, epsilon=1.0, delta=0.1)
    ),
    "combiner": Entry("companion.online_linucb.combiner", _two_learners),
    "corrected_ridge": Entry(
        "companion.online_linucb.corrected_ridge", lambda f, K: f(3, 400, epsilon=1.0, delta=0.1)
    ),
    "ecolog": Entry("companion.baselines.ecolog", lambda f, K: f(3, theta_bound=2.0)),
    "fliphat": Entry(
        "companion.fliphat.policy",
        lambda f, K: f(3, 4000, sparsity=2, epsilon=5.0, delta=0.01, b_max=1.0, iteration_rate=0.4),
    ),
    "forced_lasso": Entry("companion.baselines.forced_lasso", lambda f, K: f(3, K)),
    "glm_ucb": Entry(
        "companion.baselines.glm_ucb",
        lambda f, K: f(3, 400, link="probit", theta_bound=2.0, kappa=18.4),
    ),
    "gloc": Entry(
        "companion.baselines.gloc", lambda f, K: f(3, link="probit", theta_bound=2.0, kappa=18.4)
    ),
    "jdp_linucb": Entry(
        "companion.baselines.jdp_linucb", lambda f, K: f(3, 400, epsilon=1.0, delta=0.1)
    ),
    "joint_glm": Entry(
        "companion.private_glm.joint_glm",
        lambda f, K: f(
            3,
            400,
            epsilon=4.0,
            delta=0.02,
            link="probit",
            theta_bound=2.0,
            kappa=6.0,
            preset="explore",
        ),
    ),
    "lasso_bandit": Entry(
        "companion.baselines.lasso_bandit", lambda f, K: f(3, 4000, penalty=0.1, every=5)
    ),
    "ldp_linucb": Entry(
        "companion.baselines.ldp_linucb", lambda f, K: f(3, 400, epsilon=1.0, delta=0.1)
    ),
    "linucb": Entry("companion.baselines.linucb", lambda f, K: f(3, noise=0.5)),
    "lplr": Entry(
        "companion.lplr.policy",
        lambda f, K: f(3, 400, 4, epsilon=1.0, n0=8, gamma=4.0, threshold=0.0),
    ),
    "online_linucb": Entry(
        "companion.online_linucb.policy", lambda f, K: f(3, 400, epsilon=1.0, delta=0.1)
    ),
    "random": Entry("companion.baselines.random", lambda f, K: f()),
    "residual_fliphat": Entry(
        "companion.fliphat.residual",
        lambda f, K: f(3, 4000, sparsity=2, epsilon=5.0, delta=0.01, warm=True),
    ),
    "rs_glinucb": Entry(
        "companion.baselines.rs_glinucb",
        lambda f, K: f(3, 400, link="probit", theta_bound=2.0, kappa=18.4),
    ),
    "sco_bandit": Entry(
        "companion.streaming_sco.policy",
        lambda f, K: f(3, K, 400, epsilon=20.0, delta=0.01, t0=min(20, 200 // K), learner="gumbel"),
    ),
    "sdp_linucb": Entry(
        "companion.baselines.sdp_linucb", lambda f, K: f(3, 400, epsilon=1.0, delta=0.1)
    ),
    "shuffle_glm": Entry(
        "companion.private_glm.shuffle_glm",
        lambda f, K: f(
            3, K, 400, epsilon=8.0, delta=0.01, theta_bound=2.0, first=60, gamma=0.3, steps=5
        ),
    ),
    "suffstats": Entry("companion.lplr.ssp", lambda f, K: f(3, 400, 4, epsilon=1.0, n0=8)),
}


def factory(name: str):
    """The factory of a policy; ValueError unless `TABLE` has the name."""
    if name not in TABLE:
        raise ValueError(f"name must be one of {', '.join(TABLE)}; got {name!r}")
    return getattr(importlib.import_module(TABLE[name].module), name)


def example(name: str, K: int = 4):
    """A small instance of a policy, for K arms if it needs a number of arms."""
    return TABLE[name].example(factory(name), K)


def __getattr__(name):
    if name in TABLE:
        return factory(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*TABLE, "TABLE", "example", "factory"])
