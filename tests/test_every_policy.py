"""What every policy must satisfy.  A policy is tested by having an `example()`."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import streams
from bounds import ROWS
from streams import flat, run, same_bits, stream_for

from companion import _jit, core
from companion.environments import replay
from companion.simulate import simulate

MODULES = streams.names()
NOTES = {"explored", "warm"}  # where `select` notes in a State what kind of round is under way
every_policy = pytest.mark.parametrize("module", MODULES)


@pytest.fixture
def policy(module):
    return streams.example(module)


def test_policies_are_found():
    assert {"linucb", "random"} <= set(MODULES)


@every_policy
def test_example_is_a_complete_policy(policy):
    assert isinstance(policy, core.Policy)
    assert core.horizon(policy) is None or core.horizon(policy) >= 400
    kernels = (policy.select, policy.update, policy.play)
    assert [k.__name__ for k in kernels] == ["select", "update", "play"]
    names = [list(inspect.signature(k).parameters) for k in kernels]
    assert [len(n) for n in names] == [4, 6, 6]


@every_policy
def test_a_fresh_state_holds_nothing_that_nobody_wrote(policy):
    for _ in range(3):  # memory is handed out again with what was left in it
        streams.spoil(policy.init(policy.params))
    for part in flat(policy.init(policy.params)):
        assert not np.isin(part, streams.SPOILED).any()


@every_policy
def test_cutting_the_stream_changes_nothing(policy):
    X, R, _ = stream_for(policy)
    whole, state = run(policy, X, R)
    cut, state_cut = run(policy, X, R, cuts=(1, 2, 7, 128, 256, 399))
    assert np.array_equal(whole, cut)
    assert all(map(same_bits, flat(state), flat(state_cut)))
    assert whole.min() >= 0
    assert whole.max() < 4


@every_policy
def test_only_the_chosen_reward_is_read(policy):
    X, R, _ = stream_for(policy)
    arms, state = run(policy, X, R)
    hidden = np.full_like(R, np.nan)
    rows = np.arange(len(R))
    hidden[rows, arms] = R[rows, arms]
    arms_hidden, state_hidden = run(policy, X, hidden)
    assert np.array_equal(arms, arms_hidden)
    assert all(map(same_bits, flat(state), flat(state_hidden)))


@every_policy
def test_the_data_are_not_touched(policy):
    X, R, _ = stream_for(policy)
    X_before, R_before = X.copy(), R.copy()
    run(policy, X, R)
    assert same_bits(X, X_before)
    assert same_bits(R, R_before)


@every_policy
def test_same_seed_same_arms_and_runs_do_not_leak(policy):
    X, R, _ = stream_for(policy)
    first, second = run(policy, X, R, seed=3)[0], run(policy, X, R, seed=3)[0]
    assert np.array_equal(first, second)


@every_policy
def test_play_has_one_compiled_signature(policy):
    X, R, _ = stream_for(policy)
    before = set(policy.play.signatures)  # other tests in this process may have added their own
    run(policy, X, R, cuts=(1, 50))
    assert policy.play.signatures
    assert len(set(policy.play.signatures) - before) <= 1


@every_policy
def test_live_equals_play(policy):
    X, R, _ = stream_for(policy)
    arms, state = run(policy, X, R, seed=5)
    live = policy.start(5)
    for t, expected in enumerate(arms):
        arm = live.select(X[t])
        assert arm == expected, f"round {t}"
        live.update(arm, R[t, arm])
    assert all(map(same_bits, flat(state), flat(live.state)))


@every_policy
def test_live_keeps_nothing_that_the_caller_may_overwrite(policy):
    """The caller's array is spoilt after every call."""
    X, R, _ = stream_for(policy, 60)
    live, other = policy.start(5), policy.start(5)
    for t in range(len(X)):
        mine = X[t].copy()
        arm, same = live.select(mine), other.select(X[t])
        mine[:] = np.nan
        assert arm == same, f"round {t}"
        live.update(arm, R[t, arm])
        other.update(arm, R[t, arm])
    assert all(map(same_bits, flat(live.state), flat(other.state)))


