"""The contract of a policy, check by check: what every policy of the package satisfies,
too.

A check is a function of `make`, which maps a number of arms to an instance.  It raises
`CheckFailed` with what was found, and what to write instead.  Below: what a run says
beside its arms, the small streams that are played, and what a state holds.
"""

import os
import pickle
import sys
from itertools import pairwise

import numpy as np

from companion import contract
from companion.accounting.privacy import NO_PRIVACY, RELATIONS
from companion.core import need_declared
from evidence.judge.load import said
from evidence.measure.compose import MODELS
from evidence.measure.record import PLAIN, arrays, public, same_bits

CUTS = (1, 2, 7, 128, 256, 399)
ROWS = (4, 1, 2, 7, 1000)
THETA = np.array([0.6, 0.3, -0.1])
SPOILED = 77  # a number that no fresh state holds
ROUNDS = 400  # of the common stream, or as many as a policy was built for
TALK = {"socket.connect", "subprocess.Popen", "os.system"}  # events of a run that speaks


class CheckFailed(Exception):
    """The contract does not hold; the text says what was found."""


def need(holds: bool, found: str, remedy: str) -> None:
    """Raise `CheckFailed` with what was found, and the remedy, unless it holds."""
    if not holds:
        raise CheckFailed(f"{found} -> {remedy}")


def rows(make) -> None:
    """Arms are rows of X, for every number of arms that the policy takes."""
    for K in ROWS:
        try:
            policy = make(K)
        except ValueError:
            if K != 4:
                continue  # it is not made for so few, or so many
            raise
        X, R = stream_for(policy, 100, K)
        try:
            plays_rows(policy, X, R)
        except CheckFailed:
            raise
        except Exception as error:
            raise CheckFailed(f"with {X.shape[1]} arms: {said(error)}") from error


def plays_rows(policy, X, R) -> None:
    """One number of arms: kernels check nothing, so their output is looked at."""
    arms, _ = run(policy, X, R)
    K = X.shape[1]
    bad = arms[(arms < 0) | (arms >= K)]
    need(
        not len(bad),
        f"with {K} rows it plays arm {bad[:1]}",
        "return an integer of range(X.shape[0])",
    )
    rng = np.random.default_rng(1)
    arm = policy.select(policy.params, policy.init(policy.params), X[0], rng)
    need(
        isinstance(arm, int | np.integer),
        f"select returns {arm!r}, no integer",
        "return int(...) of a row of X",
    )


def complete(make) -> None:
    """The guarantee, the State and the declarations are what others rely on."""
    policy = make(4)
    g = policy.guarantee
    if g != NO_PRIVACY:
        known = g.model in MODELS and g.neighbours in RELATIONS and g.unit
        need(
            known and g.epsilon > 0 and 0 <= g.delta <= 1,
            f"its guarantee is {g!r}",
            f"model= of {MODELS}, epsilon= above 0, delta= in [0, 1], neighbours= of "
            f"{RELATIONS}, unit='user'; without privacy NO_PRIVACY",
        )
    state = policy.init(policy.params)
    need(
        isinstance(state, tuple) and hasattr(state, "_fields"),
        f"init returns a {type(state).__name__}",
        "return a State, a NamedTuple of arrays: class State(NamedTuple)",
    )
    try:
        need_declared(policy._replace(releases=()), state)  # these are measured
    except ValueError as error:
        raise CheckFailed(f"{error} -> Policy(private=) of these names") from error
    try:
        copy = pickle.loads(pickle.dumps(policy))
    except Exception as error:
        raise CheckFailed(
            f"it cannot be copied to another process: {error} -> define every kernel of "
            "Policy(...) and Release(...) at the top of the module"
        ) from error
    need(
        not differs(policy, copy),
        "another policy comes out of pickle",
        "define kernels at the top of the module, and Params of numbers and arrays",
    )


