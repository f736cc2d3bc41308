"""Every guarantee rebuilt from three things that are measured while an algorithm plays.

(1) How far one record moves what is let out with the same noise, over corners of the
universe and records far outside it; (2) in how many calls it does; (3) the noise that is
drawn: its size and its law, that is shape, tails, and independence between numbers and
between releases.  An independent route (`dp-accounting`, or a closed form of another
source than the code's) turns them into epsilon.  `measure` does this for an
`AuditInstance`; `LAWS` says which laws are known.
"""

import functools
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy import stats as sps

from companion.core import Optimiser
from companion.stats import lower_end, upper_end
from evidence.attacks import audit
from evidence.measure import recording
from evidence.measure.neighbours import (
    Seen,
    farthest,
    filler,
    need_quiet,
    positions,
    see,
)
from evidence.measure.recording import (
    ADDED,
    LONG,
    VALUES,
    Leak,
    NotMeasured,
    Recorder,
    TooMany,
    Unfit,
)

ALARM = 1e-7  # false alarms of one interval or test; several hundred are made
REACH = 1.01  # the search comes this close to the largest movement
SLACK = 1.06  # a bound that need not be attained exceeds the truth by no more
MODELS = "local", "shuffle", "joint", "central"
WIDE = 2.0  # a promise is measured where both ends lie within this factor of it
BEFORE = 16  # calls before the first that a record moves, whose noise is drawn, too
COUNTED = 12_000  # rounds of each input where no law is known, and numbers are counted


class Measured(NamedTuple):
    """Movement, releases and noise of an algorithm, and what follows for its guarantee.

    A promise that is right lies between `low` and `high`, a false alarm has a chance of a
    few times `ALARM`; chance: the smallest p-value of the tests that the noise has the
    declared law, below `ALARM` for a wrong one.
    """

    # the largest distance that one record moves all releases together, with the same
    # noise
    movement: float
    releases: int  # calls that this record enters
    low: float  # epsilon at the guarantee's delta
    high: float
    # whether noise hides all that any record moves, however far outside the universe
    bounded: bool
    chance: float = 1.0


class Verdict(NamedTuple):
    """How a promise stands beside a `Measured`."""

    # True: within a factor `WIDE` of both ends; None: not refuted; False: refuted
    holds: bool | None
    words: str


def verdict(guarantee, found: Measured) -> Verdict:
    """`Verdict` of a promise beside a `Measured`."""
    epsilon = guarantee.epsilon
    if found.bounded == (epsilon == np.inf):
        if found.bounded:
            return Verdict(None, "nothing is promised, though a record moves little")
        return Verdict(
            False,
            "records far outside the universe move the releases without limit, or no "
            "noise hides what a record moves: clip the record before it is added, and "
            "give every release its own noise",
        )
    if epsilon == np.inf:
        return Verdict(True, "nothing is promised, and nothing limits a record")
    if not found.chance > ALARM:
        return Verdict(
            False, f"the noise has not the declared law (p-value {found.chance:.1g})"
        )
    span = f"[{found.low:.3g}, {found.high:.3g}]"
    if found.low > epsilon + 1e-9:
        return Verdict(False, f"epsilon = {span} is measured, {epsilon:.3g} is promised")
    if found.releases == 0:
        return Verdict(None, "no record enters a release in the rounds that were played")
    if found.low < epsilon / WIDE or found.high > epsilon * WIDE:
        return Verdict(
            None,
            f"the measured {span} is no interval within a factor of {WIDE:g} around the "
            f"promised {epsilon:.3g}: it does not confirm it",
        )
    if epsilon > found.high + 1e-9:
        return Verdict(
            True,
            f"epsilon = {span} is measured, a little less than the promised "
            f"{epsilon:.3g}",
        )
    return Verdict(True, f"epsilon = {epsilon:.3g} lies in the measured {span}")


# where a record moves as far as it likes
UNBOUNDED = Measured(
    movement=np.inf,
    releases=0,
    low=np.inf,
    high=np.inf,
    bounded=False,
)


def measure(case, tries: int = 0) -> Measured:
    """`Measured` of an `AuditInstance`, whose guarantee should lie in its interval.

    tries: random records among which those are searched that move most.
    Raises `Leak` if others see more of a record than the declared releases, and
    `NotMeasured` where relation, trust model or laws are not known here, or not together.
    """
    g = case.policy.guarantee
    if g.model not in MODELS:
        raise NotMeasured(f"model must be one of {MODELS}; got {g.model!r}")
    recording.need_fields(
        recording.begin(case, np.random.default_rng(0)), case.private_fields
    )
    try:
        recorder = Recorder(case)
        base = recorder.play(filler(case))
        laws = frozenset(law for c in base.calls for law, _ in c.clean)
        if not laws:
            raise NotMeasured(f"nothing is let out in {case.rounds} rounds")
        if laws not in LAWS:
            known = [*map(sorted, LAWS)]
            raise NotMeasured(f"laws must be one of {known}; got {sorted(laws)}")
        found = by_law(case, laws, tries)
        if found.chance > ALARM or not laws <= {*ADDED, "counts"}:
            return found
        raise Unfit(f"the noise has not the law {sorted(laws)[0]!r}")
    except Unfit as why:
        return without_law(case, why)


