"""Recipes of the arena: the arguments of every factory for a world, or why it cannot play there.

A recipe takes a `World`, rounds, epsilon and the multiple of the policy's one tuned number, and
gives the arguments, or the reason in words.  `arena.call` makes policies of them.
"""

import math
from typing import NamedTuple

from companion import catalogue

LONGEST = {  # rounds up to which the budget of the page lets the slower policies play
    "anytime_linucb": 5_000, "combiner": 5_000, "lplr": 5_000, "suffstats": 5_000,
    "lasso_bandit": 5_000, "glm_ucb": 5_000, "online_linucb": 50_000, "joint_glm": 50_000,
    "shuffle_glm": 50_000, "rs_glinucb": 50_000, "ecolog": 50_000, "fliphat": 50_000,
    "residual_fliphat": 50_000,
}  # fmt: skip
DENSE = 20  # largest dimension for what inverts a matrix in every round
LONGEST_DENSE = 5_000  # rounds for the others beyond it

# The one number of a policy that is tuned, as multiples of its default (or of the world's value).
NUMBERS = {
    **dict.fromkeys(["linucb", "ldp_linucb", "jdp_linucb", "sdp_linucb", "corrected_ridge",
                     "online_linucb", "anytime_linucb", "joint_glm"], "width"),
    "combiner": "widths of the two base learners", "lplr": "z", "suffstats": "z",
    "fliphat": "x_max", "residual_fliphat": "residual_clip", "lasso_bandit": "penalty",
    "forced_lasso": "gap", "sco_bandit": "gap", "shuffle_glm": "gamma",
}  # fmt: skip


class Text(NamedTuple):
    """An argument with the text that a reader would write for it."""

    value: object
    text: str


class Call(NamedTuple):
    """A factory with its arguments."""

    factory: str
    arguments: dict

    def policy(self):
        """The policy that the call makes."""
        plain = {k: v.value if isinstance(v, Text) else v for k, v in self.arguments.items()}
        return catalogue.policies()[self.factory].factory(**plain)

    def __str__(self):
        said = ", ".join(
            f"{k}={v.text if isinstance(v, Text) else _spoken(v)}"
            for k, v in self.arguments.items()
        )
        return f"{self.factory}({said})"


def _spoken(value):
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def private(w, T, e):
    """Arguments that all approximately private linear policies share."""
    return {"d": w.d, "T": T, "epsilon": e, "delta": Text(1.0 / T, f"1/{T}"),
            "universe": w.universe}  # fmt: skip


def _random(w, T, e, m):
    return {}


def _linucb(w, T, e, m):
    if w.d > DENSE and T > LONGEST_DENSE:
        return f"multiplies {w.d} by {w.d} matrices: too slow here beyond T = {LONGEST_DENSE:,}"
    return {"d": w.d, "noise": w.noise, "theta_bound": w.theta_bound, "width": m}


def _ridge(w, T, e, m):
    if w.d > DENSE:
        return f"inverts a {w.d} by {w.d} matrix in every round"
    return private(w, T, e) | {"noise": w.noise, "theta_bound": w.theta_bound, "width": m}


def _shuffled(w, T, e, m):
    if w.d > DENSE and T > LONGEST_DENSE:
        return f"sends {w.d}^2/2 numbers a user: too slow here beyond T = {LONGEST_DENSE:,}"
    ridge = {"noise": w.noise, "theta_bound": w.theta_bound, "width": m}
    return private(w, T, e) | {"batch": round(math.sqrt(T))} | ridge


def _default_width(w, T, e):
    policy = catalogue.policies()["online_linucb"].factory(w.d, T, e, 1.0 / T, universe=w.universe)
    return policy.params.width


def _online(w, T, e, m):
    if w.d > DENSE and T > LONGEST_DENSE:
        return f"multiplies {w.d} by {w.d} matrices: too slow here beyond T = {LONGEST_DENSE:,}"
    width = {} if m == 1.0 else {"width": m * _default_width(w, T, e)}
    fast = {"learner": "ogd"} if w.d > DENSE else {}  # 19 experts would multiply such matrices each
    return private(w, T, e) | {"ball": w.theta_bound} | fast | width


