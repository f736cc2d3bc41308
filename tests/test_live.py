"""A run of one's own: what was clipped is told, a saved run goes on to the bit."""

import json
import os
import pickle
import warnings

import numpy as np
import pytest
import streams
from streams import flat, same_bits, stream_for

from companion import core
from companion.baselines.linucb import linucb
from companion.baselines.private_linucb import jdp_linucb
from companion.live import Live

every_policy = pytest.mark.parametrize("name", streams.names())
X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def feed(live, X, R, rounds):
    arms = []
    for t in rounds:
        arms.append(live.select(X[t]))
        live.update(arms[-1], R[t, arms[-1]])
    return arms


@every_policy
@pytest.mark.parametrize("waiting", [False, True])
def test_a_saved_run_goes_on_to_the_bit(name, waiting, tmp_path):
    """Saved after 150 rounds, or with a question open, and loaded into a fresh policy."""
    policy, file = streams.example(name), tmp_path / "run.npz"
    X, R, _ = stream_for(policy, 300)
    live = policy.start(5)
    feed(live, X, R, range(150))
    if waiting:
        asked = live.select(X[150])
    live.save(file)
    again = Live.load(file, pickle.loads(pickle.dumps(policy)))
    assert again.report() == live.report()
    assert repr(again) == repr(live)
    assert all(map(same_bits, flat(live.state), flat(again.state)))
    if waiting:
        live.update(asked, R[150, asked])
        again.update(asked, R[150, asked])
    rest = range(150 + waiting, 300)
    assert feed(again, X, R, rest) == feed(live, X, R, rest)
    assert all(map(same_bits, flat(live.state), flat(again.state)))
    assert again.rng.bit_generator.state == live.rng.bit_generator.state
    assert [type(a) for a in again.state] == [type(a) for a in live.state]


