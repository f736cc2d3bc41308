"""Pure privacy: independent Laplace noise, and differences of two Wishart matrices."""

import numpy as np
from scipy import stats as sps

from companion.audits import measures
from companion.audits.faults import copied, interpreted
from companion.audits.measures import REACH, Measured
from companion.audits.neighbours import see
from companion.audits.peeled import draws
from companion.audits.watching import Quiet


def quiet(call):
    """What one call lets out when it draws nothing."""
    with interpreted({}):
        args = copied(call.args, Quiet())
        return call.read(call.kernel(*args), *args)


def wishart_scales(N: np.ndarray):
    """(scales (nodes,), relative standard error, whether the noise is one-sided, chance) of noise N
    (n, ..., d, d): u'Nu is c times the difference of two chi-squares with d + 1 degrees.
    """
    n, d = len(N), N.shape[-1]
    N = N.reshape(n, -1, d, d)
    ways = np.vstack([np.eye(d), np.full(d, d**-0.5)])
    z = np.einsum("ki,nbij,kj->nbk", ways, N, ways)
    one_sided, chance = bool(-4 * z.min() < z.max()), 1.0
    if not one_sided:
        scale = z.std(axis=0) / np.sqrt(4 * (d + 1))
        law = np.random.default_rng(8).chisquare(d + 1, (2, 4 * n))
        for b in range(min(N.shape[1], 2)):
            for k in range(len(ways)):
                found = sps.ks_2samp(z[:, b, k] / scale[b, k], law[0] - law[1]).pvalue
                chance = min(chance, found)
    kurtosis = 3 + 12 / (2 * (d + 1))
    scales = z[:, :, 0].std(axis=0) / np.sqrt(4 * (d + 1))
    return scales, np.sqrt((kurtosis - 1) / n) / 2, one_sided, chance


def losses(seen, part, noise) -> tuple[np.ndarray | None, float]:
    """(pairs of candidates, terms) of largest log-density ratios of one part of the messages, and
    the relative standard error of a term.
    """
    terms, error = [], 0.0
    for i, parts in enumerate(seen.clean):
        a, law = parts[part], seen.laws[i][part]
        D, z = a[:, None] - a, noise[i][part]
        if not np.any(D):
            continue
        if law == "laplace":
            scale, error = np.abs(z).mean(axis=0), len(z) ** -0.5
            terms.append((np.abs(D) / scale).reshape(*D.shape[:2], -1))
        else:
            scale, error, _, _ = wishart_scales(z)
            nuclear = np.abs(np.linalg.eigvalsh(D.reshape(*D.shape[:2], -1, *D.shape[-2:])))
            terms.append(nuclear.sum(axis=-1) / (2 * scale))
    return np.concatenate(terms, axis=2) if terms else None, error


def one_record(seen, n: int):
    """(loss, its variance, bounded, one_sided, chance) of the messages of one record: the losses
    of their parts add up.

    Laplace: sum |move|/scale.  The difference of two Wishart_d(d+1, cI), of density proportional
    to exp(-tr/(2c)) each, loses at most half the nuclear norm of the move over c.  A pair is
    chosen with a quarter of the draws, its loss comes from the others.
    """
    total, spread, bounded, one_sided, chance, noise = 0.0, 0.0, True, False, 1.0, []
    for call in seen.base.calls:
        clean, drawn = [np.array(a) for _, a in quiet(call)], draws(call, n, 9)
        noise.append([np.array([d[j][1] for d in drawn]) - c for j, c in enumerate(clean)])
    for part, law in enumerate(seen.laws[0]):
        first, error = losses(seen, part, [[z[: n // 4] for z in zs] for zs in noise])
        if first is None:
            continue
        whole = first.sum(axis=2)
        bounded = bounded and seen.bounded(whole)
        i, j = np.unravel_index(whole.argmax(), whole.shape)
        again, error = losses(seen, part, [[z[n // 4 :] for z in zs] for zs in noise])
        total += again[i, j].sum()
        spread += error**2 * (again[i, j] ** 2).sum()
        if law == "wishart":
            *_, odd, found = wishart_scales(noise[0][part])
            one_sided, chance = one_sided or odd, min(chance, found)
    return total, spread, bounded, one_sided, chance


def measure(case, n: int = 10_000) -> Measured:
    """`Measured` of one user's messages; the interval is 5.5 standard errors wide each way."""
    worst, chance, fine = (-1.0, 0.0, 0, 0.0), 1.0, True
    for at in range(case.rounds):
        seen = see(case, at)
        total, variance, bounded, one_sided, found = one_record(seen, n)
        fine, chance = fine and bounded and not one_sided, min(chance, found)
        ends = (seen.clean[i][j] for i, laws in enumerate(seen.laws) for j in range(len(laws)))
        move = max(float(np.ptp(a, axis=0).max()) for a in ends)
        worst = max(worst, (total, variance, seen.moves(), move))
    total, variance, releases, move = worst
    if not fine:
        return measures.unbounded(move, releases)
    error = 5.5 * np.sqrt(variance)
    ends = total - error, REACH * (total + error)
    return Measured(move, releases, move / total, *ends, True, chance)