def fresh_state(make) -> None:
    """A new State holds nothing that was left in memory."""
    policy = make(4)
    for _ in range(3):  # memory is handed out again with what was left in it
        for part in arrays(policy.init(policy.params)):
            part.fill(SPOILED)
    state = policy.init(policy.params)
    for name, part in public(state, ()).items():
        need(
            not np.isin(part, SPOILED).any(),
            f"init hands out State.{name} as it was left",
            "make it anew in init: np.zeros instead of np.empty or of a global array",
        )


def inside_its_arrays(make) -> None:
    """No index leaves its array, and compiled code plays as plain Python does."""
    policy = make(4)
    X, R = stream_for(policy, 60)
    try:
        arms = run(PLAIN(policy), X, R)[0]
    except IndexError as error:
        found = f"an index leaves its array: {said(error)}"
        remedy = "size every array of the State by Params"
        raise CheckFailed(f"{found} -> {remedy}") from error
    need(
        np.array_equal(arms, run(policy, X, R)[0]),
        "compiled arms differ from interpreted ones",
        "use math.exp and math.log of numbers, and integers for counts",
    )


def again(make) -> None:
    """The same seed gives the same run, in one piece or in blocks."""
    policy = make(4)
    X, R = stream_for(policy)
    first = run(policy, X, R)
    kept = pickle.loads(pickle.dumps(first))
    run(policy, X, 1.0 - R, seed=4)
    remedy = "keep all that is remembered in arrays that init makes, draw from rng alone"
    need_same("a later run changes the state of this", remedy, kept, first)
    for how, cuts in (("with the same seed", ()), ("in blocks", CUTS)):
        found = f"arms or state differ when it plays again {how}"
        need_same(found, remedy, first, run(policy, X, R, cuts=cuts))
    start = public(policy.init(policy.params), ())
    for name, last in public(first[1], ()).items():
        need(
            np.isfinite(last).all() or not np.isfinite(start[name]).all(),
            f"the State holds NaN or inf in {name}",
            "look for a division by 0, or for a sum without limit",
        )


def data(make) -> None:
    """Rewards of arms that were not played are not read; X and R are not written."""
    policy = make(4)
    X, R = stream_for(policy)
    before = X.copy(), R.copy()
    arms, state = run(policy, X, R)
    need(
        same_bits(X, before[0]) and same_bits(R, before[1]),
        "play writes to X or R",
        "copy before you change X, R or x: x = x / 2 instead of x /= 2",
    )
    at = np.arange(len(R)), arms
    R[:] = np.nan
    R[at] = before[1][at]
    found = "arms or state depend on rewards of arms that were not played"
    need_same(found, "read R[t, arms[t]] alone", (arms, state), run(policy, X, R))


def live_equals_play(make) -> None:
    """`select` and `update`, called one by one, do what `play` does.

    The arrays that are handed over are overwritten after every call.
    """
    policy = make(4)
    X, R = stream_for(policy)
    arms, state = run(policy, X, R, seed=5)
    p = policy.params
    rng = np.random.default_rng(5)
    live = policy.init(p)
    for t, expected in enumerate(arms):
        shown = X[t].copy()
        x = X[t, expected].copy()
        arm = policy.select(p, live, shown, rng)
        need(
            arm == expected,
            f"round {t}: select says arm {arm}, play says {expected}",
            "let play be the loop over select and update, or leave it out",
        )
        shown[:] = np.nan
        returned = policy.update(p, live, expected, x, R[t, expected], rng)
        need(
            returned is None,
            f"update returns a {type(returned).__name__}",
            "change the arrays of s in place, s.total[:] = ..., and return nothing",
        )
        x[:] = np.nan
    found = "select and update end in another state than play"
    remedy = "let play be the loop over both; store x.copy(), never x itself"
    need_same(found, remedy, (arms, state), (arms, live))