def _anytime(w, T, e, m):
    if w.d > DENSE:
        return f"its experts multiply {w.d} by {w.d} matrices in every round"
    given = {k: v for k, v in private(w, T, e).items() if k != "T"} | {"ball": w.theta_bound}
    if m == 1.0:
        return given
    text = f"lambda sigma, T: {10 * m:g} * sigma * math.sqrt(math.log(T))"
    wide = Text(lambda sigma, n: 10.0 * m * sigma * math.sqrt(math.log(n)), text)
    return given | {"width": wide}


def _combiner(w, T, e, m):
    if w.d > DENSE:
        return f"its learners multiply {w.d} by {w.d} matrices each; one of them plays alone"
    fast = {"learner": "ogd"}  # it runs every base learner, and 19 experts each would be slow
    bases = [Call("online_linucb", _online(w, T, e, a) | fast) for a in (m, 0.1 * m)]
    made = [c.policy() for c in bases]
    return {"bases": Text(made, f"[{', '.join(map(str, bases))}]"), "T": T}


def _eliminating(w, T, e, m):
    if w.d > 2:
        return "asks for bins of bins, M^d of them: too slow here beyond d = 2"
    return {"d": w.d, "T": T, "K": w.K, "epsilon": e, "z": 3.0 * m}


def _ssp(w, T, e, m):
    if w.d > 2:
        return "solves a system for every epoch and arm: too slow here beyond d = 2"
    return {"d": w.d, "T": T, "K": w.K, "epsilon": e, "z": 3.0 * m}


def _sparse(w, T, e):
    return {"d": w.d, "T": T, "sparsity": w.sparsity or w.d, "epsilon": e,
            "delta": Text(1.0 / T, f"1/{T}")}  # fmt: skip


def _fliphat(w, T, e, m):
    known = {"b_max": w.l1_bound, "x_max": m * w.largest, "noise": w.noise, "iteration_rate": 0.4}
    return _sparse(w, T, e) | known


def _residual(w, T, e, m):
    return _sparse(w, T, e) | {"residual_clip": m, "iterations": 1, "l1_radius": w.l1_bound}


def _lasso(w, T, e, m):
    return {"d": w.d, "T": T, "penalty": m, "every": 50}


def _one_context(w, m):
    return "" if w.common else "takes one context per round and learns a parameter for each arm"


def _forced(w, T, e, m):
    return _one_context(w, m) or {"d": w.p, "K": w.K, "gap": m}


def _streaming(w, T, e, m):
    known = {"d": w.p, "K": w.K, "T": T, "epsilon": e, "delta": Text(1.0 / T, f"1/{T}")}
    return _one_context(w, m) or known | {"gap": m, "clip": 1.0, "t0": T // (20 * w.K)}


def _model(w, m, **given):
    if w.link == "linear":
        return "its rewards are clicks with a logistic mean"
    return {"d": w.d, **given, "link": w.link, "theta_bound": w.theta_bound}


def _rows(w, T, e, m):
    return _model(w, m, T=T)


def _ecolog(w, T, e, m):
    found = _model(w, m)
    return found if isinstance(found, str) else {k: v for k, v in found.items() if k != "link"}


def _joint_glm(w, T, e, m):
    found = _model(w, m, T=T, epsilon=e, delta=Text(1.0 / T, f"1/{T}"))
    return found if isinstance(found, str) else found | {"width": 0.5 * m}


def _shuffle_glm(w, T, e, m):
    found = _model(w, m, K=w.K, T=T, epsilon=e, delta=Text(1.0 / T, f"1/{T}"))
    return found if isinstance(found, str) else found | {"gamma": m * max(1.0, e**-0.5)}


RECIPES = {
    "random": _random, "linucb": _linucb, "ldp_linucb": _ridge, "jdp_linucb": _ridge,
    "sdp_linucb": _shuffled, "corrected_ridge": _ridge, "online_linucb": _online,
    "anytime_linucb": _anytime, "combiner": _combiner, "lplr": _eliminating, "suffstats": _ssp,
    "fliphat": _fliphat, "residual_fliphat": _residual, "lasso_bandit": _lasso,
    "forced_lasso": _forced, "sco_bandit": _streaming, "ecolog": _ecolog,
    "gloc": lambda w, T, e, m: _model(w, m), "glm_ucb": _rows,
    "rs_glinucb": _rows, "joint_glm": _joint_glm, "shuffle_glm": _shuffle_glm,
}  # fmt: skip
COMMON = {"forced_lasso", "sco_bandit"}  # play `World.common`
