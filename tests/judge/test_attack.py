"""The general attack: its streams, its statistic, its trials, and what a run says
aloud."""

import judged
import numpy as np
import pytest

from companion.accounting.privacy import ADD_OR_REMOVE
from companion.baselines.ldp_linucb import ldp_linucb
from companion.core import Universe
from evidence.attacks.audit import need_neighbours
from evidence.judge import attack, checks
from evidence.judge.load import Child, load


@pytest.mark.parametrize("world", [Universe(low=0.0, offset=True), Universe()])
def test_pairs_differ_in_one_record_of_the_universe(world):
    policy = ldp_linucb(3, 400, epsilon=1.0, delta=0.01)
    for mechanism, a, b, _, _, name, _ in attack.neighbours(policy, world):
        user = mechanism.user
        need_neighbours(a, b, user)
        assert any((x != y).any() for x, y in zip(a, b, strict=True)), name
        far = "too large" in name
        for X, R in (a, b):
            outside, off = world.outside(X[user, 0], R[user, 0])
            assert (outside, off) == (far, far and R[user, 0] != 0.0), name


def apart(a, b, c, d, pooled=False):
    """How far runs c and d are apart, in their spread, by the chain that is fitted to a
    and b."""
    weights = attack.chain(a, b, 2, pooled)
    there = attack.score(weights, c, 2)
    here = attack.score(weights, d, 2)
    return (there.mean() - here.mean()) / np.sqrt(0.5 * (there.var() + here.var()))


def test_the_chain_finds_what_tells_two_laws_apart():
    rng = np.random.default_rng(1)
    even = rng.integers(0, 2, (2_000, 5))
    follows = even.copy()
    follows[:, 3] = follows[:, 2]  # every arm alone is as likely as before
    assert apart(follows, even, follows, even) > 0.5
    assert not attack.chain(even, even, 2).any()


def test_a_small_leak_that_goes_on_shows_in_pooled_rounds():
    rng = np.random.default_rng(2)
    even = (rng.random((120, 200)) < 0.5).astype(int)
    often = (rng.random((120, 200)) < 0.55).astype(int)
    data = often[:60], even[:60], often[60:], even[60:]
    assert apart(*data, True) > apart(*data) + 0.4


@pytest.mark.parametrize("words", [[], ["log", "prints 'reward", "os.system b'true'"]])
def test_what_a_run_says_aloud_is_seen(tmp_path, words):
    line = "    randomize(p, x, r, rng, s.x, s.message)\n"
    log = (
        f'{line}    print("reward", r)\n    open({str(tmp_path / "log")!r}, '
        '"a").close()\n    __import__("os").system("true")\n'
    )
    child = Child(judged.written(tmp_path, "loud", (line, log if words else line)), 60.0)
    (said,) = child.ask(checks.checked, "a run")
    assert said["outcome"] == ("broken" if words else "holds")
    assert all(word in said["found"] for word in words)


def test_a_replaced_record_costs_two_steps_where_one_is_added_or_removed():
    """(2 epsilon, (1 + e^epsilon) delta): 20 runs show at most 0.716 at 0.0372."""
    policy = ldp_linucb(2, 9, epsilon=1.0, delta=0.01)
    promise = policy.guarantee._replace(neighbours=ADD_OR_REMOVE)
    found = attack.general(load(policy._replace(guarantee=promise)), True, 40, 1)
    assert "2 is promised for two steps (20 counted runs" in found["found"]
    assert "show at most 0.716" in found["found"]
