"""What the arena's settings say about each policy, and about each paper's own policies."""

import numpy as np

from companion import policies
from companion.arena import recipes

REPAIRS = ("corrected_ridge", "residual_fliphat")  # policies of this book, not of a paper


def roster(settings):
    """A row for every policy of the package: where it plays, what is tuned, why not elsewhere."""
    rows = []
    for name in policies.TABLE:
        runs = [s.runs[name] for s in settings if name in s.runs]
        why = {s.refusals[name] for s in settings if name in s.refusals}
        rows.append(
            {
                "policy": name,
                "model": runs[0].model if runs else "",
                "worlds": len({s.world for s in settings if name in s.runs}),
                "tuned": recipes.recipe(name).tuned or "nothing",
                "chosen at an end": f"{sum(r.edge for r in runs)} of {len(runs)}",
                "elsewhere": "; ".join(sorted(why)),
            }
        )
    return rows


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


def constants(settings):
    """A row for every policy that plays: its call with default constants in the first setting of
    the largest horizon it plays, what was set by hand, and every number that its kernels read."""
    rows = []
    for name in policies.TABLE:
        played = [s for s in settings if name in s.runs]
        if played:
            s = max(played, key=lambda s: s.T)
            call = s.runs[name].default_call
            rows.append(
                {
                    "policy": name,
                    "setting": f"{s.world}, T = {s.T:,}, ε = {s.epsilon:g}",
                    "call": str(call),
                    "set by hand": HAND.get(name, ""),
                    "all constants": ", ".join(numbers(call.policy().params)),
                }
            )
    return rows


def numbers(params, prefix: str = ""):
    """ "name = value" of every number and every constant array in Params, nested ones included."""
    said = []
    for name, value in params._asdict().items():
        if hasattr(value, "_fields"):
            said += numbers(value, f"{prefix}{name}.")
        elif isinstance(value, (bool, int, float, np.generic)):
            said.append(f"{prefix}{name} = {value:.4g}")
        elif isinstance(value, np.ndarray) and value.size and (value == value.flat[0]).all():
            said.append(f"{prefix}{name} = {value.flat[0]:.4g}, everywhere")
        elif isinstance(value, np.ndarray) and value.size:
            said.append(f"{prefix}{name} from {value.min():.4g} to {value.max():.4g}")
    return said


def record(settings, own, model: str):
    """(settings that the policies `own` win, number lost, number played).

    Rivals are the published policies of the trust model: REPAIRS do not compete.  Won: shown, as
    `Setting.leader` has it, with the intervals widened for all settings.
    """
    won, lost, played = [], 0, [s for s in settings if set(own) & set(s.runs)]
    for s in played:
        names = [n for n in s.of(model) if n not in REPAIRS]
        rivals = set(names) - set(own)
        first, close = s.leader(names, looks=len(settings))
        if first in own and rivals and not set(close) & rivals:
            won.append(s)
        lost += first not in own and not set(close) & set(own)
    return won, lost, len(played)
