"""The contract of a policy, check by check: what every policy of the package satisfies,
too.

A check is a function of `make`, which maps a number of arms to an instance.  It raises
`CheckFailed` with what was found.  Below: the small streams that are played, and what a
state holds.
"""

import pickle
from itertools import pairwise

import numpy as np

from companion import contract
from evidence.measure.record import Interpreter, arrays, leaves

MODELS = {"none", "local", "shuffle", "joint", "central"}
CUTS = (1, 2, 7, 128, 256, 399)
ROWS = (4, 1, 2, 7, 1000)
GUARD = 64  # entries before and behind the array of arms that nobody may write
THETA = np.array([0.6, 0.3, -0.1])
SPOILED = 77  # a number that no fresh state holds
ROUNDS = 400  # of the common stream, or as many as a policy was built for


class CheckFailed(Exception):
    """The contract does not hold; the text says what was found."""


def need(holds: bool, said) -> None:
    """Raise `CheckFailed` with this text unless it holds."""
    if not holds:
        raise CheckFailed(said)


def begun(make):
    """(policy, X, R): an instance for 4 arms and its stream."""
    policy = make(4)
    return policy, *stream_for(policy)[:2]


def rows(make) -> None:
    """return an integer of range(X.shape[0]), write arms[0..n-1] alone"""
    for K in ROWS:
        try:
            policy = make(K)
        except ValueError:
            if K != 4:
                continue  # it is not made for so few, or so many
            raise
        # kernels check nothing
        X, R, _ = stream_for(policy, 100, getattr(policy.params, "K", K))
        wide = np.full(len(X) + 2 * GUARD, -7, dtype=np.int64)
        arms = wide[GUARD:-GUARD]
        rng = np.random.default_rng(1)
        policy.loop(policy.params, policy.init(policy.params), X, R, rng, arms)
        outside = np.delete(wide, slice(GUARD, -GUARD))
        need((outside == -7).all(), "play writes outside the array of arms")
        bad = arms[(arms < 0) | (arms >= X.shape[1])]
        need(not len(bad), f"with {X.shape[1]} rows it plays arm {bad[:1]}")
        arm = policy.select(policy.params, policy.init(policy.params), X[0], rng)
        need(isinstance(arm, int | np.integer), f"select returns {arm!r}, no integer")


def complete(make) -> None:
    """define kernels at the top of a module; fill model, neighbours, unit, epsilon,
    delta"""
    policy = make(4)
    g = policy.guarantee
    need(g.model in MODELS, f"its model is {g.model!r}, not one of {sorted(MODELS)}")
    need(
        g.neighbours and g.unit,
        "it does not say what neighbours are, or whose data it protects",
    )
    need(g.epsilon > 0 and 0 <= g.delta <= 1, f"epsilon = {g.epsilon}, delta = {g.delta}")
    free = (g.epsilon, g.delta) == (np.inf, 1.0)
    need(
        free or g.model != "none",
        "a policy without privacy has the guarantee NO_PRIVACY",
    )
    same = same_state(policy, pickle.loads(pickle.dumps(policy)))
    need(same, "another policy comes out of pickle")


def fresh_state(make) -> None:
    """fill arrays in init: np.zeros instead of np.empty"""
    policy = make(4)
    for _ in range(3):  # memory is handed out again with what was left in it
        for part in arrays(policy.init(policy.params)):
            part.fill(SPOILED)
    for part in flat(policy.init(policy.params)):
        need(not np.isin(part, SPOILED).any(), "init hands out memory as it was left")


def inside_its_arrays(make) -> None:
    """size every array of the State from Params; in compiled code use math.exp,
    math.log"""
    policy, X, R = begun(make)
    X = X[:60]
    R = R[:60]
    try:
        arms = run(Interpreter()(policy), X, R)[0]
    except IndexError as error:
        raise CheckFailed(f"an index leaves its array: {error}") from error
    need(
        np.array_equal(arms, run(policy, X, R)[0]),
        "compiled arms differ from interpreted ones",
    )


