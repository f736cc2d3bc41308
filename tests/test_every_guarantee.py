"""Every guarantee of the package is measured from the running algorithm.

All seeds are fixed; noise of a correct policy fails a test with a chance of a few times
`ALARM`.
"""

import inspect

import pytest

from companion import optimisers, policies
from companion.core import Optimiser
from evidence.attacks.audit import instances
from evidence.attacks.table import known
from evidence.measure.compose import measure, verdict

MADE = {}
FACTORIES = {}
for table in (policies, optimisers):
    for name in table.TABLE:
        MADE[name] = table.example(name)
        FACTORIES[name] = table.factory(name)
PRIVATE = [n for n, made in MADE.items() if made.guarantee.model != "none"]
ROWS = {n: known(n).measured() for n in PRIVATE}
# without such a function in `evidence.attacks`: what the example declares, for a short while
OFFERED = {n: ROWS[n] or instances(MADE[n], rounds=3) for n in PRIVATE}
CASES = []  # `make test` measures every algorithm once, in the first of its calibrations
for name, offered in OFFERED.items():
    CASES.append(pytest.param(name, 0))
    for i in range(1, len(offered)):
        CASES.append(pytest.param(name, i, marks=pytest.mark.nightly))


def test_make_test_measures_every_private_algorithm_once():
    """A count, which no slow machine changes: one case more of each doubles what it
    takes."""
    assert [c.values[0] for c in CASES if not c.marks] == PRIVATE


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_policy_offers_instances_to_measure(name):
    """In every calibration that it has."""
    cases = OFFERED[name]
    assert all(c.policy.guarantee.model != "none" for c in cases)
    taken = inspect.signature(FACTORIES[name]).parameters
    calibrated = "calibration" in taken or any(
        p.kind is p.VAR_KEYWORD for p in taken.values()
    )
    # What was asked for is given, or claimed; optimisers may be calibrated by a bound
    # (zCDP).
    least = 0.75 if isinstance(cases[0].policy, Optimiser) else 0.95
    for case in cases:
        g = case.policy.guarantee
        asked = g.epsilon if g.claimed is None else g.claimed[0]
        assert least < asked <= 1 + 1e-9, f"{name} must be measured at epsilon = 1"
    own = [c.policy.guarantee.claimed is None for c in cases]
    assert any(own) or not calibrated
    assert not (calibrated and all(own)), (
        f"{name} has an argument `calibration`: a function {name}_measured in a module of "
        '`evidence.attacks` must give instances of "corrected" and of "paper"'
    )


@pytest.mark.parametrize(("name", "number"), CASES, ids=lambda v: str(v))
def test_guarantee_is_what_is_measured(name, number):
    case = OFFERED[name][number]
    holds, words = verdict(case.policy.guarantee, measure(case))
    # three rounds show little of a long horizon: the judge plays whole lives; and of an
    # instance whose bound may be loose by any factor only the lower end is compared
    if not ROWS[name] or case.bound_is_tight is None:
        assert holds is not False, words
    else:
        assert holds is True, words
