"""All policies of the package, by name.

    from companion.policies import fliphat, jdp_linucb

`TABLE` maps each name to its factory and to the arguments of a small instance for the
common tests, or to a function of the number of arms K that gives them.  A new policy is a
file, its import, and a line in the table.  (`as` tells type checkers that a name may be
imported from here.)
"""

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
from companion.core import Entry, lookup
from companion.fliphat.fliphat import fliphat as fliphat
from companion.fliphat.fliphat import residual_fliphat as residual_fliphat
from companion.lplr.lplr import lplr as lplr
from companion.lplr.ssp import suffstats as suffstats
from companion.online_linucb.combiner import anytime_linucb as anytime_linucb
from companion.online_linucb.combiner import combiner as combiner
from companion.online_linucb.corrected_ridge import corrected_ridge as corrected_ridge
from companion.online_linucb.online_linucb import online_linucb as online_linucb
from companion.private_glm.joint_glm import joint_glm as joint_glm
from companion.private_glm.shuffle_glm import shuffle_glm as shuffle_glm
from companion.streaming_sco.sco_bandit import sco_bandit as sco_bandit

LINEAR = {"d": 3, "T": 400, "epsilon": 1.0, "delta": 0.1}
GLM = {"d": 3, "link": "probit", "theta_bound": 2.0, "kappa": 18.4}
SPARSE = {"d": 3, "T": 4000, "sparsity": 2, "epsilon": 5.0, "delta": 0.01}
JOINT = {"epsilon": 4.0, "delta": 0.02, "kappa": 6.0, "preset": "explore"}
SHUFFLE = {
    "epsilon": 8.0,
    "delta": 0.01,
    "theta_bound": 2.0,
    "first": 60,
    "gamma": 0.3,
    "steps": 5,
}
BINS = {"d": 3, "T": 400, "K": 4, "epsilon": 1.0, "n0": 8}
FORCED = {"d": 3, "T": 400, "epsilon": 20.0, "delta": 0.01, "learner": "gumbel"}


def _two_learners(K):
    """OnlineLinUCB at two widths beside its anytime form."""
    bases = [online_linucb(**LINEAR, width=w) for w in (1.0, 30.0)]
    return {"bases": [anytime_linucb(3, epsilon=1.0, delta=0.1), *bases], "T": 400}


TABLE = {
    "anytime_linucb": Entry(anytime_linucb, {"d": 3, "epsilon": 1.0, "delta": 0.1}),
    "combiner": Entry(combiner, _two_learners),
    "corrected_ridge": Entry(corrected_ridge, LINEAR),
    "ecolog": Entry(ecolog, {"d": 3, "theta_bound": 2.0}),
    "fliphat": Entry(fliphat, SPARSE | {"b_max": 1.0, "iteration_rate": 0.4}),
    "forced_lasso": Entry(forced_lasso, lambda K: {"d": 3, "K": K}),
    "glm_ucb": Entry(glm_ucb, GLM | {"T": 400}),
    "gloc": Entry(gloc, GLM),
    "jdp_linucb": Entry(jdp_linucb, LINEAR),
    "joint_glm": Entry(joint_glm, GLM | {"T": 400} | JOINT),
    "lasso_bandit": Entry(lasso_bandit, {"d": 3, "T": 4000, "penalty": 0.1, "every": 5}),
    "ldp_linucb": Entry(ldp_linucb, LINEAR),
    "linucb": Entry(linucb, {"d": 3, "noise": 0.5}),
    "lplr": Entry(lplr, BINS | {"gamma": 4.0, "threshold": 0.0}),
    "online_linucb": Entry(online_linucb, LINEAR),
    "random": Entry(random, {}),
    "residual_fliphat": Entry(residual_fliphat, SPARSE | {"warm_start": True}),
    "rs_glinucb": Entry(rs_glinucb, GLM | {"T": 400}),
    "sco_bandit": Entry(sco_bandit, lambda K: FORCED | {"K": K, "t0": min(20, 200 // K)}),
    "sdp_linucb": Entry(sdp_linucb, LINEAR),
    "shuffle_glm": Entry(shuffle_glm, lambda K: SHUFFLE | {"d": 3, "K": K, "T": 400}),
    "suffstats": Entry(suffstats, BINS),
}

factory, example = lookup(TABLE)
