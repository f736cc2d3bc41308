"""The laboratory knows the laws that are declared, and refuses others."""

import pytest

from companion.audits.laboratory import laws, measure
from companion.lplr import ssp

(CASE,) = ssp.audit_instances()


def relabelled(*names):
    """The case of the sufficient statistics with other names for the laws of its two parts."""
    ((kernel, read),) = CASE.releases.items()

    def other(*args):
        return [(name, part) for name, (_, part) in zip(names, read(*args), strict=True)]

    return CASE._replace(releases={kernel: other})


def test_the_laws_of_a_case_are_those_that_it_declares():
    assert laws(CASE) == {"laplace", "wishart"}


def test_an_unknown_law_and_laws_of_two_kinds_are_refused():
    with pytest.raises(ValueError, match="laws must be some of"):
        measure(relabelled("cauchy", "wishart"))
    with pytest.raises(ValueError, match="laws must be of one kind"):
        measure(relabelled("gaussian", "wishart"))
