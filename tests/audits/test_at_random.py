"""Records drawn at random: the loss of mixtures, where nothing is random and where it is."""

import pytest

from companion.accounting.privacy import gaussian_epsilon
from companion.audits.at_random import sampled_epsilon


def test_one_record_of_one_is_plain_normal_noise():
    """Outputs are read on a grid of a thousand cells, which loses a little of it."""
    exact = gaussian_epsilon(0.01, 2.0)
    found = sampled_epsilon(2.0, 1, 1, 0.01)
    assert found <= exact + 1e-4
    assert found == pytest.approx(exact, rel=0.01)


def test_a_draw_among_many_loses_less_and_every_step_adds():
    one, five = sampled_epsilon(1.0, 1, 1, 0.01), sampled_epsilon(1.0, 5, 1, 0.01)
    assert five < one / 2
    assert five < sampled_epsilon(1.0, 5, 4, 0.01) < 4 * one
