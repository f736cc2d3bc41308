"""What is described of samplers: the tails of their laws."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.accounting import privacy
from companion.kernels import tree
from evidence.measure import samplers


@pytest.fixture(scope="module")
def table():
    found, over = samplers.samplers(1.0, 1e-5, np.random.default_rng(1))
    assert 1.0 < over < 1.1
    return found.set_index("sampler")


def test_one_in_a_thousand_exceeds_what_the_law_says(table):
    """The quantile of 40 000 draws (3000 for the sums) has a relative error below a
    tenth."""
    sigma = privacy.gaussian_scale(1.0, 1e-5)
    F = (tree.root_coefficients(1023) ** 2).sum()
    normal = sps.norm.isf(5e-4) * sigma
    exact = {
        "Laplace": np.log(1000.0),
        "Gaussian": normal,
        "binomial": normal,
        "tree, T = 1,023": normal * 10.0,  # ten levels, ten one-bits
        "square root, T = 1,023": normal * F,
    }
    for name, size in exact.items():
        assert table.loc[name, "1 in 1000 exceeds"] == pytest.approx(size, rel=0.2), name