def speaks(make):
    """A run says nothing beside its arms: files it opens to write, connections, and text
    it prints, which goes into the child's file.  The first of two runs compiles and
    imports all that is needed, and is not looked at."""
    policy = make(4)
    seen = set()
    X, R = stream_for(policy)

    def hook(event, args):
        writes = event == "open" and any(c in str(args[1]) for c in "wax+")
        if writes or event in TALK:
            seen.add(f"{event} {args[0]}"[:200])

    sys.addaudithook(hook)
    for _ in range(2):
        seen.clear()
        before = os.fstat(1).st_size
        run(policy, X, R)
        sys.stdout.flush()
    found = sorted(seen)
    for line in os.pread(1, 200, before).decode("utf8", "replace").splitlines()[:1]:
        found.append(f"prints {line!r}")
    need(
        not found,
        f"a run says more than its arms: {'; '.join(found)}",
        "others may read it: take it out of the kernels",
    )


# The first run, then all others.
CHECKS = rows, complete, fresh_state, inside_its_arrays, again, data, live_equals_play
CHECKS = {check.__name__.replace("_", " "): check for check in CHECKS}
DECISIVE = ("rows", "complete")  # where one of these fails, nothing else is looked at
SPEECH = {"a run": speaks}  # which is looked at in a child's process alone


def checked(subject, name: str):
    """The row of a check; where it fails, with what to change."""
    try:
        (CHECKS | SPEECH)[name](subject.make)
    except CheckFailed as why:
        return {"outcome": "broken", "found": str(why)}
    return {"outcome": "holds", "found": ""}


# --- streams and states
# ---------------------------------------------------------------------------


def stream(n: int = ROUNDS, K: int = 4, d: int = 3, seed: int = 0):
    """X (n, K, d) in the unit ball, Bernoulli rewards R (n, K) and means mu in [0.16,
    0.84]."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, K, d))
    X *= rng.random((n, K, 1)) ** (1 / d) / np.linalg.norm(X, axis=2, keepdims=True)
    theta = THETA if d == 3 else np.full(d, 0.6 / np.sqrt(d))
    mu = 0.5 + X @ theta / 2
    return X, (rng.random((n, K)) < mu).astype(np.float64), mu


def stream_for(policy, n: int = ROUNDS, K: int = 4):
    """A stream of K rows, or as many as the policy was made for, of the dimension that it
    takes (3 where it does not care), with at most as many rounds as it was built for,
    and one context in all rows where it takes no other.
    """
    n = min(n, contract.horizon(policy) or n)
    K = getattr(policy.params, "K", K)
    X, R, _ = stream(n, K, getattr(policy.params, "d", 3))
    if contract.one_context(policy):
        X = np.ascontiguousarray(np.repeat(X[:, :1], X.shape[1], axis=1))
    return X, R


def run(policy, X: np.ndarray, R: np.ndarray, *, seed: int = 1, cuts=()):
    """(arms, state) after the policy played the stream, cut into blocks before rounds
    `cuts`."""
    rng = np.random.default_rng(seed)
    state = policy.init(policy.params)
    arms = np.full(len(X), -1, dtype=np.int64)
    ends = [0, *(c for c in cuts if c < len(X)), len(X)]
    for start, end in pairwise(ends):
        block = slice(start, end)
        policy.loop(policy.params, state, X[block], R[block], rng, arms[block])
    return arms, state


def differs(state, other) -> str:
    """The first field of a state that is not the same bit for bit; "" if all are."""
    others = public(other, ())
    for name, part in public(state, ()).items():
        if not same_bits(part, others[name]):
            return name
    return ""


def need_same(found: str, remedy: str, one, other) -> None:
    """`need` that two runs, (arms, state) each, agree to the bit, else with the first
    arm or field that does not."""
    for t, (arm, another) in enumerate(zip(one[0], other[0], strict=True)):
        need(arm == another, f"{found}: arm {arm} or {another} in round {t}", remedy)
    name = differs(one[1], other[1])
    need(not name, f"{found}: State.{name}", remedy)
