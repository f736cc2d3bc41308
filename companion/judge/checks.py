"""The contract of a policy, check by check: what every policy of the package satisfies, too.

A check is a function of `make`, which maps a number of arms to an instance.  It raises
`CheckFailed` with what was found, or `NotApplicable` where the policy gives it no hold.
"""

import inspect
import pickle

import numpy as np

from companion import core
from companion.audits.recording import Interpreter, uncompiled
from companion.judge import streams
from companion.judge.streams import run, same_bits, same_state, stream_for

MODELS = {"none", "local", "shuffle", "joint", "central"}
ARGUMENTS = {"select": 4, "update": 6, "play": 6}
NOTES = {"explored", "warm"}  # where `select` notes in a State what kind of round is under way
CUTS = (1, 2, 7, 128, 256, 399)
ROWS = (1, 2, 7, 1000)
GUARD = 64  # entries before and behind the array of arms that nobody may write
GUESSES = {"d": 3, "K": 4, "T": 400, "epsilon": 1.0, "delta": 0.01}  # where there is no example()


class CheckFailed(Exception):
    """The contract does not hold; the text says what was found."""


class NotApplicable(Exception):
    """This policy gives the check no hold; the text says why."""


def need(holds: bool, said) -> None:
    """Raise `CheckFailed` with this text unless it holds."""
    if not holds:
        raise CheckFailed(said)


def begun(make, n: int = streams.ROUNDS):
    """(policy, X, R): an instance for 4 arms and its stream."""
    policy = make(4)
    return policy, *stream_for(policy, n)[:2]


def complete(make) -> None:
    """give Policy(name, params, init, select, update, play, guarantee), for 400 rounds or more"""
    policy = make(4)
    need(isinstance(policy, core.Policy), f"it is {type(policy).__name__}, not a Policy")
    for name, wanted in ARGUMENTS.items():
        if name == "play" and policy.play is None:  # the plain loop
            continue
        taken = list(inspect.signature(uncompiled(getattr(policy, name))).parameters)
        need(len(taken) == wanted, f"{name} takes {taken}, {wanted} arguments are handed over")
    T = core.horizon(policy)
    need(T is None or T >= streams.ROUNDS, f"the example is built for T = {T} rounds")


def rows(make) -> None:
    """return an integer of range(X.shape[0]), write arms[0..n-1] alone"""
    for K in ROWS:
        policy = make(K)
        X, R, _ = stream_for(policy, 100, getattr(policy.params, "K", K))  # kernels check nothing
        wide = np.full(len(X) + 2 * GUARD, -7, dtype=np.int64)
        arms, rng = wide[GUARD:-GUARD], np.random.default_rng(1)
        policy.loop(policy.params, policy.init(policy.params), X, R, rng, arms)
        outside = np.concatenate([wide[:GUARD], wide[-GUARD:]])
        need((outside == -7).all(), "play writes outside the array of arms")
        K = X.shape[1]
        bad = np.flatnonzero((arms < 0) | (arms >= K))
        if len(bad):
            said = f"with {K} rows, round {bad[0]} has arm {arms[bad[0]]}, outside 0..{K - 1}"
            raise CheckFailed(said)
    arm = policy.select(policy.params, policy.init(policy.params), X[0], rng)
    need(isinstance(arm, int | np.integer), f"select returns {arm!r}, no integer")


def finite(make) -> None:
    """no number of the State may become infinite or NaN"""
    policy, X, R = begun(make)
    fresh, state = policy.init(policy.params), run(policy, X, R)[1]
    for before, after in zip(streams.flat(fresh), streams.flat(state), strict=True):
        odd = after[~np.isfinite(after)] if np.isfinite(before).all() else ()
        need(len(odd) == 0, f"the State holds {odd[:1]}")


def inside(make) -> None:
    """size every array of the State from Params; in compiled code use math.exp, math.log"""
    policy, X, R = begun(make, 60)
    arms, plain = np.full(len(X), -1, dtype=np.int64), Interpreter()(policy)
    rng, state = np.random.default_rng(1), policy.init(policy.params)
    try:
        plain.loop(policy.params, state, X, R, rng, arms)
    except IndexError as error:
        raise CheckFailed(f"an index leaves its array: {error}") from error
    need(np.array_equal(arms, run(policy, X, R)[0]), "compiled arms differ from interpreted ones")