@every_policy
def test_the_arm_that_was_played_counts_and_not_the_advice(policy):
    """Two runs are told of the same arms, contexts and rewards, but are given other advice.

    They are asked about another round's rows; where `select` may note whether a round explores,
    about the same rows in another order; and where play is uniform, with another seed.
    """
    X, R, _ = stream_for(policy, 200)  # within the horizon, as `decisions` asks once more
    told = np.random.default_rng(7).integers(0, 4, (2, len(X)))
    here, elsewhere = (asked_and_told(policy, X, R, told[0], turn) for turn in (0, 1))
    if np.array_equal(here[0], elsewhere[0]):
        elsewhere = asked_and_told(policy, X, R, told[0], 1, seed=4)
    assert (here[0] != elsewhere[0]).any()
    assert np.array_equal(decisions(policy, here[1]), decisions(policy, elsewhere[1]))
    if policy.name != "Random":
        other = asked_and_told(policy, X, R, told[1], 0)
        assert not all(map(same_bits, flat(here[1]), flat(other[1])))


def asked_and_told(policy, X, R, told, turn, seed=3):
    """(advice, state): advice is asked `turn` rounds or rows off; `told` says what was played."""
    p, rng, asking = policy.params, np.random.default_rng(3), np.random.default_rng([3, seed])
    state, advice = policy.init(p), []
    for t, arm in enumerate(told):
        noting = not NOTES.isdisjoint(state._fields)
        rows = np.roll(X[t], turn, axis=0) if noting else X[t - turn].copy()
        advice.append(policy.select(p, state, rows, asking))
        state = policy.update(p, state, arm, X[t, arm].copy(), R[t, arm], rng)
    return np.array(advice), state


def decisions(policy, state):
    """Advice in one state on many new rows: all that counts of a state, without its scratch."""
    X = stream_for(policy, 200)[0][::-1]
    rng = np.random.default_rng(4)
    return np.array([policy.select(policy.params, state, rows.copy(), rng) for rows in X])


@pytest.fixture(scope="session")
def checked(tmp_path_factory):
    """Every policy on few and many rows, compiled with bounds checks into a cache of their own."""
    cache = str(Path(_jit.CACHE).with_name("bounds"))
    return streams.in_a_process(
        tmp_path_factory, "bounds", 900, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=cache
    )


@pytest.mark.slow
@pytest.mark.xdist_group("bounds")
@pytest.mark.parametrize("K", ROWS)
@every_policy
def test_kernels_stay_in_their_arrays_whatever_the_number_of_rows(module, K, checked):
    """A policy made for other arms refuses them in words; every other one plays, bounds checked."""
    arms = checked[module, K]
    if isinstance(arms, str):
        assert "with a number of arms K=" in arms
    else:
        assert arms.min() >= 0
        assert arms.max() < K
        assert np.array_equal(arms, streams.rows_played(module, K))


@pytest.mark.xdist_group("interpreted")
@every_policy
def test_compiled_equals_interpreted_to_the_bit(policy, module, interpreted):
    X, R, _ = stream_for(policy)
    arms, state = run(policy, X, R)
    streams.check_interpreted(arms, state, interpreted[module])


@every_policy
def test_guarantee_is_complete(policy):
    g = policy.guarantee
    assert g.model in {"none", "local", "shuffle", "joint", "central"}
    assert g.neighbours
    assert g.unit
    assert g.epsilon > 0
    assert 0 <= g.delta <= 1
    assert str(g)
    assert (g.model == "none") == (str(g) == "no privacy")
    if g.model == "none":
        assert (g.epsilon, g.delta) == (np.inf, 1.0)
    assert g.claimed is None or len(g.claimed) == 2


@every_policy
def test_policy_pickles(policy):
    assert streams.pickled(policy).play is policy.play


@every_policy
def test_simulate_does_not_depend_on_company_or_order(policy):
    X, R, mu = stream_for(policy)
    company = streams.example("random").renamed("company")
    env, seeds = replay(X, R, mu), [1, 2]
    alone = simulate(env, [policy], 400, seeds).of(policy.name)
    assert same_bits(alone, simulate(env, [policy, company], 400, seeds).of(policy.name))
    assert same_bits(alone, simulate(env, [company, policy], 400, seeds).of(policy.name))