def again(make) -> None:
    """keep all that is remembered in the arrays of the State; draw from the rng handed
    over"""
    policy, X, R = begun(make)
    arms, state = run(policy, X, R)
    before = flat(state)
    run(policy, X, 1.0 - R, seed=4)
    need(
        all(map(same_bits, before, flat(state))),
        "a later run writes into the state of this",
    )
    for how, cuts in (("with the same seed", ()), ("in blocks", CUTS)):
        others, other = run(policy, X, R, cuts=cuts)
        same = np.array_equal(arms, others) and same_state(state, other)
        need(same, f"arms or state differ when it plays again {how}")
    for start, end in zip(flat(policy.init(policy.params)), before, strict=True):
        need(
            np.isfinite(end).all() or not np.isfinite(start).all(),
            "the State holds NaN or inf",
        )


def data(make) -> None:
    """read R[t, arms[t]] alone; copy before you change X, R, x"""
    policy, X, R = begun(make)
    before = X.copy(), R.copy()
    arms, state = run(policy, X, R)
    need(same_bits(X, before[0]) and same_bits(R, before[1]), "play writes to X or R")
    at = np.arange(len(R)), arms
    R[:] = np.nan
    R[at] = before[1][at]
    others, other = run(policy, X, R)
    same = np.array_equal(arms, others) and same_state(state, other)
    need(same, "arms or state depend on rewards of arms that were not played")


def live_equals_play(make) -> None:
    """let play be the loop over select and update, or leave it out; store x.copy(), never
    x itself

    The arrays that are handed over are overwritten after every call.
    """
    policy, X, R = begun(make)
    arms, state = run(policy, X, R, seed=5)
    p = policy.params
    rng = np.random.default_rng(5)
    found = policy.init(p)
    for t, expected in enumerate(arms):
        shown = X[t].copy()
        x = X[t, expected].copy()
        arm = policy.select(p, found, shown, rng)
        need(arm == expected, f"round {t}: select says arm {arm}, play says {expected}")
        shown[:] = np.nan
        returned = policy.update(p, found, expected, x, R[t, expected], rng)
        need(
            returned is None,
            "update returns something: change the State in place and return nothing",
        )
        x[:] = np.nan
    said = "select and update end in another state than play, or hold the caller's arrays"
    need(same_state(state, found), said)


# The first run, then all others.
CHECKS = rows, complete, fresh_state, inside_its_arrays, again, data, live_equals_play
CHECKS = {check.__name__.replace("_", " "): check for check in CHECKS}


def checked(subject, name: str):
    """The row of a check; where it fails, with what to change."""
    try:
        CHECKS[name](subject.make)
    except CheckFailed as why:
        advice = CHECKS[name].__doc__  # None under `python -OO`
        found = f"{why} -> {advice.splitlines()[0]}" if advice else str(why)
        return {"outcome": "broken", "found": found}
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


def stream_for(policy, n: int = ROUNDS, K: int = 0):
    """A stream of K rows (0: as many as the policy takes, else 4), of the dimension that
    it takes (3 where it does not care), with at most as many rounds as it was built for,
    and one context in all rows where it takes no other.
    """
    n = min(n, contract.horizon(policy) or n)
    K = K or getattr(policy.params, "K", 4)
    X, R, mu = stream(n, K, getattr(policy.params, "d", 3))
    if contract.one_context(policy):
        X = np.ascontiguousarray(np.repeat(X[:, :1], X.shape[1], axis=1))
    return X, R, mu


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


def flat(state):
    """The state as one tuple of arrays, nested tuples and scalars included."""
    return tuple(map(np.array, leaves(state)))


def same_bits(a, b: np.ndarray) -> bool:
    """Equal bit for bit; NaN equals NaN, as scratch arrays may hold anything."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_state(a, b: np.ndarray) -> bool:
    """Whether two states agree to the bit."""
    a = flat(a)
    b = flat(b)
    return len(a) == len(b) and all(map(same_bits, a, b))
