"""Generalized Gaussian noise, in independent calls or in the dyadic blocks of prefix sums."""

import numpy as np
from scipy import stats as sps

from companion.audits import measures
from companion.audits.measures import ALARM, SLACK, Measured, concentrated
from companion.audits.neighbours import fresh, joint_noise, positions, see


def blocks(run, numbers) -> np.ndarray:
    """(..., calls, d) what the dyadic blocks that end at 1, 2, 3, ... add to the prefix sums, from
    all numbers (..., calls * d), which are prefix sums divided by (number of terms + 1).
    """
    n = len(run.calls)
    ends = np.arange(1, n + 1)
    sums = numbers.reshape(*numbers.shape[:-1], n, -1) * (ends + 1)[:, None]
    before = np.concatenate([np.zeros_like(sums[..., :1, :]), sums], axis=-2)
    return sums - before[..., ends - (ends & -ends), :]


def split(law: str, numbers, run) -> np.ndarray:
    """(..., calls, d): what every call adds, by itself."""
    if law == "prefix":
        return blocks(run, numbers)
    return numbers.reshape(*numbers.shape[:-1], len(run.calls), -1)


def sizes(z: np.ndarray, r: np.ndarray):
    """((calls, 2) ends of 1/(mean of |z|_r^2/d), chance) for noise z (n, calls, d) of exponent r:
    the squared norm is gamma, shares are beta, calls are independent."""
    n, calls, d = z.shape
    squares, ends, chance = np.linalg.norm(z, r, axis=2) ** 2, [], 1.0
    for k in range(calls):
        size = squares[:, k].mean() / d
        share = np.abs(z[:, k, 0]) ** r / squares[:, k] ** (r / 2)
        found = [
            sps.kstest(squares[:, k] / size, sps.gamma(d / 2, scale=2).cdf).pvalue,
            sps.kstest(share, sps.beta(1 / r, (d - 1) / r).cdf).pvalue,
        ]
        for j in range(k):
            far = np.sqrt(n) * np.corrcoef(z[:, k, 0], z[:, j, 0])[0, 1]
            found.append(2 * sps.norm.sf(abs(far)))
        chance = min(chance, *found)
        ends.append(sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], n * d) / (n * d) / size)
    return np.array(ends), chance


def measure(case, law: str, n: int = 4000) -> Measured:
    """`Measured` by concentrated privacy, from the moves in l_q and the noise of l_r: rho adds up
    over calls, kappa (move/scale)^2/2 each (Bassily, Guzman and Nandi 2021).
    """
    p, worst, bounded, chance = case.policy.params, (0.0,), True, 1.0
    r, d, q = p.exponent, p.d, p.q
    kappa = (r - 1) * d ** (2 / r - 2 / q)
    for at in positions(case):
        seen = see(case, at)
        z = split(law, joint_noise(seen.base, law, n, 3, fresh(case)), seen.base)
        moved = split(law, seen.stacked(law), seen.base)
        far = np.linalg.norm(moved[:, None] - moved, q, axis=-1)
        bounded = bounded and seen.bounded(far.max(axis=2))
        ends, found = sizes(z, r)
        chance, longest = min(chance, found), far.max(axis=(0, 1))
        low, high = kappa * longest**2 / 2 @ ends
        worst = max(worst, (low, high, float(longest.max()), int((longest > 0).sum())))
    if not bounded:
        return measures.unbounded()
    low, high, movement, releases = worst
    noise = movement * np.sqrt(kappa * releases / (low + high))
    delta = case.policy.guarantee.delta
    low, high = concentrated(low, delta) * (1 - 1e-3), concentrated(high, delta) * SLACK
    return Measured(movement, releases, noise, low, high, True, chance)
