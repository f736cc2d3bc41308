"""What a policy promises, and what is rebuilt of it from its running kernels.

A promise is *measured* where the policy says what is shown (`Policy.releases`, or
instances of its own) and the measured interval holds it; *refuted* where the interval
lies above it, where others see more than the declared releases, or where noise has
another law.
"""

import contextlib

import numpy as np
from scipy import stats as sps

from companion.accounting.privacy import ADD_OR_REMOVE
from companion.contract import horizon
from evidence.attacks.audit import AuditInstance, readers
from evidence.judge.checks import run, same_state, stream_for
from evidence.measure.compose import ALARM, measure, verdict, without_law
from evidence.measure.record import (
    VALUES,
    Leak,
    NotMeasured,
    Recorder,
    TooMany,
    Unfit,
    fresh_draws,
    fresh_rows,
)
from evidence.measure.replay import filler

ASKED = (0.5, 1.0, 2.0)  # budgets for which instances are made
# quick: (d, epsilon) that are measured, too; the arena plays up to 8
OTHER = {True: ((5, 8.0),), False: ((5, 8.0), (2, 0.5))}
TRIES = {True: 500, False: 2_000}  # quick: records among which the search looks
# rounds of whole short lives, and of a long run, at most
SHORT = (16, 23)
LONG = 400
RELEASES = 3  # a run goes on until it has shown so much
LAWS = {"gaussian": sps.norm, "laplace": sps.laplace}
BINS = np.array([0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0])


def promised(subject):
    """The row on the example's guarantee."""
    p = subject.policy
    g = subject.policy.guarantee
    known = p.universe or "no universe declared: unit ball, rewards [-1, 1]"
    row = {
        "outcome": "promised",
        "found": str(g),
        "model": g.model,
        "factory": subject.name,
    }
    return row | {"what": p.name, "played": f"{g.neighbours}; {g.model} model; {known}"}


def shown(subject):
    """({kernel: read} of all that others see, private fields, own instances), as the
    policy declares them or, where a kernel shows different numbers in turn, as its
    instances do."""
    policy = subject.policy
    own = tuple(subject.spec.measured())
    kernels = readers(policy.releases)
    private = policy.private
    for case in () if kernels else own:
        kernels = kernels | case.releases
        private = case.private_fields
    return kernels, private, own


def plans(subject, quick: bool):
    """Rows with "what" and "plan", the arguments of `instance`: the policy's own
    instances, or its example for a few rounds; another dimension and budget; whole short
    lives; a long run, its end, and where its noise is least."""
    takes = subject.takes
    own = shown(subject)[2]
    found = {f"own instance {i + 1}": {"number": i} for i in range(len(own))} or {
        "its example": {}
    }
    rows = []
    if "epsilon" not in takes:
        rows.append(
            {
                "what": "another budget",
                "outcome": "not measured",
                "found": "the factory takes no argument `epsilon`, so one budget "
                "alone is measured; call it `epsilon`, and give all else a default",
            }
        )
    for d, epsilon in OTHER[quick] if "epsilon" in takes else ():
        told = {"epsilon": epsilon}
        plan = {"told": told}
        if "d" in takes:
            told["d"] = d
        if "T" in takes:
            told["T"] = plan["rounds"] = SHORT[0]
        found[" and ".join(f"{n} = {v:g}" for n, v in told.items())] = plan
    for T in SHORT if "T" in takes else ():
        found[f"a life of T = {T}"] = {"told": {"T": T}, "rounds": T}
    found["a long run"] = {"rounds": LONG}
    with contextlib.suppress(NotMeasured, Leak):  # which its example will say
        for start, rounds in sorted(odd_rounds(instance(subject, rounds=LONG))):
            found[f"round {start + 1} on"] = {"start": start, "rounds": rounds}
    cut = {w for w, p in found.items() if p.get("rounds") == LONG or "start" in p}
    if "T" in takes:
        cut.add("its example")
    for what, plan in found.items():
        plan["quick"] = quick
        rows.append({"what": what, "plan": plan, "cut": what in cut})
    return rows


def odd_rounds(case):
    """{(first, number of rounds)} of a long run that are looked at alone: its end, and
    where its noise is least: noise that is used again is no noise there."""
    calls = Recorder(case).play(filler(case)).calls
    if not calls or not {law for call in calls for law, _ in call.clean} <= LAWS.keys():
        return set()
    least = [fresh_rows(call, 20, 5).std(axis=0).min() for call in calls]
    at = [call.round for call in calls]
    shown = {
        (at[i], at[min(i + 2, len(at) - 1)]) for i in (np.argmin(least), len(at) - 1)
    }
    return {(first, last + 1 - first) for first, last in shown if first > 0}


