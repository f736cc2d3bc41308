"""Every guarantee rebuilt from three things that are measured while an algorithm plays.

(1) How far one record moves what is let out when no noise is drawn, over corners of the universe
and records far outside it; (2) in how many calls it does; (3) the noise that is drawn: its size and
its law, that is shape, tails, and independence between numbers and between releases.  An
independent route (`dp-accounting`, or a closed form of another source than the code's) turns them
into epsilon.  `measure` does this for an `AuditInstance`; `LAWS` says which laws are known.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import stats as sps
from scipy.optimize import brentq

from companion.audits.neighbours import Seen, filler, positions, see
from companion.audits.recording import (
    LONG,
    VALUES,
    Interpreter,
    NotMeasured,
    Recorder,
    ZeroNoiseRng,
    begin,
    copied,
    fresh_draws,
    joint_noise,
)
from companion.core import Optimiser

ALARM = 1e-7  # false alarms of one interval or test; several hundred are made
REACH = 1.01  # the search comes this close to the largest movement
SLACK = 1.06  # a bound that need not be attained exceeds the truth by no more
MODELS = "local", "shuffle", "joint", "central"


class Measured(NamedTuple):
    """Movement, releases and noise of an algorithm, and what follows for its guarantee.

    A promise that is right lies between `low` and `high`, a false alarm has a chance of a few times
    `ALARM`; chance: the smallest p-value of the tests that the noise has the declared law, below
    `ALARM` for a wrong one.
    """

    movement: float  # largest distance that one record moves all releases together, without noise
    releases: int  # calls that this record enters
    low: float  # epsilon at the guarantee's delta
    high: float
    bounded: bool  # whether records far outside the universe move a release no further
    chance: float = 1.0


def verdict(guarantee, found: Measured):
    """(True, False or None: more private than promised, words) of a promise beside a `Measured`."""
    epsilon = guarantee.epsilon
    if found.bounded == (epsilon == np.inf):
        said = "is limited, though nothing is promised" if found.bounded else "has no limit"
        return found.bounded and None, f"what records far outside the universe can move {said}"
    if not found.chance > ALARM:
        return False, f"the noise has not the declared law (p-value {found.chance:.1g})"
    span = f"[{found.low:.3g}, {found.high:.3g}]"
    if found.low > epsilon + 1e-9:
        return False, f"epsilon = {span} is measured, {epsilon:.3g} is promised"
    if epsilon > found.high + 1e-9:
        return None, f"more private than promised: {span} is measured, {epsilon:.3g} promised"
    return True, f"epsilon = {epsilon:.3g} lies in the measured {span}"


def measure(case) -> Measured:
    """`Measured` of an `AuditInstance`, whose guarantee should lie in its interval.

    Raises `Leak` if others see more of a record than the declared releases, and `NotMeasured` where
    relation, trust model or laws are not known here, or not together.
    """
    g = case.policy.guarantee
    if g.model not in MODELS:
        raise NotMeasured(f"model must be one of {MODELS}; got {g.model!r}")
    base = Recorder(case).play(filler(case))
    laws = frozenset(law for c in base.calls for law, _ in c.clean)
    if not laws:
        raise NotMeasured(f"nothing is let out in {case.rounds} rounds")
    if laws not in LAWS:
        known = "; ".join(sorted(" with ".join(sorted(names)) for names in LAWS))
        raise NotMeasured(f"laws must be one of: {known}; got {sorted(laws)}")
    found = LAWS[laws](case)
    if g.model == "shuffle" and "counts" not in laws and found.low > g.epsilon:
        raise NotMeasured("messages are shown before the shuffler, which amplifies their privacy")
    return found


UNBOUNDED = Measured(np.inf, 0, np.inf, np.inf, False)  # where a record moves as far as it likes


def worst(parts) -> Measured:
    """The largest of everything that was measured in several rounds, the smallest chance."""
    parts = list(parts)
    movement, releases, low, high = np.max([part[:4] for part in parts], axis=0)
    bounded, chance = (min(part[i] for part in parts) for i in (4, 5))
    return Measured(movement, int(releases), low, high, bounded, chance)


def reach(case) -> float:
    """By how much the promise may exceed what the search finds."""
    return np.inf if case.bound_is_tight is None else REACH if case.bound_is_tight else SLACK


def fresh(case):
    """What `joint_noise` asks for: an optimiser begins anew with every draw."""
    return (lambda rng: begin(case, rng)) if isinstance(case.policy, Optimiser) else None


def law_chance(z: np.ndarray, law, error: float = 0.0, independent: bool = True) -> float:
    """p-value, by Bonferroni, of the test that all columns of z (n, m) have this law of SciPy and
    are independent: shape (Kolmogorov and Smirnov), the largest draw, and the rank correlations of
    the draws and of their sizes.

    error: by how much the distribution function may differ (counts are nearly normal).
    """
    n, m = z.shape
    if m == 0:
        return 1.0
    if not z.std(axis=0).all():
        return 0.0  # no noise
    cdf = law.cdf(np.sort(z, axis=0))
    steps = np.arange(1, n + 1)[:, None] / n
    apart = np.maximum(np.abs(steps - cdf), np.abs(steps - 1.0 / n - cdf)).max(axis=0)
    shape = sps.kstwo.sf(np.maximum(apart - error, 0.0), n).min()
    largest = np.abs(z).max(axis=0)
    within = np.exp(n * np.log1p(-2.0 * law.sf(largest * (1.0 + 2.0 * error)))).min()
    beyond = 1.0 if error else float((-np.expm1(n * np.log1p(-2.0 * law.sf(largest)))).min())
    tests = [m * shape, m * within, m * beyond]
    if independent:
        tests += [unrelated(z), unrelated(np.abs(z))]
    return float(min(1.0, *tests))


def unrelated(z: np.ndarray) -> float:
    """p-value, by Bonferroni, of the test that no two columns of z (n, m) have correlated ranks."""
    n, m = z.shape
    if m < 2:
        return 1.0
    corr = np.corrcoef(sps.rankdata(z, axis=0), rowvar=False)[np.triu_indices(m, 1)]
    return m * (m - 1) * float(sps.norm.sf(np.abs(corr).max() * np.sqrt(n)))


# --- normal noise, and counts with binomial noise -------------------------------------------------


def normal(case, law: str) -> Measured:
    """Normal noise of any covariance over all calls together, by its exact loss; counts with
    independent binomial noise, whose tails are lighter, on the safe side."""
    (low, high), moved, releases, bounded, chance = sensitivity(case, law)
    if not bounded:
        return UNBOUNDED._replace(releases=releases)
    delta = case.policy.guarantee.delta
    if delta == 0.0 and law == "counts":
        raise NotMeasured("binomial noise is measured by a normal law, which needs delta > 0")
    ends = (normal_epsilon(delta, mu) for mu in (low, high * reach(case)))
    return Measured(moved, releases, *ends, True, chance)


def sensitivity(case, law: str, n: int = 16_000):
    """((low, high) of the sensitivity over the noise, movement, releases, bounded, chance), in the
    worst round.

    The distance is Mahalanobis', in the covariance of the noise of all calls.  The pair is chosen
    with a quarter of the draws, its distance comes from the others, exactly: for normal draws with
    sum of products S and any D, D'C^-1 D / D'S^-1 D is chi-square with n - m + 1 degrees.
    Counts are rounded at random: `low` is the largest of six draws of rounding, `high` that of
    their largest moves, entry by entry, which need not happen together.
    """
    worst, upper, releases, bounded, chance, root = [0.0, 0.0], 0.0, 0, True, 1.0, None
    for at in positions(case):
        seeds = (1,) if law == "gaussian" else range(6 if case.rounds <= LONG else 2)
        seen = [see(case, at, seed) for seed in seeds]
        if root is None:
            n = int(np.clip(10 * n // len(seen[0].base.calls), min(n, 2_000), n))
            if seen[0].stacked(law).shape[1] > max(n // 8, 100):
                raise NotMeasured("too many numbers are shown to measure their noise together")
            z = joint_noise(seen[0].base, law, n, 3, fresh(case))
            first, rest = z[: n // 4], z[n // 4 :]
            power, ways = np.linalg.eigh(first.T @ first / len(first))
            hidden = power > 1e-10 * power.max()  # ways in which there is noise
            bare, ways = ways[:, ~hidden], ways[:, hidden]
            first, rest = first @ ways, rest @ ways
            root = np.linalg.cholesky(first.T @ first / len(first))
            chance = whitened_chance(z, rest, law)
        moves = [s.moves(s.stacked(law)) for s in seen]
        merged = max_by_size(moves)
        bounded = bounded and seen[0].bounded(np.linalg.norm(merged, axis=1))
        if np.abs(merged @ bare).max(initial=0.0) > 1e-9 * np.abs(merged).max():
            return (np.inf, np.inf), np.inf, seen[0].releases(), bounded, chance  # nothing hides it
        whole = [farthest(D @ ways, root, rest) for D in moves]
        worst = max(worst, [max(low for low, *_ in whole), max(size for *_, size in whole)])
        upper = max(upper, farthest(merged @ ways, root, rest)[1])
        releases = max(releases, *(s.releases() for s in seen))
    return (worst[0], upper), worst[1], releases, bounded, chance


def farthest(D, root, rest):
    """(low, high, size) of the move (a row of D) that is largest in the metric of root."""
    row = D[np.linalg.norm(np.linalg.solve(root, D.T), axis=0).argmax()]
    w = np.linalg.solve(rest.T @ rest, row)
    tails = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], len(rest) - len(row) + 1)
    return *np.sqrt(row @ w * tails), float(np.linalg.norm(row))


def max_by_size(several):
    """Of several arrays, entry by entry, the number of largest size."""
    best = several[0]
    for D in several[1:]:
        best = np.where(np.abs(D) > np.abs(best), D, best)
    return best


def whitened_chance(z, rest, law: str) -> float:
    """`law_chance` of noise in the coordinates in which it is uncorrelated; counts in their own,
    where their distribution function is nearly normal (Berry and Esseen)."""
    white = np.linalg.solve(np.linalg.cholesky(rest.T @ rest / len(rest)), rest.T).T
    if law == "gaussian":
        return law_chance(white / white.std(axis=0), sps.norm)
    z = z[:, z.std(axis=0) > 0.0]
    if z.shape[1] == 0:
        return 1.0
    steps = [np.diff(np.unique(column.round(9))) for column in z.T]
    step = np.array([gaps[gaps > 1e-9].min(initial=np.inf) for gaps in steps])
    error = 0.41 * (step / z.std(axis=0)).max() + 0.5 * (step / z.std(axis=0)).max()
    own = law_chance((z - z.mean(axis=0)) / z.std(axis=0), sps.norm, min(error, 0.5), False)
    return min(own, unrelated(np.abs(white)))


def normal_epsilon(delta: float, mu: float) -> float:
    """epsilon of normal noise at this sensitivity over noise, by the accountant library."""
    from dp_accounting import get_epsilon_gaussian

    return 0.0 if mu == 0.0 else float(get_epsilon_gaussian(1.0 / mu, delta))


# --- normal noise about one record drawn at random -----------------------------------------------


def sampled(case) -> Measured:
    """The promise lies between the exact loss of draws of one record and a few per cent above it
    (Renyi accounting)."""
    n, steps, hits, moves = case.policy.params.n, case.policy.params.steps, 0, []
    for at in range(n):
        seen = see(case, (at, None))
        far = [np.linalg.norm(seen.moves(c[0]), axis=-1).max() for c in seen.clean]
        hits += int((np.array(far) > 0).sum())
        moves += far
        if not seen.bounded(np.linalg.norm(seen.moves(seen.stacked("sampled")), axis=1)):
            return UNBOUNDED
    z = joint_noise(seen.base, "sampled", 2000, 3)
    chance = min(law_chance(z / z.std(), sps.norm), evenly_drawn(case))
    if hits != steps or len(seen.base.calls) != steps:
        chance = 0.0  # every draw is about one record, and no other
    noise, delta = z.std() / max(moves), case.policy.guarantee.delta
    low, high = (sampled_epsilon(noise * f, n, steps, delta) for f in (1.02, 1 / SLACK / 1.02))
    return Measured(max(moves), steps, low, 1.13 * high, True, chance)


def evenly_drawn(case) -> float:
    """p-value of the test that every record is as likely to be drawn as any other."""
    recorder = Recorder(case)
    again = [recorder.play(filler(case), seed=s) for s in range(40)]
    x = [record[1] for record in filler(case)]
    which = [
        next(i for i in range(len(x)) if np.allclose(c.args[2], x[i]))
        for run in again
        for c in run.calls
    ]
    return sps.chisquare(np.bincount(which, minlength=len(x))).pvalue


def sampled_epsilon(noise: float, n: int, steps: int, delta: float) -> float:
    """epsilon of steps draws of one record out of n: the exact loss of mixtures of normals, on a
    fine grid (a coarser output loses no more), by the accountant library."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    edges = np.concatenate([[-np.inf], np.linspace(-6 * noise, 6 * noise, 1001), [np.inf]])
    worst = 0.0
    for centre in (-0.5, 0.0, 0.5):
        rest = (1 - 1 / n) * np.diff(sps.norm.cdf(edges, centre, noise))
        p, q = (rest + np.diff(sps.norm.cdf(edges, m, noise)) / n for m in (0.5, -0.5))
        logs = [{i: math.log(v) for i, v in enumerate(masses)} for masses in (p, q)]
        one = pld.from_two_probability_mass_functions(
            *logs, pessimistic_estimate=False, value_discretization_interval=2e-5
        )
        worst = max(worst, one.self_compose(steps).get_epsilon_for_delta(delta))
    return worst


