"""Noisy choices of a vertex: independent noise on scores, of which only the smallest is shown."""

import numpy as np
from scipy import stats as sps
from scipy.optimize import brentq

from companion.audits import measures
from companion.audits.faults import copied, interpreted
from companion.audits.measures import ALARM, Measured, concentrated
from companion.audits.neighbours import positions, see
from companion.audits.peeled import moved


def vertex_chances(scores: np.ndarray, law: str) -> np.ndarray:
    """Chances that <scores, v> plus noise of scale 1 is smallest at v = e_1, ..., -e_d."""
    both = np.concatenate([-scores, scores])
    if law == "gumbel":
        return np.exp(both - both.max()) / np.exp(both - both.max()).sum()
    z, chances, d = np.linspace(-60, 60, 48_001), [], len(scores)
    for j in range(2 * d):
        density, others = sps.laplace.pdf(z, both[j]), [k for k in range(2 * d) if k != j]
        if law == "laplace":
            below = np.prod([sps.laplace.cdf(z, both[k]) for k in others], axis=0)
        else:  # the noisy value of largest size, with its sign
            density = density * (z > 0)
            inside = [sps.laplace.cdf(z, both[k]) - sps.laplace.cdf(-z, both[k])
                      for k in range(d) if k != j % d]  # fmt: skip
            below = np.prod(inside, axis=0)
        chances.append(float((density * below).sum() * (z[1] - z[0])))
    return np.array(chances) / sum(chances)


def chosen(call, scores: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(2 d,) how often each vertex is chosen for these scores, of n times."""
    args = copied(call.args, rng)
    (_, x), (_, v) = call.read(None, *args)
    x[...] = scores
    found, d = np.zeros(2 * len(x)), len(x)
    for _ in range(n):
        call.kernel(*args)
        j = int(np.abs(v).argmax())
        found[j if v[j] > 0 else j + d] += 1
    return found


def vertex_noise(call, law: str, n: int = 20_000):
    """(low, high) of the scale of the noise of one call, in units of the scores; the chance."""
    rng, d = np.random.default_rng(5), len(call.read(None, *call.args)[0][1])
    axis, size, tilted = np.eye(d)[0], 1e-3, np.where(np.arange(d) == 0, 1.0, -0.7)
    with interpreted({}):
        while chosen(call, size * axis, 200, rng)[d] < 120:
            size *= 2.0
        found = chosen(call, size * axis, n, rng)
        other = chosen(call, size * tilted, n, rng)
    hits = int(found[d])
    low_end = sps.beta.ppf(ALARM / 2, hits, n - hits + 1)
    high_end = sps.beta.ppf(1 - ALARM / 2, hits + 1, n - hits)

    def ratio(chance):
        return brentq(lambda a: vertex_chances(a * axis, law)[d] - chance, 1e-3, 50.0)

    scale, high, low = (size / ratio(chance) for chance in (hits / n, low_end, high_end))
    chance = min(
        sps.chisquare(seen, n * vertex_chances(size / scale * scores, law)).pvalue
        for scores, seen in ((axis, found), (tilted, other))
    )
    return low, high, chance


def measure(case) -> Measured:
    """`Measured` from the losses range/scale of all choices that one record enters, by concentrated
    privacy: loss^2/2, for Gumbel noise, which is range-bounded, loss^2/8.
    """
    delta, worst, noise, bounded, chance = case.policy.guarantee.delta, [], {}, True, 1.0
    for at in positions(case):
        seen = see(case, at)
        rho, pure, moves = np.zeros(2), np.zeros(2), [(0.0, 1.0)]
        (law,) = {w for laws in seen.laws for w in laws if w != "vertex"}
        kind = law.split(": ")[1]
        told = moved(seen, noise, lambda call, kind=kind: vertex_noise(call, kind))
        for far, (low, high, found) in told:
            bounded, chance = bounded and seen.bounded(far), min(chance, found)
            loss = 2 * far.max() / np.array([high, low])  # of <x, v>, over +- unit vectors
            rho, pure = rho + loss**2 / (8 if kind == "gumbel" else 2), pure + loss
            moves.append((far.max(), np.sqrt(low * high)))
        ends = [min(concentrated(a, delta), b) for a, b in zip(rho, pure, strict=True)]
        worst.append((*ends, *max(moves), len(moves) - 1))
    if not bounded:
        return measures.unbounded()
    low, high, movement, scale, releases = np.max(worst, axis=0)
    ends = low * (1 - 1e-3), high * measures.reach(case)
    return Measured(movement, int(releases), scale, *ends, True, chance)
