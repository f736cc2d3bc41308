"""Normal noise by the accountant library, against the closed form; differences entry by entry."""

import numpy as np
import pytest

from companion.accounting.privacy import gaussian_epsilon
from companion.audits.normal_noise import largest, normal_epsilon, sensitivity
from companion.baselines.private_linucb import jdp_audits


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5])
def test_epsilon_by_two_routes(mu, delta):
    assert normal_epsilon(delta, mu) == pytest.approx(gaussian_epsilon(delta, 1 / mu), abs=1e-6)


def test_no_movement_and_no_noise():
    assert normal_epsilon(0.1, 0.0) == 0.0
    assert normal_epsilon(0.1, np.inf) == np.inf
    assert normal_epsilon(0.1, 0.01) == 0.0  # delta pays for all of it


def test_the_largest_difference_of_several_draws_is_taken_entry_by_entry():
    """Rows differ by (1, -3) in one draw and by (-2, 1) in the other."""
    D = largest([np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([[0.0, 1.0], [2.0, 0.0]])])
    assert D[0, 1].tolist() == [-2.0, -3.0]
    assert D[0, 0].tolist() == [0.0, 0.0]


def test_what_no_noise_hides_has_no_bound():
    case = jdp_audits()[1]
    bare = case.policy._replace(params=case.policy.params._replace(sigma=0.0))
    ends, *_ = sensitivity(case._replace(policy=bare), "gaussian", n=200)
    assert ends == (np.inf, np.inf)