def fresh(make) -> None:
    """fill arrays in init: np.zeros instead of np.empty"""
    policy = make(4)
    for _ in range(3):  # memory is handed out again with what was left in it
        streams.spoil(policy.init(policy.params))
    for part in streams.flat(policy.init(policy.params)):
        need(not np.isin(part, streams.SPOILED).any(), "init hands out memory as it was left")


def blocks(make) -> None:
    """keep all that is remembered in the arrays of the State"""
    policy, X, R = begun(make)
    (whole, state), (cut, other) = run(policy, X, R), run(policy, X, R, cuts=CUTS)
    differ = np.flatnonzero(whole != cut)
    need(not len(differ), f"arms differ from round {differ[:1]} on when the stream comes in blocks")
    need(same_state(state, other), "the state differs when the stream comes in blocks")


def chosen(make) -> None:
    """read R[t, arms[t]] alone"""
    policy, X, R = begun(make)
    arms, state = run(policy, X, R)
    hidden, at = np.full_like(R, np.nan), np.arange(len(R))
    hidden[at, arms] = R[at, arms]
    again, other = run(policy, X, hidden)
    need(np.array_equal(arms, again), "arms depend on rewards of arms that were not played")
    need(same_state(state, other), "the state depends on rewards of arms that were not played")


def untouched(make) -> None:
    """copy before you change X, R, x"""
    policy, X, R = begun(make)
    before = X.copy(), R.copy()
    run(policy, X, R)
    need(same_bits(X, before[0]) and same_bits(R, before[1]), "play writes to X or R")


def repeats(make) -> None:
    """draw from the rng that is handed over; keep nothing in the module: init makes all memory"""
    policy, X, R = begun(make)
    first, state = run(policy, X, R, seed=3)
    first, kept = first.copy(), [a.copy() for a in streams.flat(state)]
    run(policy, X, 1.0 - R, seed=4)
    second, other = run(policy, X, R, seed=3)
    need(np.array_equal(first, second), "two runs with one seed play different arms")
    need(all(map(same_bits, kept, streams.flat(other))), "two runs with one seed end differently")
    later = all(map(same_bits, kept, streams.flat(state)))
    need(later, "a later run writes into the state of this")


def signature(make) -> None:
    """give State fields one type: 0.0, not 0, for a float"""
    policy = make(4)
    if not hasattr(policy.loop, "signatures"):
        raise NotApplicable("play is plain Python")
    X, R, _ = stream_for(policy)
    before = set(policy.loop.signatures)  # others in this process may have added their own
    run(policy, X, R, cuts=(1, 50))
    need(policy.loop.signatures, "play was not compiled")
    new = len(set(policy.loop.signatures) - before)
    need(new <= 1, f"play was compiled {new} times: the type of a State field changes")


def live(make) -> None:
    """let play be the loop over select and update, or leave it out; store x.copy(), never x itself

    The arrays that are handed over are overwritten after every call.
    """
    policy, X, R = begun(make)
    arms, state = run(policy, X, R, seed=5)
    p, rng, one = policy.params, np.random.default_rng(5), policy.start(5)
    bare = policy.init(p)
    for t, expected in enumerate(arms):
        mine, shown = X[t].copy(), X[t].copy()
        for arm in (one.select(mine), policy.select(p, bare, shown, rng)):
            need(arm == expected, f"round {t}: select says arm {arm}, play says {expected}")
        x, r = X[t, expected].copy(), R[t, expected]
        mine[:] = shown[:] = np.nan
        one.update(expected, r)
        bare = policy.update(p, bare, expected, x, r, rng) or bare
        x[:] = np.nan
    for found in (one.state, bare):
        said = "select and update end in another state than play, or hold the caller's arrays"
        need(same_state(state, found), said)


