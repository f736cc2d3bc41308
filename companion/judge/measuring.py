"""What a policy promises, and what is rebuilt of it from its running kernels.

A promise is *measured* where the policy's audit says what is shown (`AuditSpec.shown`, or instances
of its own) and the measured interval holds it; *refuted* where the interval lies above it, where
others see more than the declared releases, or where noise has another law.
"""

import numpy as np

from companion.accounting.audit import AuditInstance
from companion.audits.neighbours import filler
from companion.audits.noise_laws import measure, verdict
from companion.audits.recording import Leak, NotMeasured, Recorder
from companion.core import horizon
from companion.judge.streams import same_state

ASKED = (0.5, 1.0, 2.0)  # budgets for which instances are made
# quick: (d, epsilon) that are measured, too
OTHER = {True: ((5, 4.0),), False: ((5, 4.0), (2, 0.5))}
SHORT, LONG = 24, 400  # rounds of a whole short life, and of a long run, at most
RELEASES = 3  # a run goes on until it has shown so much


def promised(subject):
    """The example's guarantee as plain data."""
    p, g = subject.policy, subject.policy.guarantee
    return plain(g) | {"title": p.name, "factory": subject.name, "tuned": subject.tuned,
                       "universe": str(p.universe or "none declared: unit ball, rewards [-1, 1]"),
                       "declared": len(declared(p)), "shown": bool(shown(p)[0])}  # fmt: skip


def plain(g):
    """A `Guarantee` as a dict of plain data; infinite numbers as text."""
    return {"said": str(g), "model": g.model, "epsilon": number(g.epsilon),
            "delta": number(g.delta), "neighbours": g.neighbours, "unit": g.unit}  # fmt: skip


def number(value):
    """A float as JSON holds it: "inf" and "nan" are texts."""
    return float(value) if np.isfinite(value) else str(float(value))


def declared(policy):
    """The `AuditInstance`s that the policy's audit offers, a tuple, empty where there are none."""
    return tuple(policy.audit.measured())


def shown(policy):
    """({kernel: read} of all that others see, private fields) by the policy's audit."""
    kernels, private = policy.audit.shown(), policy.audit.private_fields
    if kernels:
        return kernels, private
    for case in declared(policy):
        kernels, private = kernels | case.releases, case.private_fields
    return kernels, private


def plans(subject, quick: bool):
    """[(name, arguments of `measured`)]: the policy's own instances, or its example for a few
    rounds; other dimensions and budgets; a whole short life; and a long run of the example."""
    policy, takes = subject.policy, subject.takes
    if not shown(policy)[0]:
        return []
    own = len(declared(policy))
    found = [(f"its own instance {i + 1}", {"number": i}) for i in range(own)]
    if not own:
        found = [("its example", {})]
    for d, epsilon in OTHER[quick] if {"d", "epsilon"} & takes.keys() else ():
        told = {n: v for n, v in (("d", d), ("epsilon", epsilon)) if n in takes}
        name = " and ".join(f"{n} = {v:g}" for n, v in told.items())
        found.append((name, {"told": told}))
    if "T" in takes:
        found.append((f"a life of T = {SHORT}", {"told": {"T": SHORT}, "rounds": SHORT}))
    return [*found, ("a long run", {"rounds": LONG})]


def instance(subject, number=None, told=None, rounds=None):
    """The `AuditInstance` of a plan; rounds: None: until something is shown `RELEASES` times."""
    policy = subject.made(**told) if told else subject.policy
    if number is not None:
        return declared(policy)[number]
    own, T = declared(subject.policy), horizon(policy) or LONG
    case = AuditInstance(policy, *shown(subject.policy), rounds=min(rounds or 3, T))
    tight = all(c.bound_is_tight for c in own) and case.rounds < LONG
    follows = any(c.assumes_compliance for c in own)
    case = case._replace(bound_is_tight=tight or None, assumes_compliance=follows)
    while not rounds and case.rounds < min(T, LONG):
        if len(Recorder(case).play(filler(case)).calls) >= RELEASES:
            break
        case = case._replace(rounds=min(2 * case.rounds, T, LONG))
    return case


def measured(subject, plan):
    """An instance rebuilt: a dict with "holds" True, False or None (more private than promised),
    the interval, and what was found in words; "not measured" says why there is none."""
    row = {}
    try:
        case = instance(subject, **plan)
        g = case.policy.guarantee
        row = {"promise": number(g.epsilon), "delta": number(g.delta), "rounds": case.rounds,
               "d": getattr(case.policy.params, "d", None)}  # fmt: skip
        found = measure(case)
    except Leak as leak:
        return row | {"holds": False, "said": str(leak)}
    except NotMeasured as why:
        return row | {"not measured": str(why)}
    row |= {"low": number(found.low), "high": number(found.high),
            "movement": number(found.movement), "releases": int(found.releases),
            "noise": number(found.noise)}  # fmt: skip
    holds, words = verdict(g, found)
    return row | {"holds": holds, "said": words}


def asked(subject):
    """What the factory promises for the budgets `ASKED`: {"follows": True, False or None, "said"},
    or {"less": True, "said"} where that is less privacy than was asked for.

    A guarantee that is typed by hand does not follow the budget; noise that does not change with
    the budget shows in Params that are the same for all of them.
    """
    if "epsilon" not in subject.takes:
        return {"follows": None, "said": "the factory takes no budget that the judge can vary"}
    made = [subject.made(epsilon=e) for e in ASKED]
    got = [p.guarantee.epsilon for p in made]
    text = ", ".join(f"{g:.3g} for {e:g}" for g, e in zip(got, ASKED, strict=True))
    if len(set(got)) == 1:
        return {"follows": False, "said": f"the guarantee does not follow the budget: {text}"}
    if same_state(made[0].params, made[-1].params):
        said = "the budget changes no parameter: the noise cannot follow"
        return {"follows": False, "said": said}
    if any(g > e * (1 + 1e-9) for g, e in zip(got, ASKED, strict=True)):
        return {"less": True, "said": f"it promises less privacy than it is asked for: {text}"}
    return {"follows": True, "said": f"the guarantee follows the budget: {text}"}