# --- independent Laplace noise, and differences of two Wishart matrices ---------------------------


def pure(case) -> Measured:
    """Noise that is fresh in every call; the interval is 5.5 standard errors wide each way.

    At delta = 0 the losses of all numbers add up: of one pair of records in `low`, of the worst
    pair of every part of the message in `high`.  Else Laplace losses are composed exactly, by the
    accountant library, for the pairs with the largest sums of losses and of their squares.
    """
    delta, noise = case.policy.guarantee.delta, {}

    def part(seen, power):
        together, apart, error, bounded, chance = losses(seen, noise, power)
        if not bounded:
            return UNBOUNDED._replace(releases=seen.releases())
        down, up = 1.0 - 5.5 * error, reach(case) * (1.0 + 5.5 * error)
        if delta == 0.0:
            low, high = down * together.sum(), up * apart.sum() if apart.any() else 0.0
        elif any("wishart" in laws for laws in seen.laws):
            raise NotMeasured("Wishart noise is measured at delta = 0 alone")
        else:
            low = laplace_epsilon(down * together, delta, False)
            high = laplace_epsilon(up * apart, delta, True)
        return Measured(movement(seen), seen.releases(), low, high, True, chance)

    seen = [see(case, at) for at in positions(case)]
    return worst(part(s, q) for s in seen for q in ((1,) if delta == 0.0 else (1, 2)))


