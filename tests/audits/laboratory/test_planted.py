"""Faults planted in kernels: the laboratory objects to each, on lives that reach it.

A fault is a kernel whose source has other words in one place (`faults.edited`).
"""

import numpy as np
import pytest

from companion import policies
from companion.audits import faults
from companion.audits.laboratory import measure
from companion.audits.measures import ALARM
from companion.audits.neighbours import Leak
from companion.baselines import private_linucb
from companion.private_glm import joint_glm, shuffle_glm
from companion.streaming_sco import sco_bandit as sco

NOT_CLEARED = "a state that is not cleared between batches"
LATE = "an exact sum that chooses an arm late"
BARE = "a matrix without noise in some rounds"
TWICE = "a record that enters two learners"
PLANTED = [  # (kind, policy, its case, kernel, words, words instead)
    (NOT_CLEARED, "sdp_linucb", 3, private_linucb.learn_shuffled, "s.counts[:] = 0.0", "pass"),
    (NOT_CLEARED, "shuffle_glm", 3, shuffle_glm.analyse, "sums[:] = 0.0", "pass"),
    (LATE, "jdp_linucb", 0, private_linucb.select, "s.radius[0])",
     "s.radius[0]) if s.t[0] < 8 else int(s.exact[-1] > 0.0)"),
    (LATE, "sco_bandit", 2, sco.select, "z = dot(x, s.arms.theta[k])",
     "z = dot(x, s.arms.theta[k] if s.t[0] < 4 else -s.arms.total[k])"),
    (BARE, "jdp_linucb", 0, private_linucb.release, "+ s.nodes[row, i]",
     "+ (s.nodes[row, i] if t != 9 else 0.0)"),
    (BARE, "joint_glm", 3, joint_glm.release, "if sigma > 0.0:",
     "if sigma > 0.0 and t != 6:"),
    (TWICE, "sco_bandit", 2, sco.update, "if k == arm:", "if k == arm or s.t[0] >= 3:"),
    (TWICE, "joint_glm", 3, joint_glm.update, "row, s.V.exact)  # line 21",
     "row, s.V.exact); add_leaf(0.5, row, s.H.exact)"),
]  # fmt: skip


def case_of(name, number):
    return policies.example(name).audit.measured()[number]


def objected(case):
    """Whether the laboratory refuses the promise of a case."""
    try:
        found = measure(case)
    except Leak:
        return True
    promise = case.policy.guarantee.epsilon
    return found.bounded != (promise < np.inf) or found.low > promise or found.chance < ALARM


FIRST = [row for i, row in enumerate(PLANTED) if row[0] not in {r[0] for r in PLANTED[:i]}]


@pytest.mark.parametrize(
    ("kind", "name", "number", "kernel", "old", "new"),
    [  # `make check` plants each kind once
        pytest.param(*row, marks=[] if row in FIRST else [pytest.mark.slow]) for row in PLANTED
    ],
    ids=[f"{row[1]}: {row[0]}" for row in PLANTED],
)
def test_the_laboratory_objects(kind, name, number, kernel, old, new):
    with faults.edited(kernel, old, new):
        assert objected(case_of(name, number)), f"{kind} in {name}"


def test_make_check_plants_every_kind_once():
    assert sorted(row[0] for row in FIRST) == sorted({NOT_CLEARED, LATE, BARE, TWICE})