def instance(subject, number=None, told=None, rounds=None, start=0):
    """The `AuditInstance` of a plan; rounds: None: until something is shown `RELEASES`
    times; start: rounds that are played before."""
    policy = subject.made(**told) if told else subject.policy
    kernels, private, own = shown(subject)
    if not kernels:
        raise NotMeasured(
            "the policy does not say what others see: Policy(..., releases=...)"
        )
    if number is not None:
        return own[number]
    rest = min(horizon(policy) or LONG, LONG) - start
    state = run(policy, *stream_for(policy, start)[:2])[1] if start else None
    n = min(rounds or 3, rest)
    follows = any(c.assumes_compliance for c in own)
    tight = all(c.bound_is_tight for c in own) or None
    case = AuditInstance(
        policy=policy,
        releases=kernels,
        private_fields=private,
        initial_state=state,
        rounds=n,
        records=None,
        bound_is_tight=tight,
        assumes_compliance=follows,
    )
    while not rounds and case.rounds < rest and releases(case) < RELEASES:
        case = case._replace(rounds=min(2 * case.rounds, rest))
    # without a record the last one is missing
    if policy.guarantee.neighbours == ADD_OR_REMOVE:
        n = releases(case)
        while n and releases(shorter := case._replace(rounds=case.rounds - 1)) == n:
            case = shorter
    return case


def releases(case):
    """How many there are in an instance."""
    return len(Recorder(case, guesses=False).play(filler(case)).calls)


def measured(subject, plan):
    """The row of an instance that is rebuilt, with its interval and with what was
    played.  A run that shows too much is cut to half its rounds until it does not."""
    plan = dict(plan)
    quick = plan.pop("quick")
    searches = not plan.get("rounds") and "number" not in plan
    tries = TRIES[quick] if searches else 0
    try:
        case = instance(subject, **plan)
        while True:
            try:
                return rebuilt(case, tries)
            except TooMany:
                if case.rounds <= 2 * RELEASES or not plan.get("rounds"):
                    raise
                case = case._replace(rounds=case.rounds // 2)
    except Leak as why:
        return {"outcome": "refuted", "found": str(why)}
    except NotMeasured as why:
        return {"outcome": "not measured", "found": str(why)}


def rebuilt(case, tries: int):
    """The row of an instance.  Raises `Leak` and `NotMeasured`."""
    found = measure(case, tries)
    g = case.policy.guarantee
    counted = found.high == np.inf  # no law was known
    if not counted and found.chance > ALARM and law_chance(case) <= ALARM:
        found = without_law(case, Unfit("many draws have not the law of the noise"))
    holds, words = verdict(g, found)
    if draws_elsewhere(case):
        few = VALUES in {law for law, _ in first_call(case).clean}
        by_size = verdict(g, found._replace(low=0.0))[0] is not False
        if few or (holds is False and by_size and found.low < np.inf):
            raise NotMeasured(
                "what is drawn outside the declared kernels may hide a record, or show "
                "it: draw it inside the kernel that a Release names"
            )
    outcome = {True: "measured", False: "refuted", None: "bounded"}[holds]
    dimension = getattr(case.policy.params, "d", None)
    return {
        "outcome": outcome,
        "found": words,
        "played": f"{case.rounds} rounds, d = {dimension}, budget {g.epsilon:.3g}, "
        f"{found.releases} releases",
        "low": found.low,
        "high": found.high,
        "movement": found.movement,
        "releases": found.releases,
    }


def first_call(case):
    """The first call that releases something."""
    return Recorder(case, guesses=False).play(filler(case)).calls[0]


def draws_elsewhere(case) -> bool:
    """Whether the first release without its noise still depends on draws: a secret coin,
    say."""
    recorder = Recorder(case, guesses=False)
    seen = set()
    for seed in range(8):
        clean = recorder.play(filler(case), seed=seed).calls[0].clean
        seen.add(b"".join(a.round(9).tobytes() for _, a in clean))
    return len(seen) > 1 and not case.assumes_compliance


def law_chance(case, n: int = 20_000):
    """p-value of many draws of the first release, of at most 100 numbers: how many fall
    into `BINS` of their law, by Bonferroni; 0 where one value comes more than three
    times."""
    call = Recorder(case).play(filler(case)).calls[0]
    chances = [1.0]
    laws = {law for law, _ in call.clean}
    if not laws & LAWS.keys() or sum(a.size for _, a in call.clean) > 100:
        return 1.0
    for (law, _), part in zip(call.clean, fresh_draws(call, n, 21), strict=True):
        z = np.reshape(part, (n, -1))
        noisy = np.ptp(z, axis=0) > 1e-9
        for column in z.T[noisy] if law in LAWS else ():
            again = np.unique(column, return_counts=True)[1].max()
            u = LAWS[law].cdf((column - column.mean()) / column.std() * LAWS[law].std())
            found = sps.chisquare(np.histogram(u, BINS)[0], n * np.diff(BINS)).pvalue
            chances.append(z.shape[1] * found if again < 4 else 0.0)
    return min(chances)


def asked(subject):
    """The row on what the factory promises for the budgets `ASKED`: a guarantee that is
    typed by hand does not follow the budget; noise that does not follow it leaves Params
    as they are."""
    if "epsilon" not in subject.takes:
        return {"outcome": "not applicable"}
    made = [subject.made(epsilon=e) for e in ASKED]
    got = [p.guarantee.epsilon for p in made]
    text = ", ".join(f"{g:.3g} for {e:g}" for g, e in zip(got, ASKED, strict=True))
    if len(set(got)) == 1 or same_state(made[0].params, made[-1].params):
        return {
            "outcome": "refuted",
            "found": f"guarantee or noise stays as it is: {text}",
        }
    less = any(g > e * (1 + 1e-9) for g, e in zip(got, ASKED, strict=True))
    return {
        "outcome": "broken" if less else "holds",
        "found": f"epsilon by budget: {text}",
    }
