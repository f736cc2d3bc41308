"""What the arena's settings say about each policy of the package."""

import inspect
import re

from companion import policies
from companion.arena.recipes import RECIPES

HAND = {  # constants that no rule of the page gives, and where they come from
    "joint_glm": "preset tight: found on other seeds, in the world of its chapter",
    "sdp_linucb": "batch: the square root of T",
    "sco_bandit": "clip 1: a bound on its gradients; t0: five rounds in a hundred are forced",
    "combiner": "two learners by gradient descent, one a tenth as wide as the other",
    "lasso_bandit": "every 50: rounds between two fits, for speed",
    "fliphat": "iteration_rate: the default, or the least at which the last release takes a step",
    "online_linucb": "learner ogd beyond d = 20, for speed",
    "lplr": "z 3: standard deviations in a half-width",
    "suffstats": "z 3: standard deviations in a half-width",
}


def summary(settings):
    """A row for every policy of the package: what it is, where it plays, why not elsewhere."""
    rows = []
    for name in policies.TABLE:
        runs = [s.runs[name] for s in settings if name in s.runs]
        what, *_ = (inspect.getdoc(policies.factory(name)) or "").split("\n\n")
        rows.append({
            "policy": name,
            "what it is": re.sub(r"[\s`]+", " ", what).strip(),
            "model": policies.example(name).guarantee.model,
            "worlds": len({s.world for s in settings if name in s.runs}),
            "tuned": (RECIPES[name].tuned if name in RECIPES else "") or "nothing",
            "chosen at an end": f"{sum(r.edge for r in runs)} of {len(runs)}",
            "elsewhere": "; ".join(sorted({s.refusals.get(name, "") for s in settings} - {""})),
        })  # fmt: skip
    return rows


def constants(settings):
    """A row for every policy that plays: its call with default constants in the first setting of
    the largest horizon it plays, and what was set by hand."""
    rows = []
    for name in policies.TABLE:
        if played := [s for s in settings if name in s.runs]:
            s = max(played, key=lambda s: s.T)
            rows.append({
                "policy": name,
                "setting": f"{s.world}, T = {s.T:,}, ε = {s.epsilon:g}",
                "call": str(s.runs[name].default_call),
                "set by hand": HAND.get(name, ""),
            })  # fmt: skip
    return rows