def by_law(case, laws, tries: int = 0) -> Measured:
    """`Measured` where all releases have known laws: the worst of all positions."""
    g = case.policy.guarantee
    seeds = (1,) if "counts" not in laws else range(6 if case.rounds <= LONG else 2)
    # of every position; the noise, which is drawn once
    found = []
    kept = {}
    for i, at in enumerate(positions(case)):
        if case.rounds <= 4 * LONG and not isinstance(case.policy, Optimiser):
            need_quiet(case, at[0])
        several = [see(case, at, seed, tries if i == 0 else 0) for seed in seeds]
        far = [s.distances() for s in several]
        releases = max(s.releases() for s in several)
        if not all(s.bounded(size) for s, size in zip(several, far, strict=True)):
            return UNBOUNDED._replace(releases=releases)
        low, high, chance = 0.0, 0.0, 1.0
        if np.max(far) > 0.0:
            low, high, chance = LAWS[laws](case, several, kept)
        found.append(
            Measured(
                movement=float(np.max(far)),
                releases=releases,
                low=float(low),
                high=float(high),
                bounded=bool(low < np.inf),
                chance=float(chance),
            )
        )
    low = max(one.low for one in found)
    if g.model == "shuffle" and "counts" not in laws and low > g.epsilon:
        raise NotMeasured(
            "messages are shown before the shuffler, which amplifies their privacy; "
            "declare what the shuffler puts out: Release(kernel, argument, 'counts')"
        )
    return Measured(
        movement=max(one.movement for one in found),
        releases=max(one.releases for one in found),
        low=low,
        high=max(one.high for one in found),
        bounded=low < np.inf,
        chance=min(one.chance for one in found),
    )


def without_law(case, why) -> Measured:
    """What counting shows where noise has no known law: `Measured` if it refutes the
    promise.

    Else raises `NotMeasured` where the law was guessed, or where what is shown was
    clamped or rounded after the noise was added, which is no leak; `Leak` where another
    law was declared.
    """
    g = case.policy.guarantee
    recorder = Recorder(case, guesses=False)
    recorder.play(filler(case))
    for position in positions(case)[:1]:
        pair = farthest(case, position)
        if pair is None:
            continue
        low, lumps = shown_apart(case, *pair)
        if low > g.epsilon:
            return Measured(
                movement=np.nan,
                releases=1,
                low=low,
                high=np.inf,
                bounded=True,
            )
        if not recorder.guessed and not lumps:
            raise Leak(f"{why}, as its Release declares")
    names = sorted(recorder.guessed) or [
        recording.uncompiled(kernel).__name__ for kernel in case.releases
    ]
    raise NotMeasured(
        f"{why}; counting refutes nothing.  Release the sum with its noise before it is "
        "clamped, rounded or compared, and declare its law: "
        f'Release({names[0]}, argument, "laplace")'
    )