def movement(seen: Seen) -> float:
    """The largest move of a single number."""
    return max(float(np.abs(seen.moves(a)).max(initial=0.0)) for parts in seen.clean for a in parts)


def losses(seen: Seen, noise, power: int = 1):
    """(losses of all numbers for the worst pair, the same with a pair for every part, relative
    standard error of their sums, bounded, chance); noise on one side alone bounds nothing.

    Laplace: |move|/scale.  The difference of two Wishart_d(d+1, cI), of density proportional to
    exp(-tr/(2c)) each, loses at most half the nuclear norm of the move over c.  Pairs are chosen
    with a quarter of the draws, their loss comes from the others.  noise: what was drawn of calls.
    """
    n = int(np.clip(20_000 // max(seen.releases(), 1), 2_000, 10_000))  # one call is drawn so often
    parts, totals, one_sided, chance, columns = [], {}, False, 1.0, []
    for i, call in enumerate(seen.base.calls):
        D = [seen.moves(part) for part in seen.clean[i]]
        if i not in noise and any(d.any() for d in D):
            noise[i] = fresh_noise(call, n, [9, i])
        for j, (law, d, z) in enumerate(zip(seen.laws[i], D, noise.get(i, D), strict=True)):
            if not d.any():
                continue
            if law == "wishart":
                *_, odd, found = wishart_scales(z)
                one_sided, chance = one_sided or odd, min(chance, found)
            else:
                columns.append(z.reshape(len(z), -1))
            terms, _ = terms_of(law, d, z[: len(z) // 4])
            totals[j] = totals.get(j, 0.0) + (terms**power).sum(axis=1)
            parts.append((j, law, d, z[len(z) // 4 :]))
    if not parts:
        return np.zeros(1), np.zeros(1), 0.0, True, 1.0
    whole, found = sum(totals.values()), []
    for worst in (
        dict.fromkeys(totals, whole.argmax()),
        {j: t.argmax() for j, t in totals.items()},
    ):
        terms = [terms_of(law, d[worst[j]][None], z) for j, law, d, z in parts]
        found.append(np.concatenate([t[0] for t, _ in terms]))
        spread = math.sqrt(sum(error**2 * (t[0] ** 2).sum() for t, error in terms))
    if columns:
        z = np.hstack(columns)
        size = np.abs(z).mean(axis=0)
        chance = min(chance, law_chance(z / size, sps.laplace) if size.all() else 0.0)
    bounded = seen.bounded(whole) and not one_sided
    return *found, spread / found[1].sum(), bounded, chance


def fresh_noise(call, n: int, seed) -> list[np.ndarray]:
    """The noise of one call: per part, (n, ...) draws less what is let out without noise."""
    args = copied(call.args, ZeroNoiseRng())
    clean = [
        np.array(a, float) for _, a in call.read(Interpreter().plain(call.kernel)(*args), *args)
    ]
    drawn = fresh_draws(call, n, seed)
    return [np.array([d[j] for d in drawn]) - c for j, c in enumerate(clean)]


def terms_of(law: str, D: np.ndarray, z: np.ndarray):
    """((pairs, terms) of losses of moves D (pairs, ...) behind noise z (n, ...), relative standard
    error of a term)."""
    if law == "laplace":
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nan_to_num(np.abs(D) / np.abs(z).mean(axis=0), nan=0.0, posinf=np.inf)
        return ratio.reshape(len(D), -1), len(z) ** -0.5
    scale, error, _, _ = wishart_scales(z)
    nuclear = np.abs(np.linalg.eigvalsh(D.reshape(len(D), -1, *D.shape[-2:])))
    return nuclear.sum(axis=-1) / (2 * scale), error


def laplace_epsilon(ratios, delta: float, pessimistic: bool) -> float:
    """epsilon at delta > 0 of Laplace noise that hides moves of these ratios to its scale."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    if not np.isfinite(ratios).all():
        return np.inf
    sizes = np.exp(np.round(np.log(ratios[ratios > 1e-6]), 2)) * (1.005 if pessimistic else 0.995)
    whole = None
    for ratio, times in zip(*np.unique(sizes, return_counts=True), strict=True):
        one = pld.from_laplace_mechanism(
            1.0 / ratio,
            value_discretization_interval=1e-3,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
        ).self_compose(int(times))
        whole = one if whole is None else whole.compose(one)
    return 0.0 if whole is None else whole.get_epsilon_for_delta(delta)


def wishart_scales(N: np.ndarray):
    """(scales (nodes,), relative standard error, whether the noise is one-sided, chance) of noise N
    (n, ..., d, d): u'Nu is c times the difference of two chi-squares with d + 1 degrees."""
    n, d = len(N), N.shape[-1]
    N = N.reshape(n, -1, d, d)
    ways = np.vstack([np.eye(d), np.full(d, d**-0.5)])
    z = np.einsum("ki,nbij,kj->nbk", ways, N, ways)
    scale = z.std(axis=0) / np.sqrt(4 * (d + 1))
    one_sided, chance = bool(-4 * z.min() < z.max()), 1.0
    if not one_sided:
        law = np.random.default_rng(8).chisquare(d + 1, (2, 4 * n))
        for b in range(min(N.shape[1], 2)):
            for k in range(len(ways)):
                found = sps.ks_2samp(z[:, b, k] / scale[b, k], law[0] - law[1]).pvalue
                chance = min(chance, found)
        chance = min(chance, unrelated(z[:, :, 0]))
    kurtosis = 3 + 12 / (2 * (d + 1))
    return scale[:, 0], np.sqrt((kurtosis - 1) / n) / 2, one_sided, chance


# --- peeling, and choices of a vertex -------------------------------------------------------------


def moved(seen: Seen, noise, find):
    """((pairs,) distances, noise) of every call whose release the record moves; noise: what `find`
    said of a call, kept from round to round."""
    for i, call in enumerate(seen.base.calls):
        far = np.abs(seen.moves(seen.clean[i][0])).max(axis=1)
        if far.max() > 0.0:
            if i not in noise:
                noise[i] = find(call)
            yield far, noise[i]


def peeling(case) -> Measured:
    """Laplace noise of one scale, fresh for every pick and value that is shown, composed."""
    noise, delta = {}, case.policy.guarantee.delta

    def part(seen):
        found = list(moved(seen, noise, peeling_noise))
        if not found:
            return Measured(0.0, 0, 0.0, 0.0, True)
        if not all(seen.bounded(far) for far, _ in found):
            return UNBOUNDED
        low = [(far.max() / most, s) for far, (_, most, s, _) in found]
        high = [(far.max() / least * reach(case), s) for far, (least, _, s, _) in found]
        ends = [composed(parts, delta) for parts in (low, high)]
        chance = min(p for _, (*_, p) in found)
        return Measured(max(far.max() for far, _ in found), len(found), *ends, True, chance)

    return worst(part(see(case, at)) for at in positions(case))


def peeling_noise(call, n: int = 8000):
    """(low, high) of the noise scale of one call of peeling, how many entries it shows, and the
    chance.  The scale is read off the values; the picks must then have the law of fresh noise of
    that scale."""
    names = [law for law, _ in call.clean]
    seen = [dict(zip(names, parts, strict=True)) for parts in fresh_draws(call, n, 5)]
    for parts in seen:
        parts["picks"] = parts["picks"].astype(int)
    (s,) = {len(p["picks"]) for p in seen} | {int(np.count_nonzero(p["peeled"])) for p in seen}
    z = np.array([p["peeled"][p["picks"]] - p["peeling"][p["picks"]] for p in seen])
    low, high = laplace_scale(z.ravel())
    chance = law_chance(z / np.abs(z).mean(), sps.laplace)
    v = np.zeros(len(seen[0]["peeling"]))
    v[:2] = low, -low / 2
    at = names.index("picks")
    again = [tuple(parts[at].astype(int)) for parts in fresh_draws(call, n, 6, v)]
    chances = pick_chances(v, (low + high) / 2, s)
    expected = np.array(list(chances.values()))
    counts = [again.count(places) for places in chances]
    picked = sps.chisquare(counts, n * expected / expected.sum()).pvalue
    return low, high, s, min(chance, picked)


def laplace_scale(z: np.ndarray):
    """(low, high) of the scale behind Laplace draws z (n,): 2 sum|z|/scale is chi-square."""
    ends = sps.chi2.ppf([1 - ALARM / 2, ALARM / 2], 2 * len(z))
    return tuple(2 * np.abs(z).sum() / ends)


def largest_chances(centres: np.ndarray) -> np.ndarray:
    """Chances that centre plus Laplace noise of scale 1 is largest at each of them, by sums."""
    z = np.linspace(-60, 60, 24_001)
    below = sps.laplace.cdf(z - np.asarray(centres)[:, None])
    density = sps.laplace.pdf(z - np.asarray(centres)[:, None])
    others = [np.prod(np.delete(below, j, axis=0), axis=0) for j in range(len(below))]
    chances = (density * others).sum(axis=1)
    return chances / chances.sum()


def pick_chances(v: np.ndarray, xi: float, s):
    """{places: chance} that s picks of fresh Laplace noise fall there in this order."""
    chances = {(): 1.0}
    for _ in range(s):
        longer = {}
        for done, chance in chances.items():
            free = [j for j in range(len(v)) if j not in done]
            chosen = largest_chances(np.abs(v[free]) / xi)
            longer |= {(*done, j): chance * float(c) for j, c in zip(free, chosen, strict=True)}
        chances = longer
    return chances


def composed(parts, delta: float) -> float:
    """epsilon at delta of report-noisy-max picks and Laplace values, [(move/scale, number)].

    A pick loses at most 2 move/scale (Dwork and Roth 2014, Claim 3.9), a value move/scale; the
    accountant library composes such pure losses.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    whole = None
    for ratio, number in parts:
        for loss in (2 * ratio, ratio):
            one = pld.common.DifferentialPrivacyParameters(loss, 0.0)
            one = pld.from_privacy_parameters(one, value_discretization_interval=2e-4)
            one = one.self_compose(number)
            whole = one if whole is None else whole.compose(one)
    return whole.get_epsilon_for_delta(delta)


def vertex(case, law: str) -> Measured:
    """Noisy choices of a vertex: the losses range/scale of all choices that one record enters, by
    concentrated privacy: loss^2/2; for Gumbel noise, which is range-bounded, loss^2/8."""
    noise, delta = {}, case.policy.guarantee.delta

    def part(seen):
        rho, whole, moves, chance = np.zeros(2), np.zeros(2), [0.0], 1.0
        for far, (low, high, p) in moved(seen, noise, partial(vertex_noise, law=law)):
            if not seen.bounded(far):
                return UNBOUNDED
            loss = 2 * far.max() / np.array([high, low])  # of <x, v>, over +- unit vectors
            rho, whole = rho + loss**2 / (8 if law == "gumbel" else 2), whole + loss
            chance = min(chance, p)
            moves.append(far.max())
        low, high = (min(concentrated(a, delta), b) for a, b in zip(rho, whole, strict=True))
        ends = low * (1 - 1e-3), high * reach(case)
        return Measured(max(moves), len(moves) - 1, *ends, True, chance)

    return worst(part(see(case, at)) for at in positions(case))


def vertex_chances(scores: np.ndarray, law: str) -> np.ndarray:
    """Chances that <scores, v> plus noise of scale 1 is smallest at v = e_1, ..., -e_d."""
    both, d = np.concatenate([-scores, scores]), len(scores)
    if law == "gumbel":
        return np.exp(both - both.max()) / np.exp(both - both.max()).sum()
    if law == "laplace":
        return largest_chances(both)
    z, chances = np.linspace(0, 60, 24_001), []
    for j in range(2 * d):  # the noisy value of largest size, with its sign
        inside = [sps.laplace.cdf(z, both[k]) - sps.laplace.cdf(-z, both[k])
                  for k in range(d) if k != j % d]  # fmt: skip
        chances.append((sps.laplace.pdf(z, both[j]) * np.prod(inside, axis=0)).sum())
    return np.array(chances) / sum(chances)


def chosen_vertices(call, scores: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(2 d,) how often each vertex is chosen for these scores, of n times."""
    args, kernel = copied(call.args, rng), Interpreter().plain(call.kernel)
    (_, x), (_, v) = call.read(None, *args)
    x[...] = scores
    found, d = np.zeros(2 * len(x)), len(x)
    for _ in range(n):
        kernel(*args)
        j = int(np.abs(v).argmax())
        found[j if v[j] > 0 else j + d] += 1
    return found


def vertex_noise(call, law: str, n: int = 20_000):
    """(low, high) of the scale of the noise of one call, in units of the scores; the chance."""
    rng, d = np.random.default_rng(5), len(call.read(None, *call.args)[0][1])
    axis, size, tilted = np.eye(d)[0], 1e-3, np.where(np.arange(d) == 0, 1.0, -0.7)
    while chosen_vertices(call, size * axis, 200, rng)[d] < 120:
        size *= 2.0
    found = chosen_vertices(call, size * axis, n, rng)
    other = chosen_vertices(call, size * tilted, n, rng)
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


# --- generalized Gaussian noise -------------------------------------------------------------------


def smooth(case, law: str, n: int = 4000) -> Measured:
    """Generalized Gaussian noise, in independent calls or in the dyadic blocks of prefix sums, by
    concentrated privacy, from the moves in l_q and the noise of l_r: rho adds up over calls,
    kappa (move/scale)^2/2 each (Bassily, Guzman and Nandi 2021)."""
    p, delta = case.policy.params, case.policy.guarantee.delta
    kappa = (p.exponent - 1) * p.d ** (2 / p.exponent - 2 / p.q)

    def part(seen):
        calls = len(seen.base.calls)
        z = split(law, joint_noise(seen.base, law, n, 3, fresh(case)), calls)
        far = np.linalg.norm(split(law, seen.moves(seen.stacked(law)), calls), p.q, axis=-1)
        if not seen.bounded(far.max(axis=1)):
            return UNBOUNDED
        ends, chance = sizes(z, p.exponent)
        longest = far.max(axis=0)
        low, high = (concentrated(rho, delta) for rho in kappa * longest**2 / 2 @ ends)
        releases = int((longest > 0).sum())
        return Measured(longest.max(), releases, low * (1 - 1e-3), high * SLACK, True, chance)

    return worst(part(see(case, at)) for at in positions(case))


def split(law: str, numbers: np.ndarray, calls: int) -> np.ndarray:
    """(..., calls, d): what every call adds, by itself: numbers (..., calls * d); of prefix sums,
    divided by (number of terms + 1), what the dyadic blocks that end at 1, 2, 3, ... add."""
    each = numbers.reshape(*numbers.shape[:-1], calls, -1)
    if law != "prefix":
        return each
    ends = np.arange(1, calls + 1)
    sums = each * (ends + 1)[:, None]
    before = np.concatenate([np.zeros_like(sums[..., :1, :]), sums], axis=-2)
    return sums - before[..., ends - (ends & -ends), :]


def sizes(z: np.ndarray, r: np.ndarray):
    """((calls, 2) ends of 1/(mean of |z|_r^2/d), chance) for noise z (n, calls, d) of exponent r:
    the squared norm is gamma, shares are beta, calls are independent."""
    n, calls, d = z.shape
    squares, ends, chance = np.linalg.norm(z, r, axis=2) ** 2, [], unrelated(z[:, :, 0])
    for k in range(calls):
        size = squares[:, k].mean() / d
        share = np.abs(z[:, k, 0]) ** r / squares[:, k] ** (r / 2)
        found = [
            sps.kstest(squares[:, k] / size, sps.gamma(d / 2, scale=2).cdf).pvalue,
            sps.kstest(share, sps.beta(1 / r, (d - 1) / r).cdf).pvalue,
        ]
        chance = min(chance, *found)
        ends.append(sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], n * d) / (n * d) / size)
    return np.array(ends), chance


def concentrated(rho: float, delta: float) -> float:
    """epsilon of rho-zCDP, by the accountant library."""
    import dp_accounting
    from dp_accounting import rdp

    orders = np.concatenate([1 + np.logspace(-3, 0, 400), np.linspace(2, 400, 4000)])
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    return accountant.get_epsilon(delta)


# --- few values -----------------------------------------------------------------------------------


def values(case) -> Measured:
    """One of a few values, drawn afresh in every call (randomised response, the exponential
    mechanism): the log ratios of their counted chances add up over the calls.  Round, pair and
    values are chosen by other draws than those that are counted."""
    if case.policy.guarantee.delta > 0.0:
        raise NotMeasured("few values are measured at delta = 0 alone")
    calls, bounded, most = [], True, -1.0
    for seen in (see(case, at) for at in positions(case)):
        logs = [np.log(tallied(parts[0]) + 0.5) for parts in seen.clean]
        loss = sum(abs(seen.moves(a)).max(axis=1) for a in logs)
        bounded = bounded and seen.bounded(loss)
        if loss.max() > most:
            most, pair = loss.max(), seen.pairs[loss.argmax()]
            apart = [i for i, a in enumerate(logs) if np.ptp(a, axis=0).any()]
            calls = [[seen.runs[j].calls[i] for j in pair] for i in apart]
    found = np.array([both_ways(*both) for both in calls] or [np.zeros((2, 2))])
    low, high = found.sum(axis=0).max(axis=0)
    return Measured(most, len(calls), low, high * reach(case), bounded)


def tallied(draws: np.ndarray) -> np.ndarray:
    """(..., values): how often each value came, of draws (..., n, numbers)."""
    rows = draws.reshape(-1, draws.shape[-1])
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    if len(kinds) > 100:
        raise NotMeasured(f"a law of few values must have at most 100; got {len(kinds)}")
    which = which.reshape(-1, draws.shape[-2])
    counts = [np.bincount(row, minlength=len(kinds)) for row in which]
    return np.reshape(counts, (*draws.shape[:-2], len(kinds)))


def both_ways(a, b, n: int = 20_000) -> np.ndarray:
    """((low, high) of the loss of a against b, the same of b against a), from n draws of calls."""
    drawn = [
        [np.concatenate(d, axis=None) for d in fresh_draws(call, n + n // 4, [17, i])]
        for i, call in enumerate((a, b))
    ]
    counts = tallied(np.reshape(drawn, (2, 5, n // 4, -1)))
    first, rest = counts[:, 0], counts[:, 1:].sum(axis=1)
    low = np.nan_to_num(sps.beta.ppf(ALARM / 4, rest, n - rest + 1))
    high = np.nan_to_num(sps.beta.isf(ALARM / 4, rest + 1, n - rest), nan=1.0)
    found = []
    for p, q in ((0, 1), (1, 0)):
        v = np.log((first[p] + 0.5) / (first[q] + 0.5)).argmax()
        with np.errstate(divide="ignore"):
            found.append([np.log(low[p, v] / high[q, v]), np.log(high[p, v] / low[q, v])])
    return np.maximum(found, 0.0)


LAWS = {  # laws of all numbers that are let out: how they are measured
    frozenset({"gaussian"}): partial(normal, law="gaussian"),
    frozenset({"counts"}): partial(normal, law="counts"),
    frozenset({"sampled"}): sampled,
    frozenset({"laplace"}): pure,
    frozenset({"wishart"}): pure,
    frozenset({"laplace", "wishart"}): pure,
    frozenset({"peeling", "peeled", "picks"}): peeling,
    frozenset({"generalized"}): partial(smooth, law="generalized"),
    frozenset({"prefix"}): partial(smooth, law="prefix"),
    frozenset({VALUES}): values,
} | {
    frozenset({f"scores: {law}", "vertex"}): partial(vertex, law=law)
    for law in ("laplace", "coordinates", "gumbel")
}
