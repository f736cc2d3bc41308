"""What a policy promises, and what is rebuilt of it from its running kernels.

A promise is *measured* where the policy's audit offers instances and the laboratory's interval
holds it; *refuted* where the interval lies above it, where others see more than the declared
releases, or where noise has another law.  Without instances it is "promised, not measured".
"""

import inspect

import numpy as np

from companion.audits.laboratory import measure
from companion.audits.measures import ALARM
from companion.audits.neighbours import Leak
from companion.judge.streams import same_state
from companion.judge.subject import GUESSES

ASKED = (0.5, 1.0, 2.0)  # budgets for which instances are made
NOT_MEASURED = "promised, not measured"


def promised(subject):
    """The example's guarantee as plain data, and how many instances its audit offers."""
    g = subject.policy.guarantee
    return plain(g) | {"title": subject.policy.name, "factory": subject.name,
                       "disclosures": len(declared(subject)), "tuned": subject.tuned}  # fmt: skip


def plain(g):
    """A `Guarantee` as a dict of plain data; infinite numbers as text."""
    return {"said": str(g), "model": g.model, "epsilon": number(g.epsilon),
            "delta": number(g.delta), "neighbours": g.neighbours, "unit": g.unit}  # fmt: skip


def number(value):
    """A float as JSON holds it: "inf" and "nan" are texts."""
    return float(value) if np.isfinite(value) else str(float(value))


def declared(subject):
    """The `AuditInstance`s of the policy's audit, a tuple, empty where there are none."""
    return tuple(subject.policy.audit.measured())


def asked(subject):
    """What the factory promises for the budgets `ASKED`: {"follows": True, False or None, "said"}.

    A guarantee that is typed by hand does not follow the budget; noise that does not change with
    the budget shows in Params that are the same for all of them.
    """
    taken = inspect.signature(subject.factory).parameters if subject.factory else {}
    needed = [n for n, p in taken.items() if p.default is p.empty and n not in GUESSES]
    if "epsilon" not in taken or needed:
        return {"follows": None, "said": "the factory takes no budget that the judge can vary"}
    told = {n: v for n, v in GUESSES.items() if n in taken}
    made = [subject.factory(**told | {"epsilon": e}) for e in ASKED]
    got = [p.guarantee.epsilon for p in made]
    text = ", ".join(f"{g:.3g} for {e:g}" for g, e in zip(got, ASKED, strict=True))
    if any(g > e * (1 + 1e-9) for g, e in zip(got, ASKED, strict=True)):
        return {"follows": False, "said": f"it promises less privacy than it is asked for: {text}"}
    if len(set(got)) == 1:
        return {"follows": False, "said": f"the guarantee does not follow the budget: {text}"}
    if same_state(made[0].params, made[-1].params):
        return {
            "follows": False,
            "said": "the budget changes no parameter: the noise cannot follow",
        }
    return {"follows": True, "said": f"the guarantee follows the budget: {text}"}


def measured(subject, number_of):
    """The instance of this number through the laboratory: a dict with "holds" True, False or None
    (more private than promised), the interval, and what was found in words."""
    case = declared(subject)[number_of]
    g = case.policy.guarantee
    row = {"promise": number(g.epsilon), "delta": number(g.delta)}
    try:
        found = measure(case)
    except Leak as leak:
        return row | {"holds": False, "said": str(leak)}
    row |= {"low": number(found.low), "high": number(found.high),
            "movement": number(found.movement), "releases": int(found.releases),
            "noise": number(found.noise)}  # fmt: skip
    holds, words = verdict(g.epsilon, found)
    return row | {"holds": holds, "said": words}


def verdict(epsilon: float, found):
    """(True, False or None, words) of a promise beside a `Measured`."""
    if found.bounded == (epsilon == np.inf):
        said = "is limited, though nothing is promised" if found.bounded else "has no limit"
        return found.bounded and None, f"what records far outside the universe can move {said}"
    if not found.chance > ALARM:
        return False, f"the noise has not the declared law (p-value {found.chance:.1g})"
    span = f"[{found.low:.3g}, {found.high:.3g}]"
    if found.low > epsilon + 1e-9:
        return False, f"epsilon = {span} is measured, {epsilon:.3g} is promised"
    if epsilon > found.high + 1e-9:
        return None, f"more private than promised: {span} is measured, {epsilon:.3g} promised"
    return True, f"epsilon = {epsilon:.3g} lies in the measured {span}"