def shown_apart(case, one, other):
    """(epsilon at least, whether numbers come in lumps) of two lists of records, counted
    on all numbers that runs show: the best of a few statistics, each chosen on one half
    and counted on the other."""
    once = recording.watched(case)
    rng = np.random.default_rng(23)
    n = min(COUNTED // case.rounds, 4_000)
    runs = [[once(records, rng) for _ in range(n)] for records in (one, other)]
    m = min(len(numbers) for group in runs for numbers in group)
    if m == 0:
        return 0.0, False
    a, b = (np.array([numbers[:m] for numbers in group]) for group in runs)
    half = n // 2
    middle = np.median(np.vstack([a[:half], b[:half]]), axis=0)
    spread = np.vstack([a[:half], b[:half]]).std(axis=0) + 1e-12
    towards = (a[:half].mean(axis=0) - b[:half].mean(axis=0)) / spread**2
    common = [mode(column) for column in a[:half].T]
    statistics = [
        lambda z: z @ towards,
        lambda z: np.clip((z - middle) / spread, -1.0, 1.0) @ (towards * spread),
        lambda z: (np.abs(z - middle) / spread).sum(axis=1),
        lambda z: np.abs(z - middle).min(axis=1),
        lambda z: (z == common).any(axis=1).astype(float),
    ]
    most = np.abs(towards * spread).argsort()[-3:]
    statistics += [functools.partial(lambda i, z: z[:, i], i) for i in most]
    level = 1.0 - ALARM / len(statistics)
    best = 0.0
    for statistic in statistics:
        found = audit.bound_on_halves(
            [statistic(a[:half]), statistic(b[:half])],
            [statistic(a[half:]), statistic(b[half:])],
            case.policy.guarantee.delta,
            level,
        )
        best = max(best, found)
    repeated = [np.unique(c, return_counts=True)[1].max() for c in a.T if np.ptp(c) > 0]
    return best, bool(repeated) and max(repeated) > 3


def mode(column):
    """The number that comes most often."""
    numbers, times = np.unique(column, return_counts=True)
    return numbers[times.argmax()]


def reach(case) -> float:
    """By how much the promise may exceed what the search finds."""
    return (
        np.inf if case.bound_is_tight is None else REACH if case.bound_is_tight else SLACK
    )


def law_chance(z: np.ndarray, law, error: float = 0.0, independent: bool = True) -> float:
    """p-value, by Bonferroni, of the test that all columns of z (n, m) have this law of
    SciPy and are independent: shape (Kolmogorov and Smirnov), the largest draw, and the
    rank correlations of the draws and of their sizes.

    error: by how much the distribution function may differ (counts are nearly normal).
    """
    n, m = z.shape
    if m == 0:
        return 1.0
    if not z.std(axis=0).all():
        return 0.0  # no noise
    apart = max(sps.ks_1samp(column, law.cdf).statistic for column in z.T)
    shape = sps.kstwo.sf(max(apart - error, 0.0), n)
    largest = np.abs(z).max(axis=0) * (1.0 + 2.0 * error)
    inside = n * np.log1p(-2.0 * law.sf(largest))
    within = np.exp(inside.min())
    beyond = 1.0 if error else -np.expm1(inside.max())
    tests = [m * shape, m * within, m * beyond]
    if independent:
        tests += [unrelated(z), unrelated(np.abs(z))]
    return float(min(1.0, *tests))


def unrelated(z: np.ndarray) -> float:
    """p-value, by Bonferroni, of the test that no two columns of z (n, m) have correlated
    ranks."""
    n, m = z.shape
    if m < 2:
        return 1.0
    corr = np.corrcoef(sps.rankdata(z, axis=0), rowvar=False)[np.triu_indices(m, 1)]
    return m * (m - 1) * float(sps.norm.sf(np.abs(corr).max() * np.sqrt(n)))


def same_law(a: np.ndarray, b: np.ndarray) -> float:
    """p-value of the test that rows (n, m) of whole numbers come as often in a as in
    b."""
    counts = tallied(np.array([a, b]))
    counts = counts[:, counts.sum(axis=0) >= 10]
    return sps.chi2_contingency(counts).pvalue


# Every law of noise: a function of (case, what is seen of one position: one `Seen` for
# every draw of rounding, a dictionary for noise that is drawn once) that gives (low,
# high, chance).

# --- normal noise, and counts with binomial noise
# -------------------------------------------------


def normal(case, several, kept, law: str, n: int = 16_000):
    """Normal noise of any covariance over all calls together, by its exact loss; counts
    with independent binomial noise, whose tails are lighter, on the safe side.

    The distance is Mahalanobis', in the covariance of the noise of all calls, exactly:
    for n draws with sum of products S and any D (m,), D'C^-1 D / D'S^-1 D is chi-square
    with n - m + 1 degrees; every pair has its share of `ALARM`.
    Counts are rounded at random: `low` is the largest of six draws of rounding, `high`
    that of their largest moves, entry by entry, which need not happen together.
    """
    delta = case.policy.guarantee.delta
    seen = several[0]
    if delta == 0.0 and law == "counts":
        raise NotMeasured(
            "binomial noise is measured by a normal law, which needs delta > 0"
        )
    moves = np.array([s.moves(s.stacked(law)) for s in several])
    calls, columns = reached(seen, law, moves)
    n = int(np.clip(10 * n // len(calls), min(n, 2_000), n))
    if calls not in kept:
        need_few(len(columns), n)
        z = recording.joint_noise(case, seen.base, law, n, 3, calls)
        kept[calls] = normal_noise(z, law)
    noise = kept[calls]
    moves = moves[:, :, columns]
    merged = largest(moves)
    if np.abs(merged @ noise.bare).max(initial=0.0) > 1e-9 * np.abs(merged).max():
        return np.inf, np.inf, noise.chance  # nothing hides it
    tail = ALARM / 2 / len(merged)
    ends = np.sqrt(sps.chi2.ppf([tail, 1 - tail], n - noise.white.shape[1] + 1) / n)
    low = np.linalg.norm(moves @ noise.white, axis=-1).max() * ends[0]
    high = np.linalg.norm(merged @ noise.white, axis=-1).max() * ends[1] * reach(case)
    return normal_epsilon(delta, low), normal_epsilon(delta, high), noise.chance


class NormalNoise(NamedTuple):
    """Noise of several numbers together, for the distance of Mahalanobis."""

    bare: np.ndarray  # (m, .) directions in which there is no noise
    white: np.ndarray  # (m, .) directions, scaled so that noise has variance 1 in each
    chance: float  # p-value of its law


def normal_noise(z: np.ndarray, law: str) -> NormalNoise:
    """`NormalNoise` of draws z (n, m)."""
    power, ways = np.linalg.eigh(z.T @ z / len(z))
    hidden = power > 1e-10 * power.max()
    white = ways[:, hidden] / np.sqrt(power[hidden])
    own = z @ white
    chance = counts_chance(z, own) if law == "counts" else normal_chance(own)
    return NormalNoise(bare=ways[:, ~hidden], white=white, chance=chance)


def reached(seen: Seen, law: str, moves: np.ndarray):
    """(calls, columns): the calls whose noise is drawn together, and the columns of
    `moves` (..., m) that they show: all calls of a short run; of a longer one those that
    a record moves, and `BEFORE` before, whose noise may be used again."""
    shown = [
        [
            part[0].size if name == law else 0
            for name, part in zip(names, parts, strict=True)
        ]
        for names, parts in zip(seen.laws, seen.clean, strict=True)
    ]
    owner = np.repeat(np.arange(len(shown)), [sum(sizes) for sizes in shown])
    calls = np.arange(len(shown))
    if len(calls) > 2 * BEFORE:
        moved = np.unique(owner[moves.reshape(-1, len(owner)).any(axis=0)])
        early = np.arange(max(moved.min() - BEFORE, 0), moved.min())
        calls = np.concatenate([early, moved])
    return tuple(calls.tolist()), np.flatnonzero(np.isin(owner, calls))


def need_few(m: int, n: int) -> None:
    """Raise `TooMany` if m numbers are too many for n draws of their noise."""
    if m > max(n // 8, 100):
        raise TooMany(
            f"{m} numbers that one record may move are too many to measure their noise "
            "together"
        )


def largest(several):
    """Of several arrays, entry by entry, the number of largest size."""
    return np.take_along_axis(several, np.abs(several).argmax(axis=0)[None], axis=0)[0]


def normal_chance(white) -> float:
    """`law_chance` of normal noise in coordinates in which it is uncorrelated."""
    return law_chance(white / white.std(axis=0), sps.norm)


def counts_chance(z, white) -> float:
    """The same of counts, in their own coordinates, where their distribution function is
    nearly normal (Berry and Esseen)."""
    z = z[:, z.std(axis=0) > 0.0]
    gaps = np.diff(np.sort(z.round(9), axis=0), axis=0)
    step = np.where(gaps > 1e-9, gaps, np.inf).min(axis=0)
    error = min(0.91 * (step / z.std(axis=0)).max(initial=0.0), 0.5)
    own = law_chance((z - z.mean(axis=0)) / z.std(axis=0), sps.norm, error, False)
    return min(own, unrelated(np.abs(white)))


def normal_epsilon(delta: float, mu: float) -> float:
    """epsilon of normal noise at this sensitivity over noise, by the accountant
    library."""
    from dp_accounting import get_epsilon_gaussian

    return 0.0 if mu == 0.0 else float(get_epsilon_gaussian(1.0 / mu, delta))


# --- normal noise about one record drawn at random
# -----------------------------------------------


def sampled(case, several, kept):
    """The promise lies between the exact loss of draws of one record and a few per cent
    above it (Renyi accounting)."""
    (seen,) = several
    p = case.policy.params
    delta = case.policy.guarantee.delta
    if not kept:
        z = recording.joint_noise(case, seen.base, "sampled", 2000, 3)
        chance = min(law_chance(z / z.std(), sps.norm), evenly_drawn(case))
        kept |= {"noise": z.std(), "chance": chance}
    far = [float(np.linalg.norm(seen.moves(c[0]), axis=-1).max()) for c in seen.clean]
    about = [np.allclose(c.args[2], filler(case)[seen.at][1]) for c in seen.base.calls]
    alone = about == [size > 0.0 for size in far] and len(far) == p.steps
    noise = kept["noise"] / max(far)
    low, high = (
        sampled_epsilon(noise * f, p.n, p.steps, delta) for f in (1.02, 1 / SLACK / 1.02)
    )
    # every draw is about one record, and no other
    return low, 1.13 * high, kept["chance"] * alone


def evenly_drawn(case) -> float:
    """p-value of the test that every record is as likely to be drawn as any other."""
    recorder = Recorder(case)
    records = np.array([x for _, x, _ in filler(case)])
    calls = [
        c for seed in range(40) for c in recorder.play(filler(case), seed=seed).calls
    ]
    apart = [np.abs(records - c.args[2]).sum(axis=1) for c in calls]
    return sps.chisquare(
        np.bincount(np.argmin(apart, axis=1), minlength=len(records))
    ).pvalue


def sampled_epsilon(noise: float, n: int, steps: int, delta: float) -> float:
    """epsilon of steps draws of one record out of n, where all others move what is shown
    as far as the one in question does or would: a mixture of two normals against one of
    them, by the accountant library."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_gaussian_mechanism(noise, sampling_prob=1.0 / n, **grid(1e-4, False))
    return one.self_compose(steps).get_epsilon_for_delta(delta)


def grid(step: float, pessimistic: bool) -> dict:
    """How the accountant library rounds privacy losses."""
    how = {"pessimistic_estimate": pessimistic, "use_connect_dots": pessimistic}
    return how | {"value_discretization_interval": step}


# --- independent Laplace noise, and differences of two Wishart matrices
# ---------------------------


def pure(case, several, kept):
    """Independent Laplace draws, whatever sums of them are shown, and fresh Wishart
    noise; the interval is 6.5 standard errors wide each way.

    A draw that is shown in many sums is one release: `fresh_parts` takes the sums apart.
    At delta = 0 the losses of all draws add up: of one pair of records in `low`, of the
    worst pair of every part of the message in `high`.  Else Laplace losses are composed
    exactly, by the accountant library, for the pairs with the largest sums of losses and
    of their squares.
    """
    (seen,) = several
    delta = case.policy.guarantee.delta
    parts = []
    chance = 1.0
    laws = {law for names in seen.laws for law in names}
    if "laplace" in laws:
        losses = laplace_losses(case, seen, kept)
        if losses is None:
            return np.inf, np.inf, 1.0  # nothing hides it
        parts += losses.parts
        chance = losses.chance
    if "wishart" in laws:
        if delta > 0.0:
            raise NotMeasured("Wishart noise is measured at delta = 0 alone")
        for i, call in enumerate(seen.base.calls):
            for j, law in enumerate(seen.laws[i]):
                D = seen.moves(seen.clean[i][j])
                if law != "wishart" or not D.any():
                    continue
                if i not in kept:
                    n = int(np.clip(20_000 // max(seen.releases(), 1), 2_000, 10_000))
                    drawn = recording.fresh_draws(call, n, [9, i])
                    kept[i] = [recording.centred(part) for part in drawn]
                scale, error, one_sided, found = wishart_scales(kept[i][j])
                if one_sided:
                    return np.inf, np.inf, 1.0  # it bounds nothing
                chance = min(chance, found)
                square = D.reshape(len(D), -1, *D.shape[-2:])
                nuclear = np.abs(np.linalg.eigvalsh(square)).sum(axis=-1)
                parts.append((j, nuclear / (2 * scale), error))
    powers = (1,) if delta == 0.0 else (1, 2)
    ends = [pure_ends(parts, power, delta, reach(case)) for power in powers]
    low, high = np.max(ends, axis=0)
    return low, high, chance


class Losses(NamedTuple):
    """What one record loses to independent draws."""

    parts: list  # [(number of the part of its call, losses (pairs, draws), their error)]
    chance: float  # p-value of the law of the draws


def laplace_losses(case, seen: Seen, kept):
    """`Losses` to Laplace draws; None if a record moves what no noise hides."""
    numbers = seen.stacked("laplace")
    calls, columns = reached(seen, "laplace", numbers - numbers[0])
    n = int(np.clip(30_000 // len(calls), 1_500, 8_000))
    if calls not in kept:
        need_few(len(columns), n)
        z = recording.joint_noise(case, seen.base, "laplace", n, 9, calls)
        kept[calls] = fresh_parts(z)
    draws = kept[calls]
    apart = linalg.solve_triangular(
        draws.sums, numbers[:, columns].T, lower=True, unit_diagonal=True
    ).T
    D = seen.moves(apart)
    none = draws.scale <= 1e-9 * draws.scale.max()
    if none.all() or np.abs(D[:, none]).max(initial=0.0) > 1e-6 * np.abs(D).max():
        return None
    losses = np.where(none, 0.0, np.abs(D) / np.where(none, 1.0, draws.scale))
    number = np.array(
        [
            j
            for names, parts in zip(seen.laws, seen.clean, strict=True)
            for j, name in enumerate(names)
            if name == "laplace"
            for _ in range(parts[j][0].size)
        ]
    )[columns]
    parts = [(j, losses[:, number == j], n**-0.5) for j in np.unique(number)]
    return Losses(parts=parts, chance=draws.chance)


class Draws(NamedTuple):
    """Independent draws, of which shown numbers are sums: noise = sums @ draws."""

    sums: np.ndarray  # (m, m) lower triangular, 1 on the diagonal
    scale: np.ndarray  # (m,) mean size of each draw; 0: the number brings no new one
    chance: float  # p-value of the test that the draws are Laplace and independent


def fresh_parts(z: np.ndarray) -> Draws:
    """`Draws` of noise z (n, m), in the order in which it was shown: each number without
    what the draws before explain of it.  A draw explains nothing unless 6 standard errors
    say so."""
    n, m = z.shape
    fresh = z.copy()
    sums = np.eye(m)
    size = np.zeros(m)
    least = 1e-9 * np.abs(z).mean(axis=0).max(initial=0.0)
    for i in range(m):
        known = size[:i] > least
        before = fresh[:, :i][:, known]
        powers = (before**2).sum(axis=0)
        weights = before.T @ z[:, i] / powers
        error = np.sqrt((z[:, i] ** 2).sum() / powers / n)
        weights[np.abs(weights) < 6.0 * error] = 0.0
        sums[i, :i][known] = weights
        fresh[:, i] -= before @ weights
        size[i] = np.abs(fresh[:, i]).mean()
    new = size > least
    chance = law_chance(fresh[:, new] / size[new], sps.laplace) if new.any() else 0.0
    return Draws(sums=sums, scale=np.where(new, size, 0.0), chance=chance)


def pure_ends(parts, power: int, delta: float, reached: float):
    """(low, high) for the pairs with the largest sums of losses to this power; parts:
    [(number of the part of its call, losses (pairs, ...), their relative standard
    error)]."""
    totals = {}
    for j, terms, _ in parts:
        totals[j] = totals.get(j, 0.0) + (terms**power).sum(axis=1)
    pair = sum(totals.values()).argmax()
    together = np.concatenate([terms[pair] for _, terms, _ in parts])
    apart = np.concatenate([terms[totals[j].argmax()] for j, terms, _ in parts])
    spread = [terms[totals[j].argmax()] * error for j, terms, error in parts]
    error = 6.5 * np.linalg.norm(np.concatenate(spread)) / apart.sum()
    low = (1.0 - error) * together
    high = (1.0 + error) * reached * np.maximum(apart, 1e-9)
    if delta == 0.0:
        return low.sum(), high.sum()
    return laplace_epsilon(low, delta, False), laplace_epsilon(high, delta, True)


def wishart_scales(N: np.ndarray):
    """(scales (nodes,), relative standard error, whether the noise is one-sided, chance)
    of noise N (n, ..., d, d): u'Nu is c times the difference of two chi-squares with d +
    1 degrees.

    The difference of two Wishart_d(d+1, cI), of density proportional to exp(-tr/(2c))
    each, loses at most half the nuclear norm of the move over c.
    """
    n = len(N)
    d = N.shape[-1]
    ways = np.vstack([np.eye(d), np.full(d, d**-0.5)])
    z = np.einsum("ki,nbij,kj->nbk", ways, N.reshape(n, -1, d, d), ways)
    scale = z.std(axis=0) / np.sqrt(4 * (d + 1))
    kurtosis = 3 + 12 / (2 * (d + 1))
    law = np.subtract(*np.random.default_rng(8).chisquare(d + 1, (2, 4 * n)))
    columns = (z / scale)[:, :2].reshape(n, -1).T
    chance = min(sps.ks_2samp(column, law).pvalue for column in columns)
    error = np.sqrt((kurtosis - 1) / n) / 2
    return scale[:, 0], error, -4 * z.min() < z.max(), min(chance, unrelated(z[:, :, 0]))


def laplace_epsilon(ratios, delta: float, pessimistic: bool) -> float:
    """epsilon at delta > 0 of Laplace noise that hides moves of these ratios to its
    scale."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    if not ratios.max() < 1e3:
        return np.inf
    sizes = np.exp(np.round(np.log(ratios[ratios > 1e-6]), 2)) * (
        1.005 if pessimistic else 0.995
    )
    how = grid(1e-3, pessimistic)
    sizes, times = np.unique(sizes, return_counts=True)
    return composed(
        [pld.from_laplace_mechanism(1.0 / r, **how) for r in sizes],
        times,
        delta,
    )


def composed(losses, times, delta: float) -> float:
    """epsilon at delta of independent privacy losses, distributions of the accountant
    library, of each so many."""
    several = [one.self_compose(int(n)) for one, n in zip(losses, times, strict=True)]
    whole = functools.reduce(lambda a, b: a.compose(b), several) if several else None
    return whole.get_epsilon_for_delta(delta) if several else 0.0


# --- peeling, and choices of a vertex
# -------------------------------------------------------------


def moved(seen: Seen, kept, find):
    """(distance, what `find` says) of every call whose release the record moves."""
    for i, call in enumerate(seen.base.calls):
        far = np.abs(seen.moves(seen.clean[i][0])).max()
        if far > 0.0:
            if i not in kept:
                kept[i] = find(call)
            yield far, kept[i]


def peeling(case, several, kept):
    """Laplace noise of one scale, fresh for every pick and value that is shown,
    composed."""
    found = list(moved(several[0], kept, peeling_noise))
    times = [s for _, (*_, s, _) in found]
    delta = case.policy.guarantee.delta
    low = picks_epsilon([far / most for far, (_, most, *_) in found], times, delta)
    high = picks_epsilon(
        [reach(case) * far / least for far, (least, *_) in found],
        times,
        delta,
    )
    return low, high, min(chance for _, (*_, chance) in found)


def picks_epsilon(ratios, times, delta: float) -> float:
    """epsilon at delta of so many picks and values of each ratio, move/scale.  A pick
    loses at most twice the ratio (Dwork and Roth 2014, Claim 3.9), a value the ratio."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    pure = [
        pld.common.DifferentialPrivacyParameters(r * f, 0.0)
        for f in (2, 1)
        for r in ratios
    ]
    ones = [
        pld.from_privacy_parameters(p, value_discretization_interval=2e-4) for p in pure
    ]
    return composed(ones, [*times, *times], delta)


def peeling_noise(call, n: int = 8000):
    """(low, high) of the noise scale of one call of peeling, how many entries it shows,
    and the chance.  The scale is read off the values; the picks must then have the law of
    fresh noise of that scale."""
    names = [law for law, _ in call.clean]
    rows = np.arange(n)[:, None]
    seen = dict(zip(names, recording.fresh_draws(call, n, 5), strict=True))
    picks = seen["picks"].astype(int)
    s = seen["picks"].shape[1]
    # no value but those picked
    alone = (np.count_nonzero(seen["peeled"], axis=1) == s).all()
    z = seen["peeled"][rows, picks] - seen["peeling"][rows, picks]
    # 2 sum|z|/scale is chi-square
    low, high = 2 * np.abs(z).sum() / sps.chi2.ppf([1 - ALARM / 2, ALARM / 2], 2 * z.size)
    scores = np.zeros(seen["peeling"].shape[1])
    scores[:2] = low, -low / 2
    again = recording.fresh_draws(call, n, 6, scores)[names.index("picks")]
    wanted = picked(np.abs(scores) / np.abs(z).mean(), s, n, np.random.default_rng(7))
    chance = law_chance(z / np.abs(z).mean(), sps.laplace)
    return low, high, s, alone * min(chance, same_law(again, wanted))


def picked(scores: np.ndarray, s: int, n: int, rng) -> np.ndarray:
    """(n, s): where the largest scores are, with fresh Laplace noise of scale 1 for every
    pick."""
    left = np.tile(scores, (n, 1))
    picks = []
    for _ in range(s):
        picks.append((left + rng.laplace(size=left.shape)).argmax(axis=1))
        left[np.arange(n), picks[-1]] = -np.inf
    return np.column_stack(picks)


def vertex(case, several, kept, law: str):
    """Noisy choices of a vertex: the losses range/scale of all choices that one record
    enters, by concentrated privacy: loss^2/2; for Gumbel noise, which is range-bounded,
    loss^2/8."""
    found = list(moved(several[0], kept, partial(vertex_noise, law=law)))
    ends = []
    delta = case.policy.guarantee.delta
    for end in (1, 0):  # of the scale
        # over +- unit vectors
        loss = np.array([2 * far / noise[end] for far, noise in found])
        rho = (loss**2).sum() / (8 if law == "gumbel" else 2)
        ends.append(min(concentrated(rho, delta), loss.sum()))
    chance = min(noise[2] for _, noise in found)
    return ends[0] * (1 - 1e-3), ends[1] * reach(case), chance


def vertex_noise(call, law: str, n: int = 20_000):
    """(low, high) of the scale of the noise of one call, in units of the scores; the
    chance.

    The largest of -<scores, v>, with noise, is chosen, at v = -e_1, ..., -e_d, e_1, ...,
    e_d.  With scores (size, 0, ..., 0) that is -e_1 where size/scale exceeds a threshold
    of the noise, whose law is that of many draws.
    """
    rng = np.random.default_rng(5)
    d = call.clean[0][1].size
    size = 1e-3
    axis = np.eye(d)[0]
    tilted = np.where(np.arange(d) == 0, 1.0, -0.7)

    def vertices(scores, n, seed):
        v = recording.fresh_draws(call, n, seed, size * scores)[1]
        return np.hstack([-v, v]).argmax(axis=1)[:, None]

    while (vertices(axis, 200, 5) == 0).sum() < 120:
        size *= 2.0
    z = vertex_law(law, 400_000, d, rng)
    others = np.delete(z, [0, d], axis=1).max(axis=1, initial=-np.inf)
    threshold = np.maximum(others - z[:, 0], (z[:, d] - z[:, 0]) / 2)
    seen = vertices(axis, n, 6)
    hits = int((seen == 0).sum())
    ends = lower_end(hits, n, ALARM / 2), upper_end(hits, n, ALARM / 2)
    scale, high, low = size / np.quantile(threshold, [hits / n, *ends])
    chance = 1.0
    for scores, again in ((axis, seen), (tilted, vertices(tilted, n, 7))):
        noisy = np.concatenate([scores, -scores]) * size / scale + z[:n]
        chance = min(chance, same_law(again, noisy.argmax(axis=1)[:, None]))
    return low, high, chance


def vertex_law(law: str, n: int, d: int, rng) -> np.ndarray:
    """(n, 2 d): noise of scale 1 on the scores of all vertices."""
    if law == "coordinates":
        z = rng.laplace(size=(n, d))
        return np.hstack([z, -z])
    return getattr(rng, law)(size=(n, 2 * d))


# --- generalized Gaussian noise
# -------------------------------------------------------------------


def smooth(case, several, kept, law: str, n: int = 4000):
    """Generalized Gaussian noise, in independent calls or in the dyadic blocks of prefix
    sums, by concentrated privacy, from the moves in l_q and the noise of l_r: rho adds up
    over calls, kappa (move/scale)^2/2 each (Bassily, Guzman and Nandi 2021)."""
    (seen,) = several
    p = case.policy.params
    delta = case.policy.guarantee.delta
    kappa = (p.exponent - 1) * p.d ** (2 / p.exponent - 2 / p.q)
    calls = len(seen.base.calls)
    if not kept:
        z = split(law, recording.joint_noise(case, seen.base, law, n, 3), calls)
        kept["ends"], kept["chance"] = sizes(z, p.exponent)
    moves = split(law, seen.moves(seen.stacked(law)), calls)
    far = np.linalg.norm(moves, p.q, axis=-1).max(axis=0)
    low, high = (concentrated(rho, delta) for rho in kappa * far**2 / 2 @ kept["ends"])
    return low * (1 - 1e-3), high * SLACK, kept["chance"]


def split(law: str, numbers: np.ndarray, calls: int) -> np.ndarray:
    """(..., calls, d): what every call adds, by itself: numbers (..., calls * d); of
    prefix sums, divided by (number of terms + 1), what the dyadic blocks that end at 1,
    2, 3, ... add."""
    each = numbers.reshape(*numbers.shape[:-1], calls, -1)
    if law != "prefix":
        return each
    ends = np.arange(1, calls + 1)
    sums = each * (ends + 1)[:, None]
    before = np.concatenate([np.zeros_like(sums[..., :1, :]), sums], axis=-2)
    return sums - before[..., ends - (ends & -ends), :]


def sizes(z: np.ndarray, r: np.ndarray):
    """((calls, 2) ends of 1/(mean of |z|_r^2/d), chance) for noise z (n, calls, d) of
    exponent r:
    the squared norm is gamma, shares are beta, calls are independent."""
    n, calls, d = z.shape
    squares = np.linalg.norm(z, r, axis=2) ** 2
    chances = [unrelated(z[:, :, 0])]
    size = squares.mean(axis=0) / d
    for k in range(calls):
        share = np.abs(z[:, k, 0]) ** r / squares[:, k] ** (r / 2)
        chances.append(
            sps.kstest(squares[:, k] / size[k], sps.gamma(d / 2, scale=2).cdf).pvalue
        )
        chances.append(sps.kstest(share, sps.beta(1 / r, (d - 1) / r).cdf).pvalue)
    ends = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], n * d) / (n * d)
    return ends / size[:, None], min(chances)


def concentrated(rho: float, delta: float) -> float:
    """epsilon of rho-zCDP, by the accountant library."""
    import dp_accounting
    from dp_accounting import rdp

    orders = np.concatenate([1 + np.logspace(-3, 0, 400), np.linspace(2, 400, 4000)])
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    return accountant.get_epsilon(delta)


# --- few values
# -----------------------------------------------------------------------------------


def values(case, several, kept):
    """One of a few values, drawn afresh in every call (randomised response, the
    exponential mechanism): the log ratios of their counted chances add up over the calls.
     Pair and values are chosen by other draws than those that are counted."""
    if case.policy.guarantee.delta > 0.0:
        raise NotMeasured("few values are measured at delta = 0 alone")
    (seen,) = several
    if "fresh" not in kept:
        kept["fresh"] = drawn_afresh(case)
    if kept["fresh"] < ALARM:
        raise Unfit(
            "what the calls draw is not independent: noise is held in the State, so "
            "'values', drawn afresh in every call, is not their law"
        )
    logs = [np.log(tallied(parts[0]) + 0.5) for parts in seen.clean]
    pair = seen.pairs[sum(abs(seen.moves(a)).max(axis=1) for a in logs).argmax()]
    apart = [i for i, a in enumerate(logs) if np.ptp(a, axis=0).any()]
    found = [both_ways(*(seen.runs[j].calls[i] for j in pair)) for i in apart]
    low, high = np.sum(found or [np.zeros((2, 2))], axis=0).max(axis=0)
    return low, high * reach(case), 1.0


def drawn_afresh(case, n: int = 1_000) -> float:
    """p-value of the test that what two calls of one run show is independent, over runs
    with all noise drawn anew."""
    once = recording.watched(case)
    rng = np.random.default_rng(29)
    runs = [once(filler(case), rng) for _ in range(n)]
    m = min(map(len, runs))
    z = np.array([numbers[:m] for numbers in runs])
    z = z[:, np.ptp(z, axis=0) > 0][:, :40]
    pairs = [(i, j) for j in range(z.shape[1]) for i in range(j)]
    chances = [1.0]
    for i, j in pairs:
        table = np.array(
            [
                [(z[:, i] == v) & (z[:, j] == w) for w in np.unique(z[:, j])]
                for v in np.unique(z[:, i])
            ]
        ).sum(axis=-1)
        table = table[table.sum(axis=1) >= 20][:, table.sum(axis=0) >= 20]
        if min(table.shape) > 1 and table.any(axis=0).all() and table.any(axis=1).all():
            chances.append(len(pairs) * sps.chi2_contingency(table).pvalue)
    return min(chances)


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
    """((low, high) of the loss of a against b, the same of b against a), from n draws of
    calls."""
    drawn = [
        recording.fresh_rows(call, n + n // 4, [17, i]) for i, call in enumerate((a, b))
    ]
    counts = tallied(np.reshape(drawn, (2, 5, n // 4, -1)))
    first = counts[:, 0]
    rest = counts[:, 1:].sum(axis=1)
    low = lower_end(rest, n, ALARM / 4)
    high = upper_end(rest, n, ALARM / 4)
    found = []
    for p, q in ((0, 1), (1, 0)):
        sure = lower_end(first[p], n // 4, 0.01) / upper_end(first[q], n // 4, 0.01)
        v = sure.argmax()  # the ratio that is surely large
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
