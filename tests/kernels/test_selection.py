"""Private selection against its exact laws; false alarms below 1e-6."""

import numpy as np
import pytest
from counted import outputs
from scipy import stats as sps

from companion.jit import jit
from companion.kernels import mechanisms as selection

ALARM = 1e-7  # false-alarm rate of one comparison; no test makes more than ten
SIGMAS = 6.0  # a mean is further off than this with probability 2e-9


@jit
def chosen(rng, scores, scale, gumbel, out):
    for i in range(out.shape[0]):
        if gumbel:
            out[i] = selection.exponential_mechanism(rng, scores, scale)
        else:
            out[i] = selection.noisy_max(rng, scores, scale)


SCORES = np.array([0.3, -1.0, 1.1, 0.9])


def test_exponential_mechanism_law():
    """Chi-square against probabilities proportional to exp(score/scale)."""
    n, scale = 200_000, 0.7
    out = np.empty(n, np.int64)
    chosen(np.random.default_rng(11), SCORES, scale, True, out)
    law = np.exp(SCORES / scale)
    assert sps.chisquare(np.bincount(out, minlength=4), n * law / law.sum()).pvalue > ALARM


def test_noisy_max_law():
    """Of two scores a gap g apart, the lower wins with P(Laplace + Laplace > g), and of many the
    argmax of the same draws."""
    n, scale, gap = 200_000, 0.7, 0.8
    out = np.empty(n, np.int64)
    chosen(np.random.default_rng(12), np.array([gap, 0.0]), scale, False, out)
    lower = 0.5 * (1.0 + gap / (2.0 * scale)) * np.exp(-gap / scale)
    assert abs(out.mean() - lower) < SIGMAS * np.sqrt(lower * (1 - lower) / n)
    fast, slow = np.random.default_rng(13), np.random.default_rng(13)
    for _ in range(100):
        e = slow.standard_exponential((4, 2))
        twin = np.argmax(SCORES + scale * (e[:, 0] - e[:, 1]))
        assert selection.noisy_max(fast, SCORES, scale) == twin


@jit
def signed(rng, x, scale, gumbel, out):
    top = np.abs(x).max()
    for i in range(out.shape[0]):
        if gumbel:
            out[i] = selection.signed_exponential(rng, x, scale, top)
        else:
            out[i] = selection.signed_noisy_max(rng, x, scale, top)


SIGNED = {  # scores and scale: noise hides them, some stand out, one does
    "hidden": (np.array([0.3, -1.0, 1.1, 0.9, 0.0, -0.2]), 4.0),
    "some": (np.array([0.3, -1.0, 1.1, 0.9, 0.0, -0.2]), 0.5),
    "one": (np.array([0.3, -1.0, 4.0, 0.9, 0.0, -0.2]), 0.6),
    "late": (np.array([0.0, 0.0, 0.0, 0.0, -2.0]), 0.7),
    "alone": (np.array([0.4]), 0.7),
}


@pytest.mark.parametrize("case", SIGNED)
def test_the_signed_exponential_mechanism_has_its_law(case):
    (x, scale), n = SIGNED[case], 200_000
    out = np.empty(n, np.int64)
    signed(np.random.default_rng(14), x, scale, True, out)
    law = np.exp(np.stack([x, -x], axis=1).ravel() / scale)
    assert sps.chisquare(np.bincount(out, minlength=len(law)), n * law / law.sum()).pvalue > ALARM


@pytest.mark.parametrize("case", SIGNED)
def test_the_signed_noisy_max_has_the_law_of_noise_on_every_score(case):
    (x, scale), n = SIGNED[case], 200_000
    fast, slow = np.empty((2, n), np.int64)
    signed(np.random.default_rng(15), x, scale, False, fast)
    chosen(np.random.default_rng(16), np.stack([x, -x], axis=1).ravel(), scale, False, slow)
    seen = np.array([np.bincount(out, minlength=2 * len(x)) for out in (fast, slow)])
    assert sps.chi2_contingency(seen[:, seen.sum(axis=0) > 20]).pvalue > ALARM


def test_signed_choices_draw_few_numbers_where_noise_hides_the_scores():
    """Of 1600 scores; one for each of them would be 3.2 million."""
    x, out = np.random.default_rng(1).uniform(-1.0, 1.0, 800), np.empty(2_000, np.int64)
    for gumbel, most in ((True, 3.0), (False, 45.0)):
        rng = np.random.default_rng(2)
        before = rng.bit_generator.state
        signed(rng, x, 3.0, gumbel, out)
        assert outputs(before, rng.bit_generator.state) < most * len(out)


def test_selection_without_noise_is_the_first_maximum():
    for choose in (selection.noisy_max, selection.exponential_mechanism):
        assert choose(np.random.default_rng(0), np.array([1.0, 2.0, 2.0]), 0.0) == 1
