"""Noise and guarantee of the policies that release a record, or its statistics, with Gaussian
noise.
"""

import numpy as np

from companion.checks import need_choice
from companion.core import NO_PRIVACY, Guarantee
from companion.privacy import (
    REPLACE_RECORD,
    UNIVERSES,
    gaussian_epsilon,
    gaussian_scale,
    need_budget,
)


def gaussian_release(
    model, epsilon, delta, calibration, universe, sensitivities, *, paper=None, releases=1
):
    """(sigma, Guarantee) of one Gaussian release of one user's record, or of several at once.

    model of the Guarantee; sensitivities: universe -> L2 sensitivity of one release; a record
    enters `releases` >= 1 of them, which together have sqrt(releases) times that sensitivity.
    calibration "corrected" is the exact sigma for it; "paper" the classical formula, unchecked, for
    the sensitivity `paper` (None: the true one), and the Guarantee says what it really gives.
    epsilon = inf: no noise, no privacy.  Raises ValueError on anything else.
    """
    epsilon, delta = need_budget(epsilon, delta)
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("universe", universe, UNIVERSES)
    if epsilon == np.inf:
        return 0.0, NO_PRIVACY
    sensitivity, claimed = sensitivities[universe] * np.sqrt(releases), None
    if calibration == "corrected":
        sigma = gaussian_scale(epsilon, delta, sensitivity)
    else:
        printed = sensitivity if paper is None else paper
        sigma, claimed = (
            gaussian_scale(epsilon, delta, printed, "classical-unchecked"),
            (epsilon, delta),
        )
    true = gaussian_epsilon(delta, sigma, sensitivity)
    return sigma, Guarantee(model, true, delta, REPLACE_RECORD, f"user ({universe})", claimed)
