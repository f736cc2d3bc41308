"""Peeling: Laplace noise of one scale, fresh for every pick and every value that is shown."""

import numpy as np
from scipy import stats as sps

from companion.audits import measures
from companion.audits.faults import arrays, copied, interpreted
from companion.audits.measures import ALARM, Measured
from companion.audits.neighbours import positions, see


def measure(case) -> Measured:
    """`Measured` of all picks and values that one record enters, composed."""
    worst, noise, bounded, chance = [], {}, True, [1.0]
    for at in positions(case):
        seen, low, high, moves = see(case, at), [], [], []
        for far, (least, most, s, p) in moved(seen, noise, peeling_noise):
            bounded = bounded and seen.bounded(far)
            low.append((far.max() / most, s))
            high.append((far.max() / least * measures.reach(case), s))
            moves.append((far.max(), np.sqrt(least * most)))
            chance.append(p)
        if bounded and moves:
            ends = [composed(parts, case.policy.guarantee.delta) for parts in (low, high)]
            worst.append((*ends, *max(moves), len(moves)))
    if not bounded:
        return measures.unbounded()
    low, high, movement, scale, releases = np.max(worst, axis=0)
    return Measured(movement, int(releases), scale, low, high, True, min(chance))


def moved(seen, noise, measure):
    """(distances between candidates, noise) of every call whose release the record moves; noise:
    what `measure` found for a call, kept from round to round."""
    for i, call in enumerate(seen.base.calls):
        v = seen.clean[i][0]
        far = np.abs(v[:, None] - v).max(axis=2)
        if far.max() > 0.0:
            if i not in noise:
                noise[i] = measure(call)
            yield far, noise[i]


def draws(call, n: int, seed: int, vector: np.ndarray | None = None):
    """n fresh outcomes of one call, [[(law, numbers)]]; peeling another vector if one is given."""
    args, out = copied(call.args, np.random.default_rng(seed)), []
    both = list(zip(arrays(args), arrays(call.args), strict=True))
    with interpreted({}):
        for _ in range(n):
            for mine, before in both:
                mine[...] = before
            if vector is not None:
                dict(call.read(None, *args))["peeling"][...] = vector
            out.append([(law, np.array(a)) for law, a in call.read(call.kernel(*args), *args)])
    return out


def pick_chances(v: np.ndarray, xi: float, s):
    """{places: chance} that s picks of fresh Laplace noise fall there in this order, by sums."""
    z, step = np.linspace(-60, 60, 24_001, retstep=True)
    chances = {(): 1.0}
    for _ in range(s):
        longer = {}
        for done, chance in chances.items():
            free = [j for j in range(len(v)) if j not in done]
            below = {j: sps.laplace.cdf(z - abs(v[j]) / xi) for j in free}
            for j in free:
                rest = np.prod([below[i] for i in free if i != j], axis=0)
                density = sps.laplace.pdf(z - abs(v[j]) / xi)
                longer[(*done, j)] = chance * float((density * rest).sum() * step)
        chances = longer
    return chances


def laplace_scale(z: np.ndarray):
    """(low, high, chance) of the scale behind Laplace draws z (n,): 2 sum|z|/scale is
    chi-square."""
    ends = sps.chi2.ppf([1 - ALARM / 2, ALARM / 2], 2 * len(z))
    return *(2 * np.abs(z).sum() / ends), sps.kstest(z / np.abs(z).mean(), "laplace").pvalue


def peeling_noise(call, n: int = 8000):
    """(low, high) of the noise scale of one call of peeling, how many entries it shows, and the
    chance.

    The scale is read off the values; the picks must then have the law of fresh noise of that scale.
    """
    seen = [dict(parts) for parts in draws(call, n, 5)]
    shown = {len(parts["picks"]) for parts in seen} | {
        int(np.count_nonzero(parts["peeled"])) for parts in seen
    }
    (s,) = shown
    z = [p["peeled"][p["picks"]] - p["peeling"][p["picks"]] for p in seen]
    low, high, chance = laplace_scale(np.concatenate(z))
    v = np.zeros(len(seen[0]["peeling"]))
    v[:2] = low, -low / 2
    again = [tuple(dict(parts)["picks"]) for parts in draws(call, n, 6, v)]
    chances = pick_chances(v, (low + high) / 2, s)
    counts = [again.count(places) for places in chances]
    expected = np.array(list(chances.values()))
    picked = sps.chisquare(counts, n * expected / expected.sum()).pvalue
    return low, high, s, min(chance, picked)


def composed(parts, delta: float) -> float:
    """epsilon at delta of report-noisy-max picks and Laplace values, [(move/scale, number)].

    A pick loses at most 2 move/scale (Dwork and Roth 2014, Claim 3.9), a value move/scale; the
    accountant library composes such pure losses.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    whole = None
    for ratio, number in parts:
        for loss in (2 * ratio, ratio):
            pure = pld.common.DifferentialPrivacyParameters(loss, 0.0)
            one = pld.from_privacy_parameters(pure, value_discretization_interval=2e-4)
            one = one.self_compose(number)
            whole = one if whole is None else whole.compose(one)
    return whole.get_epsilon_for_delta(delta)
