"""Points of the contract that show while a policy plays.

A point is a function of `make`, which maps a number of arms to an instance.
"""

import numpy as np

from companion import core
from companion.audits import faults
from companion.environments import replay
from companion.judge import streams
from companion.judge.on_paper import Broken, Untested, need
from companion.judge.streams import run, same_bits, same_state, stream_for
from companion.simulate import simulate

NOTES = {"explored", "warm"}  # where `select` notes in a State what kind of round is under way
CUTS = (1, 2, 7, 128, 256, 399)
ROWS = (1, 2, 7, 1000)
GUARD = 64  # entries before and behind the array of arms that nobody may write


def rows(make) -> None:
    """Arms stay within the rows, whatever their number, and nothing beside `arms` is written."""
    for K in ROWS:
        policy = make(K)
        X, R, _ = stream_for(policy, 100, getattr(policy.params, "K", K))  # kernels check nothing
        wide = np.full(len(X) + 2 * GUARD, -7, dtype=np.int64)
        arms = wide[GUARD:-GUARD]
        rng = np.random.default_rng(1)
        policy.loop(policy.params, policy.init(policy.params), X, R, rng, arms)
        outside = np.concatenate([wide[:GUARD], wide[-GUARD:]])
        need((outside == -7).all(), "play writes outside the array of arms")
        K = X.shape[1]
        bad = np.flatnonzero((arms < 0) | (arms >= K))
        if len(bad):
            raise Broken(
                f"with {K} rows, round {bad[0]} has arm {arms[bad[0]]}, outside 0..{K - 1}"
            )


def inside(make) -> None:
    """Kernels run as plain Python, where an index outside an array is an error."""
    policy = make(4)
    X, R, _ = stream_for(policy, 60)
    arms = np.full(len(X), -1, dtype=np.int64)
    faults.invite(policy.update, policy.select)
    with faults.interpreted({}):
        rng, state = np.random.default_rng(1), policy.init(policy.params)
        try:
            faults.plain(policy).play(policy.params, state, X, R, rng, arms)
        except IndexError as error:
            raise Broken(f"an index leaves its array: {error}") from None
    need(np.array_equal(arms, run(policy, X, R)[0]), "compiled arms differ from interpreted ones")


def cutting(make) -> None:
    """Cutting the stream into blocks changes nothing."""
    policy = make(4)
    X, R, _ = stream_for(policy)
    (whole, state), (cut, other) = run(policy, X, R), run(policy, X, R, cuts=CUTS)
    differ = np.flatnonzero(whole != cut)
    need(not len(differ), f"arms differ from round {differ[:1]} on when the stream comes in blocks")
    need(same_state(state, other), "the state differs when the stream comes in blocks")


def chosen(make) -> None:
    """Only the reward of the arm that was played is read."""
    policy = make(4)
    X, R, _ = stream_for(policy)
    arms, state = run(policy, X, R)
    hidden, at = np.full_like(R, np.nan), np.arange(len(R))
    hidden[at, arms] = R[at, arms]
    again, other = run(policy, X, hidden)
    need(np.array_equal(arms, again), "arms depend on rewards of arms that were not played")
    need(same_state(state, other), "the state depends on rewards of arms that were not played")


def untouched(make) -> None:
    """The data are not written to."""
    policy = make(4)
    X, R, _ = stream_for(policy)
    before = X.copy(), R.copy()
    run(policy, X, R)
    need(same_bits(X, before[0]) and same_bits(R, before[1]), "play writes to X or R")


def repeats(make) -> None:
    """The same seed gives the same bits, and a run leaves nothing behind for the next."""
    policy = make(4)
    X, R, _ = stream_for(policy)
    first, state = run(policy, X, R, seed=3)
    first, kept = first.copy(), [a.copy() for a in streams.flat(state)]
    run(policy, X, 1.0 - R, seed=4)
    second, other = run(policy, X, R, seed=3)
    need(np.array_equal(first, second), "two runs with one seed play different arms")
    need(all(map(same_bits, kept, streams.flat(other))), "two runs with one seed end differently")
    need(
        all(map(same_bits, kept, streams.flat(state))), "a later run writes into the state of this"
    )


def signature(make) -> None:
    """Blocks of any length compile `play` once."""
    policy = make(4)
    if not hasattr(policy.loop, "signatures"):
        raise Untested("play is plain Python")
    X, R, _ = stream_for(policy)
    before = set(policy.loop.signatures)  # others in this process may have added their own
    run(policy, X, R, cuts=(1, 50))
    need(policy.loop.signatures, "play was not compiled")
    new = len(set(policy.loop.signatures) - before)
    need(new <= 1, f"play was compiled {new} times: the type of a State field changes")


def live(make) -> None:
    """A live run, asked round by round, equals `play`."""
    policy = make(4)
    X, R, _ = stream_for(policy)
    arms, state = run(policy, X, R, seed=5)
    one = policy.start(5)
    for t, expected in enumerate(arms):
        arm = one.select(X[t])
        need(arm == expected, f"round {t}: select and update say arm {arm}, play says {expected}")
        one.update(arm, R[t, arm])
    need(same_state(state, one.state), "select and update end in another state than play")


def copies(make) -> None:
    """What it is shown may be overwritten afterwards: it keeps copies, not references."""
    policy = make(4)
    X, R, _ = stream_for(policy, 60)
    one, other = policy.start(5), policy.start(5)
    p, state, rng = policy.params, policy.init(policy.params), np.random.default_rng(5)
    for t in range(len(X)):
        mine, shown = X[t].copy(), X[t].copy()
        arm, same = one.select(mine), other.select(X[t])
        bare = policy.select(p, state, shown, rng)
        mine[:] = shown[:] = np.nan
        need(arm == same == bare, f"round {t}: advice depends on an array overwritten since")
        one.update(arm, R[t, arm])
        other.update(arm, R[t, arm])
        x = X[t, arm].copy()
        state = policy.update(p, state, arm, x, R[t, arm], rng) or state
        x[:] = np.nan
    for found in (one.state, state):
        need(same_state(found, other.state), "the state holds references to the caller's arrays")


def told(make) -> None:
    """The arm that was played counts, and not the advice.

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
        raise Untested("its advice does not depend on what it is asked")
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


def company(make) -> None:
    """`simulate` gives the same whoever else plays, and in whatever order."""
    policy = make(4)
    X, R, mu = stream_for(policy)
    other = policy.renamed("company")
    env, seeds, T = replay(X, R, mu), [1, 2], len(X)
    alone = simulate(env, [policy], T, seeds).of(policy.name)
    for group in ([policy, other], [other, policy]):
        found = simulate(env, group, T, seeds).of(policy.name)
        need(same_bits(alone, found), "its regret depends on who else plays, or on the order")
