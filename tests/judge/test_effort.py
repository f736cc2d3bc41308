"""How many runs an attack takes depends on the policy, the scale and the argument alone."""

import judged

from companion.baselines.linucb import linucb
from companion.judge.effort import Effort, effort
from companion.judge.subject import load


def test_numbers_are_fixed_and_plain_python_gets_fewer(tmp_path):
    plain, compiled = load(str(judged.written(tmp_path, "plain"))).policy, linucb(3)
    for quick in (True, False):
        assert all(
            a < b for a, b in zip(effort(plain, quick), effort(compiled, quick), strict=True)
        )
    assert all(a < b for a, b in zip(effort(plain, True), effort(plain, False), strict=True))


def test_trials_that_are_asked_for_are_taken():
    assert effort(linucb(3), True, 40) == Effort(30, 40, 40)
    assert effort(linucb(3), True, 10**6).trials == 10**6
