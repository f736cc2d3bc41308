"""Normal noise of any covariance over all calls together, and counts with binomial noise."""

import numpy as np
from scipy import stats as sps
from scipy.optimize import brentq

from companion.audits import measures
from companion.audits.measures import ALARM, Measured
from companion.audits.neighbours import fresh, joint_noise, positions, see


def measure(case, law: str) -> Measured:
    """`Measured` of a `AuditInstance` with this law, by the exact loss of normal noise."""
    (low, high), moved, releases, bounded, chance = sensitivity(case, law)
    if not bounded:
        return measures.unbounded(moved, releases)
    delta, noise = case.policy.guarantee.delta, moved / high if high < np.inf else 0.0
    ends = (normal_epsilon(delta, mu) for mu in (low, high * measures.reach(case)))
    return Measured(moved, releases, noise, *ends, True, chance)


def largest(several):
    """(candidates, candidates, n) differences; of several draws of rounding, entry by entry, the
    largest.
    """
    best = 0.0
    for rows in several:
        D = rows[:, None] - rows
        best = np.where(np.abs(D) > np.abs(best), D, best)
    return best


def sensitivity(case, law: str, n: int = 16_000):
    """((low, high) of the sensitivity over the noise, movement, releases, bounded, chance), in the
    worst round.

    The distance is Mahalanobis', in the covariance of the noise of all calls.  The pair is chosen
    with a quarter of the draws, its distance comes from the others, exactly: for normal draws with
    sum of products S and any D, D'C^-1 D / D'S^-1 D is chi-square with n - m + 1 degrees.
    Binomial noise has lighter tails, so for counts the interval is on the safe side.
    """
    worst, releases, bounded, chance, root = [(0.0, 0.0), 0.0], 0, True, 1.0, None
    for at in positions(case):
        seen = [see(case, at, seed) for seed in ((1,) if law == "gaussian" else range(6))]
        if root is None:
            z = joint_noise(seen[0].base, law, n, 3, fresh(case))
            first, rest = z[: n // 4], z[n // 4 :]
            power, ways = np.linalg.eigh(first.T @ first / len(first))
            hidden = power > 1e-10 * power.max()  # ways in which there is noise
            bare, ways = ways[:, ~hidden], ways[:, hidden]
            first, rest = first @ ways, rest @ ways
            root = np.linalg.cholesky(first.T @ first / len(first))
        D = largest([s.stacked(law) for s in seen])
        bounded = bounded and seen[0].bounded(np.linalg.norm(D, axis=2))
        if np.abs(D @ bare).max(initial=0.0) > 1e-9 * np.abs(D).max():  # nothing hides it
            return (np.inf, np.inf), np.inf, seen[0].moves(), bounded, chance
        D = D.reshape(-1, D.shape[2]) @ ways
        D = D[np.linalg.norm(np.linalg.solve(root, D.T), axis=0).argmax()]
        if not D.any():  # a record that nothing uses
            continue
        w = np.linalg.solve(rest.T @ rest, D)
        tails = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], len(rest) - len(D) + 1)
        ends, line = tuple(np.sqrt(D @ w * tails)), rest @ w
        if law == "gaussian":
            chance = min(chance, sps.kstest(line / line.std(), "norm").pvalue)
        worst = max(worst, [ends, float(np.linalg.norm(D))])
        releases = max(releases, seen[0].moves())
    return *worst, releases, bounded, chance


def normal_epsilon(delta: float, mu: np.ndarray):
    """epsilon of normal noise at this sensitivity over noise, by the accountant library."""
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    if mu in (0.0, np.inf):
        return mu
    loss = GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon
    if loss(0.0) <= delta:
        return 0.0
    high = 1.0
    while loss(high) > delta:
        high *= 2.0
    return brentq(lambda e: loss(e) - delta, 0.0, high, xtol=1e-12, rtol=1e-12)
