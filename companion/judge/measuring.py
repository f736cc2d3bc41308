"""What a policy promises, and what is rebuilt of it from its running kernels.

A promise is *measured* where the policy's audit says what is shown (`AuditSpec.shown`, or instances
of its own) and the measured interval holds it; *refuted* where the interval lies above it, where
others see more than the declared releases, or where noise has another law.
"""

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
OPTIONAL = "a long run"  # the instance that need not be measured
RELEASES = 3  # a run goes on until it has shown so much


def promised(subject):
    """The example's guarantee as plain data."""
    p, g = subject.policy, subject.policy.guarantee
    return {"title": p.name, "factory": subject.name, "said": str(g), "model": g.model,
            "epsilon": g.epsilon, "delta": g.delta, "neighbours": g.neighbours, "unit": g.unit,
            "universe": str(p.universe or "none declared: unit ball, rewards [-1, 1]"),
            "shown": bool(shown(p)[0])}  # fmt: skip


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
    """Rows with "what" and "plan", the arguments of `instance`: the policy's own instances, or its
    example for a few rounds; other dimensions and budgets; a whole short life; a long run."""
    policy, takes = subject.policy, subject.takes
    if not shown(policy)[0]:
        why = "its audit does not say what is shown (AuditSpec.shown)"
        return [{"outcome": "not measured", "found": why}]
    own = len(declared(policy))
    found = {f"its own instance {i + 1}": {"number": i} for i in range(own)} or {"its example": {}}
    for d, epsilon in OTHER[quick] if {"d", "epsilon"} & takes.keys() else ():
        told = {n: v for n, v in (("d", d), ("epsilon", epsilon)) if n in takes}
        found[" and ".join(f"{n} = {v:g}" for n, v in told.items())] = {"told": told}
    if "T" in takes:
        found[f"a life of T = {SHORT}"] = {"told": {"T": SHORT}, "rounds": SHORT}
    found[OPTIONAL] = {"rounds": LONG}
    return [{"what": what, "plan": plan} for what, plan in found.items()]


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
    """The row of an instance that is rebuilt, with its interval and with what was played."""
    row = {}
    try:
        case = instance(subject, **plan)
        g, d = case.policy.guarantee, getattr(case.policy.params, "d", None)
        row["played"] = f"{case.rounds} rounds, d = {d}, budget {g.epsilon:.3g}"
        found = measure(case)
    except Leak as leak:
        return row | {"outcome": "refuted", "found": str(leak)}
    except NotMeasured as why:
        return row | {"outcome": "not measured", "found": str(why)}
    holds, words = verdict(g, found)
    row["played"] += f", {found.releases} releases of a record"
    row |= {"outcome": "refuted" if holds is False else "measured", "found": words}
    return row | {n: getattr(found, n) for n in ("low", "high", "movement", "releases")}


def asked(subject):
    """The row on what the factory promises for the budgets `ASKED`.

    A guarantee that is typed by hand does not follow the budget; noise that does not change with
    the budget shows in Params that are the same for all of them.
    """
    if "epsilon" not in subject.takes:
        why = "the factory takes no budget that the judge can vary"
        return {"outcome": "not applicable", "found": why}
    made = [subject.made(epsilon=e) for e in ASKED]
    got = [p.guarantee.epsilon for p in made]
    text = ", ".join(f"{g:.3g} for {e:g}" for g, e in zip(got, ASKED, strict=True))
    if len(set(got)) == 1:
        return {"outcome": "refuted", "found": f"the guarantee does not follow the budget: {text}"}
    if same_state(made[0].params, made[-1].params):
        said = "the budget changes no parameter: the noise cannot follow"
        return {"outcome": "refuted", "found": said}
    if any(g > e * (1 + 1e-9) for g, e in zip(got, ASKED, strict=True)):
        said = f"it promises less privacy than it is asked for: {text}"
        return {"outcome": "broken", "found": said}
    return {"outcome": "holds", "found": f"the guarantee follows the budget: {text}"}
