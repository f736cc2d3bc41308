"""Links against SciPy, their derivatives against differences, their tails against exact ones."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm

from companion.kernels import glm

Z = np.concatenate([np.linspace(-8, 8, 81), [-30.0, -37.0, 37.0]])
EXACT = {"linear": lambda z: z, "logistic": expit, "probit": ndtr}
every_link = pytest.mark.parametrize("link", glm.LINKS)


@every_link
def test_mean_is_exact_in_both_tails(link):
    got = [glm.mean(glm.need_link("link", link), z) for z in Z]
    assert got == pytest.approx(EXACT[link](Z), rel=1e-13, abs=0)


@every_link
@pytest.mark.parametrize(("lower", "upper"), [("mean", "slope"), ("slope", "bend")])
def test_derivatives_are_those_of_differences(link, lower, upper):
    number, h = glm.need_link("link", link), 1e-5
    for z in np.linspace(-4, 4, 33):
        f, derivative = getattr(glm, lower), getattr(glm, upper)
        difference = (f(number, z + h) - f(number, z - h)) / (2 * h)
        assert derivative(number, z) == pytest.approx(difference, abs=1e-9)


def test_far_scores_neither_overflow_nor_lose_their_tail():
    for z in (-800.0, 800.0):
        for number in (glm.LOGISTIC, glm.PROBIT):
            values = [f(number, z) for f in (glm.mean, glm.slope, glm.bend)]
            assert np.isfinite(values).all()
    assert glm.mean(glm.LOGISTIC, -700.0) > 0.0
    assert glm.slope(glm.PROBIT, 1.3) == pytest.approx(norm.pdf(1.3), rel=1e-14)


def test_an_unknown_link_is_refused():
    with pytest.raises(ValueError, match="link must be one of 'linear', 'logistic', 'probit'"):
        glm.need_link("link", "cauchit")
