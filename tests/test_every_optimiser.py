"""What every optimiser must satisfy.  An optimiser is tested by having an `example()`."""

import numpy as np
import pytest
import runs
from streams import flat, learn, records_for, same_bits

from companion import contract, optimisers
from companion.streaming_sco.environments import excess_risk, regression
from companion.streaming_sco.environments import flat as ones
from evidence.measure.record import PLAIN

NAMES = list(optimisers.TABLE)
STREAMING = [n for n in NAMES if optimisers.example(n).step is not None]
every_optimiser = pytest.mark.parametrize("name", NAMES)
every_stream = pytest.mark.parametrize("name", STREAMING)


@pytest.fixture
def optimiser(name):
    return optimisers.example(name)


@every_stream
def test_cutting_the_records_changes_nothing(optimiser):
    X, Y = records_for(optimiser)
    whole, state = learn(optimiser, X, Y)
    cut, state_cut = learn(optimiser, X, Y, cuts=(1, 2, 7, 128, 256, 399))
    assert same_bits(whole, cut)
    assert all(map(same_bits, flat(state), flat(state_cut)))


@every_optimiser
def test_the_records_are_not_touched_and_the_release_is_that_of_the_state(optimiser):
    X, Y = records_for(optimiser)
    before = X.copy(), Y.copy()
    out, state = learn(optimiser, X, Y)
    assert same_bits(X, before[0])
    assert same_bits(Y, before[1])
    assert same_bits(out[-1], state.theta)
    assert (out[-1] != 0).any()
    assert state.clipped > 0


@every_stream
def test_live_refuses_what_it_cannot_read_and_changes_nothing(optimiser):
    X, Y = records_for(optimiser)
    live = optimiser.start(5)
    for x, y in zip(X[:-1], Y[:-1], strict=True):
        live.update(x, y)
    for x, y in (
        (np.ones(4), 0.0),
        (np.full(3, np.nan), 0.0),
        (X[0], np.inf),
        ("a", 0.0),
    ):
        refused = pytest.raises(
            ValueError,
            match=r"records with d=3|finite|y must|array of numbers",
        )
        with runs.unchanged(live), refused:
            live.update(x, y)
    live.update(X[-1], Y[-1])
    random = live.rng.bit_generator.state
    refused = pytest.raises(ValueError, match="at most n=400 records; got 401")
    with runs.unchanged(live), refused:
        live.update(X[0], Y[0])
    assert random == live.rng.bit_generator.state
    assert live.records == 400


def test_a_batch_method_takes_no_stream_and_all_records_at_once():
    optimiser = optimisers.example("noisy_sgd")
    with pytest.raises(ValueError, match="batch method"):
        optimiser.start(1)
    with pytest.raises(ValueError, match="exactly n=60 records; got 59"):
        contract.need_records((optimiser,), np.zeros((59, 3)), np.zeros(59))


@every_optimiser
def test_compiled_equals_interpreted_to_the_bit(optimiser):
    X, Y = records_for(optimiser)
    out, state = learn(optimiser, X, Y)
    slow, expected = learn(PLAIN(optimiser), X, Y)
    assert same_bits(out, slow)
    assert all(map(same_bits, flat(state), flat(expected)))


@every_stream
def test_risk_does_not_depend_on_company_or_grid(optimiser):
    world = regression(1.5, ones(3, 1.5))
    n = 400
    company = optimisers.example("vertex_fw").renamed("company")
    alone = excess_risk(world, [optimiser], n, [1, 2]).final
    both = excess_risk(world, [company, optimiser], n, [1, 2], grid=[7, 100]).of(
        optimiser.name
    )
    assert same_bits(alone[:, 0], both[:, -1].copy())


@pytest.mark.parametrize(
    ("name", "n", "options", "words"),
    [
        ("streaming_fw", 401, {}, "at most n=400 records; got 401"),
        ("noisy_sgd", 60, {"grid": [10]}, r"grid must be \[n\] for batch methods"),
        ("streaming_fw", 400, {"grid": [10, 10]}, "grid must hold increasing"),
    ],
)
def test_the_runner_refuses_what_it_cannot_give(name, n, options, words):
    with pytest.raises(ValueError, match=words):
        excess_risk(
            regression(1.5, ones(3, 1.5)),
            [optimisers.example(name)],
            n,
            [1],
            **options,
        )


@every_stream
def test_threads_share_a_stream_and_none_passes_its_horizon(optimiser):
    X, Y = records_for(optimiser)
    watched, overlaps = runs.watched(optimiser, "step")
    live = watched.start(0)
    records = list(zip(X, Y, strict=True))
    refusals = runs.in_threads(lambda name: runs.learn_until_refused(live, records))
    assert all(f"at most n={len(X)} records" in said for said in refusals)
    assert overlaps == []
    assert live.records == len(X)


@every_stream
def test_a_stream_is_not_copied_and_not_forked(optimiser):
    X, Y = records_for(optimiser)
    live = optimiser.start(0)
    live.update(X[0], Y[0])
    runs.check_not_copied(live)
    with runs.unchanged(live):
        runs.check_not_forked([lambda: live.update(X[1], Y[1])])
    live.update(X[1], Y[1])
    assert live.records == 2
