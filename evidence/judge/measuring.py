"""What a policy promises, and what is rebuilt of it from its running kernels.

A promise is *measured* where the policy says what is shown (`Policy.releases`, or
instances of its own) and the measured interval holds it; *refuted* where the interval
lies above it, where others see more than the declared releases, or where noise has
another law than the declared one.
"""

import contextlib
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import ADD_OR_REMOVE
from companion.contract import horizon
from evidence.attacks import audit
from evidence.judge.checks import run, stream_for
from evidence.judge.load import GUESSES, given, taken
from evidence.measure.compose import measure, verdict
from evidence.measure.record import (
    ADDED,
    VALUES,
    Leak,
    NotMeasured,
    Recorder,
    TooMany,
    fresh_rows,
)
from evidence.measure.replay import draws_elsewhere, filler

# whole lives that are measured, too, in a quick look the first; the arena plays up to 8
OTHER = {"epsilon": 8.0, "d": 5, "T": 16}, {"epsilon": 0.5, "d": 2, "T": 16}
TRIES = {True: 500, False: 2_000}  # quick: records among which the search looks
# rounds of whole short lives, and of a long run, at most
SHORT = (16, 23)
LONG = 400
QUICK_LONG = 100  # of a short look
RELEASES = 3  # a run goes on until it has shown so much


def promised(subject):
    """The row on the example's guarantee."""
    policy = subject.policy
    g = policy.guarantee
    known = policy.universe or "no universe declared: unit ball, rewards [-1, 1]"
    return {
        "outcome": "promised",
        "found": str(g),
        "model": g.model,
        "factory": subject.name,
        "digest": subject.digest,
        "what": policy.name,
        "played": f"{g.neighbours}; {g.model} model; {known}",
    }


# --- what is measured
# -----------------------------------------------------------------------------


class Plan(NamedTuple):
    """What an instance is made of."""

    what: str
    told: dict = {}  # noqa: RUF012 - arguments of the factory; none: the example
    rounds: int | None = None  # None: until something is shown `RELEASES` times
    start: int = 0  # rounds that are played before
    own: int | None = None  # number of an instance of the package's
    cut: bool = False  # part of a run, in which a record need not lose all


def plans(subject, quick: bool):
    """The `Plan`s: the instances of a policy of this package; else the example for a few
    rounds; another dimension and budget; whole short lives; a long run, its end, and
    where its noise is least; last a row that says why a plan cannot be made."""
    takes = subject.takes
    own = range(len(subject.spec.measured()))
    found = [Plan(f"instance {i + 1}", own=i) for i in own]
    if found:
        return found
    found.append(Plan("its example", cut="T" in takes))
    if "epsilon" in takes:
        for other in OTHER[:1] if quick else OTHER:
            told = taken(subject.factory, other)
            text = " and ".join(f"{name} = {value:g}" for name, value in told.items())
            found.append(Plan(text, told=told, rounds=told.get("T")))
    if "T" in takes:
        for T in SHORT:
            found.append(Plan(f"a life of T = {T}", told={"T": T}, rounds=T))
    rounds = min(LONG, QUICK_LONG) if quick else LONG
    found.append(Plan("a long run", rounds=rounds, cut=True))
    with contextlib.suppress(NotMeasured, Leak):  # which its example will say
        for start, n in sorted(odd_rounds(instance(subject, found[-1]))):
            found.append(Plan(f"round {start + 1} on", rounds=n, start=start, cut=True))
    if "epsilon" not in takes:
        row = {
            "what": "another budget",
            "outcome": "not measured",
            "found": "the factory takes no argument `epsilon`, so one budget alone is "
            "measured -> call it `epsilon`, and give all else a default",
        }
        found.append(row)
    return found


def odd_rounds(case):
    """{(first, number of rounds)} of a long run that are looked at alone: its end, and
    where its noise is least: noise that is used again is no noise there."""
    calls = played(case)
    if not calls or not {law for call in calls for law, _ in call.clean} <= ADDED:
        return set()
    sizes = [fresh_rows(call, 20, 5).std(axis=0).min() for call in calls]
    rounds = [call.round for call in calls]
    found = set()
    for i in (np.argmin(sizes), len(calls) - 1):
        last = rounds[min(i + 2, len(calls) - 1)]
        if rounds[i] > 0:
            found.add((rounds[i], last + 1 - rounds[i]))
    return found


def played(case):
    """The calls that release something, of a run on fillers."""
    return Recorder(case).play(filler(case)).calls


def instance(subject, plan: Plan):
    """The `AuditInstance` of a plan."""
    policy = subject.policy
    if plan.own is not None:
        return subject.spec.measured()[plan.own]
    if plan.told:
        policy = given(subject.factory, GUESSES | plan.told)
    if not policy.releases:
        raise NotMeasured(
            "the policy does not say what others see -> Policy(..., "
            "releases=(Release(kernel, 'argument', 'laplace'),), private=('field',))"
        )
    most = min(horizon(policy) or LONG, LONG) - plan.start
    state = None
    if plan.start:
        X, R = stream_for(policy, plan.start)
        state = run(policy, X, R)[1]
    rounds = min(plan.rounds or RELEASES, most)
    case = audit.instance(policy, initial_state=state, rounds=rounds)
    if plan.rounds is None:
        while case.rounds < most and len(played(case)) < RELEASES:
            case = case._replace(rounds=min(2 * case.rounds, most))
    if policy.guarantee.neighbours == ADD_OR_REMOVE:
        # up to the last release: without a record there is one round less
        last = max((call.round for call in played(case)), default=case.rounds - 1)
        case = case._replace(rounds=last + 1)
    return case


def measured(subject, plan: Plan, quick: bool):
    """The row of an instance that is rebuilt, with its interval and with what was
    played.  A run that shows too much is cut to half its rounds until it does not."""
    is_example = plan.rounds is None and plan.own is None
    tries = TRIES[quick] if is_example else 0
    try:
        case = instance(subject, plan)
        while True:
            try:
                return rebuilt(case, tries) | {"cut": plan.cut}
            except TooMany:
                if case.rounds <= 2 * RELEASES or plan.rounds is None:
                    raise
                case = case._replace(rounds=case.rounds // 2)
    except Leak as why:
        return {"outcome": "refuted", "found": str(why)}
    except NotMeasured as why:
        return {"outcome": "not measured", "found": str(why)}


def rebuilt(case, tries: int):
    """The row of an instance.  Raises `Leak` and `NotMeasured`."""
    g = case.policy.guarantee
    found = measure(case, tries)
    holds, words = verdict(g, found)
    by_size = holds is False and found.low < np.inf
    few = VALUES in {law for law, _ in played(case)[0].clean}
    if (by_size or few) and draws_elsewhere(case, first=1):
        raise NotMeasured(
            "what is drawn outside the declared kernels may hide a record, or show "
            "it -> draw it inside the kernel that a Release names"
        )
    dimension = getattr(case.policy.params, "d", None)
    return {
        "outcome": {True: "measured", False: "refuted", None: "bounded"}[holds],
        "found": words,
        "played": f"{case.rounds} rounds, d = {dimension}, budget {g.epsilon:.3g}, "
        f"{found.releases} releases",
        "low": found.low,
        "high": found.high,
        "releases": found.releases,
    }
