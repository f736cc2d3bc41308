"""What every policy must satisfy.  A policy is tested by having an `example()`."""

import copy

import numpy as np
import pytest
import runs
import streams
from streams import flat, run, same_bits, stream_for

from companion import policies
from companion.contract import horizon, need_contexts
from companion.live import Live
from evidence.judge import checks
from evidence.measure.record import PLAIN

ROUNDS = {1: 100, 2: 100, 4: 400, 7: 100, 300: 30, 5000: 4}  # of a number of rows
every_policy = pytest.mark.parametrize("module", policies.TABLE)


@pytest.fixture
def policy(module):
    return streams.example(module)


@every_policy
@pytest.mark.parametrize("point", checks.CHECKS)
def test_the_contract_holds(module, point):
    """What `evidence.judge` asks of any policy."""
    checks.CHECKS[point](lambda K: streams.example(module, K))


@pytest.mark.parametrize("K", ROUNDS)
@every_policy
def test_compiled_equals_interpreted_to_the_bit_whatever_the_number_of_rows(module, K):
    """What leaves an array raises IndexError where it is interpreted.  A policy made for
    other arms refuses them in words."""
    policy = streams.example(module, K)
    if getattr(policy.params, "K", K) != K:
        with pytest.raises(ValueError, match="with a number of arms K="):
            need_contexts([policy], np.zeros((1, K, policy.params.d)))
        return
    X, R = stream_for(policy, ROUNDS[K], K)
    arms, state = run(policy, X, R)
    slow, expected = run(PLAIN(policy), X, R)
    assert np.array_equal(arms, slow)
    assert all(map(same_bits, flat(state), flat(expected)))


@every_policy
def test_threads_share_a_run_and_none_passes_its_horizon(policy):
    X, _ = stream_for(policy, 1)
    T = horizon(policy) or 8 * 25
    watched, overlaps = runs.watched(policy, "select", "update")
    live = watched.start(0)
    rounds = T // runs.THREADS + 1
    if horizon(policy) is None:
        rounds = 25
    runs.in_threads(lambda name: runs.ask_until_refused(live, X[0], name, rounds))
    assert overlaps == []
    assert (live.rounds, sum(live.report().arms.values()), live.open) == (T, T, {})


@every_policy
def test_a_run_is_not_copied_and_not_forked(policy, tmp_path):
    """The copy would draw the same noise; of a run that was saved and closed it is
    fresh."""
    X, R = stream_for(policy, 2)
    live = policy.start(0)
    live.save(tmp_path / "run")
    arm = live.select(X[0], "a")
    runs.check_not_copied(live)
    with pytest.raises(TypeError, match="the generator of a run cannot be copied"):
        copy.deepcopy(live.rng)
    calls = [
        lambda: live.select(X[1], "b"),
        lambda: live.update(arm, R[0, arm], "a"),
        lambda: live.drop("a"),
        lambda: live.save(tmp_path / "run"),
        lambda: live.report(),
    ]
    with runs.unchanged(live):
        runs.check_not_forked(calls)
        held = runs.in_child(lambda: Live.load(tmp_path / "run", policy))
    assert "another run holds" in held
    live.update(arm, R[0, arm], "a")
    live.save(tmp_path / "run")
    live.close()
    runs.check_not_copied(Live.load(tmp_path / "run", policy))
