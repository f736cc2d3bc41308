"""Parameters of LPLR: bins, noise scales from sensitivities and budgets, and the constants of its
intervals.

Source: Algorithms 3 to 5 and Lemmas 1 to 3 of the LPLR paper, whose privacy parameter alpha is
`epsilon` here.

Sensitivities, for two values of one user's (x, a, y) on one layer.  Let v = gamma^k phi_h, ||v|| <=
1, be the normalised vector in its bin.  Adding or removing the user in one bin changes the count by
1, the vector gamma^k y_h phi_h by at most sqrt(d) Y in L1 norm (|y_h| <= Y) and the matrix v v' by
at most 1 in nuclear norm.  Moving to another bin changes two bins; staying in one and changing the
value changes the vector by at most 2 sqrt(d) Y and the matrix by at most 2.  With b_c, b_v the
Laplace scales and c the Wishart scale, the message is (2/b_c + 2 sqrt(d) Y / b_v + 2/(2c))-LDP, a
third of epsilon for each term.  On layer 1, Y = 1; deeper, y_h = y - clip(prediction), so Y = 2.
The interval statistic is at most cap/gamma^k sqrt(s) in one bin and may move to another: 2 cap /
b_e.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import Guarantee
from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_options,
    need_positive,
    need_probability,
)

MAX_USERS = 10**18  # beyond, integer binomials lose precision
MAX_NODES = 10**6
MAX_DIMENSION = 64  # far beyond what is practical


class Params(NamedTuple):
    d: int  # dimension, and number of layers
    M: int  # bins per node; bin M collects vectors below gamma^-M and is never tracked
    log_gamma: float  # logarithm of the ratio gamma between the edges of neighbouring bins
    edge: np.ndarray  # (M+1,) gamma^-k
    count_scale: float  # b_c
    vector_scale: np.ndarray  # (d,) b_v on every layer
    matrix_scale: float  # c
    spread_scale: float  # b_e, noise of the interval statistic
    one_sided: bool  # matrix noise as printed (True) or a difference of two Wishart matrices
    clip: bool  # predictions are clipped to [-1, 1] before they enter a label
    cap: float  # largest half-width
    threshold: float  # a bin is active if its noisy share exceeds threshold / sqrt(n)
    flat: float  # kappa_3 gamma^2 (d+1)^4, 0 if calibrated
    tilt: float  # kappa_2 gamma d^1.5, 0 if calibrated
    calibrated: bool  # half-widths from the known noise (True) or from the constants flat and tilt
    z: float  # calibrated widths: number of standard deviations
    project: bool  # the eigenvalue is kept within the range it must lie in
    smallest_value: float  # smallest possible eigenvalue times (d-h+1), in units of gamma^(-2k)


def scales(d: int, epsilon: float, calibration: str):
    """(b_c, b_v by layer, c, b_e, one_sided, clip, cap), printed or corrected (see the module)."""
    root, printed = math.sqrt(d), calibration == "paper"
    layers = np.array([1.0] + [2.0] * (d - 1))  # Y_h
    noise = (3, 3 * root * np.ones(d), 4.5, 1) if printed else (6, 6 * root * layers, 3, 4)
    return *(b / epsilon for b in noise), printed, not printed, 1.0 if printed else 2.0


def widths(
    d: int,
    T: int,
    epsilon: float,
    gamma: float,
    *,
    constants: str = "calibrated",
    rho: float = 1.0,
    failure: float = 0.05,
    z: float = 3.0,
    threshold: float | None = None,
) -> tuple[float, float, float, bool, float]:
    """(threshold, flat, tilt, calibrated, z): constants of Lemmas 2 and 3, or the calibrated ones.

    Arguments as for `lplr_params`.
    """
    need_choice("constants", constants, ("theory", "scaled", "calibrated"))
    rho, z = need_float("rho", rho, 0.0, 1.0, open_low=True), need_float("z", z, 0.0)
    if constants == "theory" and rho != 1.0:
        raise ValueError(f'rho must be 1 for constants="theory"; got rho={rho}')
    failure = need_probability("failure", failure)
    # ln(48 d / (beta failure)) / epsilon with beta = ln gamma / ln T
    L = math.log(48 * d * math.log(T) / (math.log(gamma) * failure)) * rho / epsilon
    # Lemma 2; it implies the second test of Algorithm 5, line 10.
    needed = 43 * L * gamma**2 * (d + 1) ** 3
    flat, tilt = 300 * L * gamma**2 * (d + 1) ** 4, 118 * L * gamma * d**1.5  # Lemma 3
    if constants == "calibrated":
        # 4.4 standard deviations of the count's noise for d = 1; gamma is kept in [e, 4] as wider
        # bins need no more.
        needed, flat, tilt = 5 * d * min(max(gamma, math.e), 4.0) ** 2 / epsilon, 0.0, 0.0
    needed = needed if threshold is None else need_float("threshold", threshold, 0.0)
    return needed, flat, tilt, constants == "calibrated", z


def lplr_params(
    d: int,
    T: int,
    epsilon: float = 1.0,
    *,
    gamma: float = math.e,
    M: int | None = None,
    calibration: str = "corrected",
    project: bool = True,
    **constants,
) -> Params:
    """Parameters of one LPLR oracle.

    d >= 1; T >= 2: horizon (in estimation alone the number of users), which sets M; epsilon in (0,
    inf]; gamma > 1; M >= 1 overrides the number of bins.  calibration: "corrected" is private,
    "paper" are the printed noises.  project keeps the eigenvalue within its range.

    Half-widths: constants="theory" (as printed in Lemmas 1 to 3 for the printed noise; not proved
    for either noise), "scaled" (the same times rho in (0, 1]), or "calibrated" (the default; z=3
    >= 0 standard deviations of the known noise: no theorem); failure=0.05 in (0, 1) enters theory
    and scaled; threshold >= 0 overrides the activation threshold.  Raises ValueError on anything
    else.

    >>> lplr_params(2, 10**8).M
    10
    """
    need_options("lplr_params", constants, widths)
    d, T = need_int("d", d, 1, MAX_DIMENSION), need_int("T", T, 2, MAX_USERS)
    epsilon = need_positive("epsilon", epsilon, allow_inf=True)
    gamma = need_float("gamma", gamma, 1.0, open_low=True)
    if M is None:  # ceil(ln T / (2 ln gamma)): the smallest edge is at most T^(-1/2)
        M = max(1, math.ceil(math.log(T) / (2.0 * math.log(gamma)) - 1e-9))
    M = need_int("M", M, 1)
    if sum(float(M) ** h for h in range(1, d + 1)) > MAX_NODES:
        raise ValueError(f"M ** d must give at most {MAX_NODES} bins in total; got M={M}, d={d}")
    need_choice("calibration", calibration, ("corrected", "paper"))
    need_choice("project", project, (True, False))
    noise = scales(d, epsilon, calibration)
    limits = widths(d, T, epsilon, gamma, **constants)
    edge = gamma ** -np.arange(M + 1.0)
    return Params(d, M, math.log(gamma), edge, *noise, *limits, bool(project), gamma**-2.0)


def guarantee(p: Params, epsilon: float) -> Guarantee:
    """Guarantee of one user's message, from the scales in p; epsilon is what was asked for."""
    relation = "replace the user's (x, a, y)"
    if epsilon == math.inf:
        return Guarantee("none", math.inf, 1.0, "none", "none")
    if p.one_sided or not p.clip:
        return Guarantee("local", math.inf, 0.0, relation, "user", claimed=(epsilon, 0.0))
    vector = max(math.sqrt(p.d) * min(h + 1, 2) / b for h, b in enumerate(p.vector_scale))
    update = 2.0 * (1 / p.count_scale + vector + 0.5 / p.matrix_scale)
    return Guarantee("local", max(update, 2 * p.cap / p.spread_scale), 0.0, relation, "user")