def told(make) -> None:
    """learn in update from the arm, context and reward it is told

    Two runs are told of the same arms, contexts and rewards, but are given other advice: they are
    asked about another round's rows; where `select` may note whether a round explores, about the
    same rows in another order; and where play is uniform, with another seed.
    """
    policy = make(4)
    n = min(200, (core.horizon(policy) or 400) // 2)  # within the horizon: it is asked once more
    X, R, _ = stream_for(policy, n)
    arms = np.random.default_rng(7).integers(0, X.shape[1], (2, n))
    here, elsewhere = (asked(policy, X, R, arms[0], turn) for turn in (0, 1))
    if np.array_equal(here[0], elsewhere[0]):
        elsewhere = asked(policy, X, R, arms[0], 1, seed=4)
    if np.array_equal(here[0], elsewhere[0]):
        raise NotApplicable("its advice does not depend on what it is asked")
    same = np.array_equal(decisions(policy, here[1]), decisions(policy, elsewhere[1]))
    need(same, "what it learned depends on its own advice, not on the arm it was told")
    if policy.name != "Random":
        other = asked(policy, X, R, arms[1], 0)
        need(not same_state(here[1], other[1]), "update learns nothing from the arm it is told")


def asked(policy, X: np.ndarray, R: np.ndarray, arms: np.ndarray, turn: int, seed: int = 3):
    """(advice, state): advice is asked `turn` rounds or rows off; `arms` says what was played."""
    p, rng, asking = policy.params, np.random.default_rng(3), np.random.default_rng([3, seed])
    state, advice = policy.init(p), []
    for t, arm in enumerate(arms):
        noting = not NOTES.isdisjoint(getattr(state, "_fields", ()))
        rows = np.roll(X[t], turn, axis=0) if noting else X[t - turn].copy()
        advice.append(policy.select(p, state, rows, asking))
        state = policy.update(p, state, arm, X[t, arm].copy(), R[t, arm], rng) or state
    return np.array(advice), state


def decisions(policy, state) -> np.ndarray:
    """Advice in one state on many new rows: all that counts of a state, without its scratch."""
    X = stream_for(policy, 200)[0][::-1]
    rng = np.random.default_rng(4)
    return np.array([policy.select(policy.params, state, rows.copy(), rng) for rows in X])


def guarantee(make) -> None:
    """fill model, neighbours, unit, epsilon, delta"""
    g = make(4).guarantee
    need(g.model in MODELS, f"its model is {g.model!r}, not one of {sorted(MODELS)}")
    need(g.neighbours and g.unit, "it does not say what neighbours are, or whose data it protects")
    need(g.epsilon > 0 and 0 <= g.delta <= 1, f"epsilon = {g.epsilon}, delta = {g.delta}")
    free = (g.epsilon, g.delta) == (np.inf, 1.0)
    need(free or g.model != "none", "a policy without privacy has the guarantee NO_PRIVACY")
    need(g.claimed is None or len(g.claimed) == 2, "claimed must be (epsilon, delta) or None")


def pickles(make) -> None:
    """define kernels at the top of a module"""
    policy = make(4)
    again = pickle.loads(pickle.dumps(policy))
    same = again._replace(params=None) == policy._replace(params=None)
    need(same and again.play is policy.play, "another policy comes out of pickle")
    need(same_state(policy.params, again.params), "other parameters come out of pickle")


def refusals(make, factory=None) -> None:
    """check arguments by companion.validate, before anything is built"""
    taken = inspect.signature(factory).parameters if factory else {}
    budgets = {"epsilon": (-1.0, 0.0, np.nan), "delta": (-1.0, 2.0, np.nan)}
    wrong = [(n, v) for n, values in budgets.items() if n in taken for v in values]
    if not wrong:
        raise NotApplicable("its factory takes no budget" if factory else "there is no factory")
    good = {n: v for n, v in GUESSES.items() if n in taken}
    try:
        factory(**good)
    except (TypeError, ValueError) as error:
        raise NotApplicable(f"its factory wants more than the judge knows: {error}") from None
    for name, value in wrong:
        try:
            factory(**good | {name: value})
        except ValueError as refusal:
            need(name in str(refusal), f"the refusal of {name}={value} does not name it: {refusal}")
        else:
            raise CheckFailed(f"{name}={value} is accepted")


CHECKS = {  # the first run, then what needs no run, then the others
    "rows": rows,
    "complete": complete,
    "guarantee": guarantee,
    "pickles": pickles,
    "refusals": refusals,
    "fresh state": fresh,
    "inside its arrays": inside,
    "finite": finite,
    "blocks": blocks,
    "chosen reward": chosen,
    "data untouched": untouched,
    "same bits twice": repeats,
    "one signature": signature,
    "live equals play": live,
    "told arm": told,
}
WITHOUT_RUN = ("complete", "guarantee", "pickles", "refusals", "fresh state")


def checked(subject, name: str):
    """The row of a check; where it fails, with what to change."""
    more = (subject.factory,) if name == "refusals" else ()
    try:
        CHECKS[name](subject.make, *more)
    except NotApplicable as why:
        return {"outcome": "not applicable", "found": str(why)}
    except CheckFailed as why:
        advice = CHECKS[name].__doc__.split("\n")[0]
        return {"outcome": "broken", "found": f"{why} -> {advice}"}
    return {"outcome": "holds", "found": ""}
