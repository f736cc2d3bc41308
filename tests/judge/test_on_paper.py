"""Points on paper: budgets that a factory must refuse, by name."""

import pytest

from companion.accounting.privacy import Guarantee
from companion.baselines.private_linucb import ldp_linucb
from companion.judge import on_paper


def test_a_refusal_has_to_name_its_argument():
    on_paper.refusals(None, ldp_linucb)

    def careless(d, epsilon, delta):
        if not (epsilon > 0 and 0 < delta < 1):
            raise ValueError("bad input")

    with pytest.raises(on_paper.Broken, match=r"epsilon=-1\.0 does not name it"):
        on_paper.refusals(None, careless)
    with pytest.raises(on_paper.Broken, match=r"epsilon=-1\.0 is accepted"):
        on_paper.refusals(None, lambda epsilon: None)
    with pytest.raises(on_paper.Untested, match="more than the judge knows"):
        on_paper.refusals(None, lambda epsilon, other: None)


def test_a_guarantee_without_its_relation_is_incomplete():
    policy = ldp_linucb(3, 400, epsilon=1.0, delta=0.01)
    on_paper.guarantee(lambda K: policy)
    for g in (Guarantee("local", 1.0, 0.0, "", "user"), Guarantee("none", 1.0, 0.0, "x", "y")):
        with pytest.raises(on_paper.Broken):
            on_paper.guarantee(lambda K, g=g: policy._replace(guarantee=g))