@every_policy
def test_clipped_records_are_counted_as_the_policy_counts_them(name):
    """Live's count by cause agrees with the policy's own, on records that are often outside."""
    policy = streams.example(name)
    X, R, _ = stream_for(policy, 200)
    X, R = X * np.linspace(0.5, 1.5, 200)[:, None, None], R * np.linspace(0.9, 1.1, 200)[:, None]
    live = policy.start(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        feed(live, X, R, range(200))
    found = live.report().clipped
    if found is None:
        assert not hasattr(live.state, "clipped")
        return
    own = getattr(live.state, "clipped", None)
    if own is not None:
        assert found["records"] == own
    assert max(found["contexts"], found["rewards"]) <= found["records"]
    assert found["records"] <= found["contexts"] + found["rewards"]


def test_every_private_policy_declares_its_universe():
    for name in streams.names():
        policy = streams.example(name)
        if policy.guarantee.model != "none":
            assert policy.start(0).report().clipped is not None, name


def test_one_warning_when_many_records_are_clipped():
    live = jdp_linucb(3, 400, epsilon=1.0, delta=0.1).start(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live.select(5.0 * X)
        live.update(0, 7.0)  # one record is not many
        assert live.report().clipped == {"contexts": 1, "rewards": 1, "records": 1}
    live.select(5.0 * X)
    with pytest.warns(
        UserWarning, match=r"2 of 2 records were clipped: 'JDP-LinUCB' takes Universe"
    ):
        live.update(1, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            live.select(5.0 * X)
            live.update(1, 0.5)
    assert live.report().clipped == {"contexts": 22, "rewards": 1, "records": 22}
    assert live.report().arms == {0: 1, 1: 21}
    assert live.report().rounds == 22


def test_one_percent_is_not_many():
    live = jdp_linucb(3, 1000, epsilon=1.0, delta=0.1).start(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(600):
            live.select(X)
            live.update(0, 2.0 if t in (300, 400, 500) else 0.5)
    assert live.report().clipped["rewards"] == 3


def test_a_run_says_what_it_is():
    live = jdp_linucb(3, 400, epsilon=1.0, delta=0.1).start(0)
    assert live.guarantee == live.policy.guarantee
    assert repr(live).startswith("<Live JDP-LinUCB: 0 rounds; (1, 0.1)-joint DP")
    live.select(X)
    assert "waits for a reward" in repr(live)
    assert linucb(3).start(0).report().clipped is None


@pytest.mark.parametrize("seed", ["abc", -1, 1.5, True, [1], np.nan, np.random.default_rng(0)])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError, match="seed must be an integer >= 0"):
        linucb(3).start(seed)


def test_seeds_of_all_sizes_and_sequences_are_seeds():
    def drawn(seed):
        return linucb(3).start(seed).rng.random()

    for seed, same in ((0, 0), (3.0, 3), (1 << 100, 1 << 100), (np.random.SeedSequence(3), 3)):
        assert drawn(seed) == np.random.default_rng(same).random()
    assert drawn(None) != drawn(None)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (linucb(3), "policy is 'JDP-LinUCB', here it is 'LinUCB'"),
        (jdp_linucb(3, 500, epsilon=1.0, delta=0.1), "params.T is '400', here it is '500'"),
        (jdp_linucb(3, 400, epsilon=2.0, delta=0.1), "guarantee is"),
        (jdp_linucb(3, 400, epsilon=1.0, delta=0.1, ridge=2.0), "params.ridge is '1.0'"),
    ],
)
def test_a_run_of_another_policy_or_parameter_is_refused_by_name(other, named, tmp_path):
    file = tmp_path / "run.npz"
    jdp_linucb(3, 400, epsilon=1.0, delta=0.1).start(0).save(file)
    with pytest.raises(ValueError, match=f"its {named}"):
        Live.load(file, other)


def test_a_run_of_another_version_is_refused_by_name(tmp_path, monkeypatch):
    file = tmp_path / "run.npz"
    linucb(3).start(0).save(file)
    monkeypatch.setattr("companion.__version__", "9.9")
    with pytest.raises(ValueError, match=r"its version is '.*', here it is '9.9'"):
        Live.load(file, linucb(3))


@pytest.mark.parametrize("content", [b"", b"nothing", pickle.dumps({"about": 1})])
def test_what_is_no_saved_run_is_refused(content, tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="path must lead to a saved run"):
        Live.load(file, linucb(3))


class Trap:
    """Its pickle makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled(tmp_path):
    file, trap = tmp_path / "run.npz", tmp_path / "sprung"
    linucb(3).start(0).save(file)
    with np.load(file) as saved:
        arrays = dict(saved)
    arrays["state.b"] = np.array([Trap(trap)], dtype=object)
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="path must lead"):
        Live.load(file, linucb(3))
    assert not trap.exists()


def test_a_state_of_another_shape_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    linucb(3).start(0).save(file)
    with np.load(file) as saved:
        arrays = dict(saved)
    arrays["state.b"] = np.zeros(4)
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"its state\.b does not fit"):
        Live.load(file, linucb(3))


def test_saving_is_all_or_nothing_and_for_the_owner_alone(tmp_path, monkeypatch):
    file, live = tmp_path / "run.npz", linucb(3).start(0)
    live.save(file)
    before = file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    feed(live, X[None], np.ones((1, 2)), [0])

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        live.save(file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_the_text_in_the_file_can_be_read(tmp_path):
    file = tmp_path / "run.npz"
    linucb(3).start(0).save(file)
    with np.load(file, allow_pickle=False) as saved:
        assert json.loads(str(saved["about"]))["policy"] == "LinUCB"


SIZES = [core.LARGEST_RECORD, -core.LARGEST_RECORD, 1e-200]


@every_policy
@pytest.mark.parametrize("size", SIZES)
def test_contexts_and_rewards_of_any_admitted_size_leave_a_finite_state(name, size):
    policy = streams.example(name)
    X, R, _ = stream_for(policy, 40)
    X, R = X / np.abs(X).max() * size, np.full(R.shape, size)
    live = policy.start(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        feed(live, X, R, range(40))
    fresh = flat(policy.init(policy.params))
    for part, start in zip(flat(live.state), fresh, strict=True):
        assert (np.isfinite(part) | ~np.isfinite(start)).all()
        assert not np.isnan(part).any()
    with pytest.raises(ValueError, match=r"at most 1e\+30 in size"):
        live.select(np.full_like(X[0], 1e31))


def test_clipped_records_of_the_offset_sphere_are_counted_as_the_policy_counts_them():
    live = jdp_linucb(3, 400, epsilon=1.0, delta=0.1, universe="offset_sphere").start(0)
    rows = [(0.5, 0.5, half) for half in (np.sqrt(0.5), 0.5)] + [(0.6, 0.5, np.sqrt(0.5))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows:
            for r in (0.5, -0.5):
                live.select(np.array([row]))
                live.update(0, r)
    assert live.report().clipped == {"contexts": 4, "rewards": 3, "records": 5}
    assert live.state.clipped == 5
