"""Policies played interpreted and watched do what they do."""

import inspect

from companion import catalogue
from companion.audits.neighbours import filler
from companion.audits.watching import play


def case_of(name, number):
    return inspect.getmodule(catalogue.policies()[name].example).disclosures()[number]


def test_some_users_of_joint_glm_explore_and_others_exploit():
    case = case_of("joint_glm", 3)
    run = play(case, filler(case), seed=1)
    explored = run.state[1].rows.side
    assert 2 <= explored.sum() <= case.rounds - 2
    assert sum(c.kernel.__name__ == "release_gradient" for c in run.calls) == 2
    assert run.state[1].fits.tolist() == [1, 1]
