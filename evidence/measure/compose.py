"""COMPOSE: law, scale and moves of the distinct releases to epsilon at delta.

`measure` rebuilds the guarantee of an `AuditInstance` from three things: how far one
record moves what is let out with the same noise (`replay.see`); which independent draws
hide that, and how large they are (`record.joint_noise`); and the law of the draws.  A
law answers three questions, each by a method: does a draw fit (`chance`), what is its
`scale`, what `epsilon` does a move cost, at the guarantee's delta, by `dp-accounting` or
a closed form of another source than the code's.  `LAWS` says which laws are known.

A draw that is shown in many sums is one release: `independent` takes the sums apart.  A
law that does not fit is never held against a policy that has not declared it: what is
shown is counted then (`without_law`), which refutes or says nothing.
"""

from typing import Any, NamedTuple

import dp_accounting
import numpy as np
from dp_accounting import rdp
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import linalg
from scipy import stats as sps

from companion.core import Optimiser
from companion.stats import lower_end, upper_end
from evidence.attacks import audit
from evidence.measure import record
from evidence.measure.record import (
    LONG,
    VALUES,
    Leak,
    NotMeasured,
    Played,
    Recorder,
    TooMany,
    Unfit,
)
from evidence.measure.replay import (
    CHOSEN,
    farthest,
    filler,
    need_quiet,
    positions,
    see,
)

ALARM = 1e-7  # false alarms of one interval or test; several hundred are made
REACH = 1.01  # the search comes this close to the largest movement
SLACK = 1.06  # a bound that need not be attained exceeds the truth by no more
MODELS = "local", "shuffle", "joint", "central"
WIDE = 2.0  # a promise is measured where both ends lie within this factor of it
BEFORE = 16  # calls before the first that a record moves, whose noise is drawn, too
COUNTED = 12_000  # rounds of each input where no law is known, and numbers are counted
ROUNDINGS = range(6)  # seeds of the messages that are rounded at random


# --- the answer


class Measured(NamedTuple):
    """Movement, releases and noise of an algorithm, and what follows for its guarantee.

    A promise that is right lies between `low` and `high`; a false alarm has a chance of a
    few times `ALARM`.
    """

    # the largest distance that one record moves all releases together, with the same
    # noise
    movement: float
    releases: int  # calls that this record enters
    low: float  # epsilon at the guarantee's delta
    high: float
    # whether noise hides all that any record moves, however far outside the universe
    bounded: bool
    chance: float = 1.0  # smallest p-value of the tests that the noise has its law


class Verdict(NamedTuple):
    """How a promise stands beside a `Measured`."""

    # True: within a factor `WIDE` of both ends; None: not refuted; False: refuted
    holds: bool | None
    words: str


def verdict(guarantee, found: Measured) -> Verdict:
    """`Verdict` of a promise beside a `Measured`."""
    epsilon = guarantee.epsilon
    span = f"[{found.low:.3g}, {found.high:.3g}]"
    if epsilon == np.inf:
        if found.bounded:
            return Verdict(None, "nothing is promised, though a record moves little")
        return Verdict(True, "nothing is promised, and nothing limits a record")
    if not found.bounded:
        return Verdict(
            False,
            "records far outside the universe move the releases without limit, or no "
            "noise hides what a record moves: clip the record before it is added, and "
            "give every release its own noise",
        )
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
    record.need_fields(record.begin(case, np.random.default_rng(0)), case.private_fields)
    try:
        base = Recorder(case).play(filler(case))
        names = frozenset(part.law for call in base.calls for part in call.clean)
        if not names:
            raise NotMeasured(f"nothing is let out in {case.rounds} rounds")
        if names not in LAWS:
            known = [sorted(laws) for laws in LAWS]
            raise NotMeasured(f"laws must be one of {known}; got {sorted(names)}")
        return by_law(case, LAWS[names](case, names), tries)
    except Unfit as why:
        return without_law(case, why)


def by_law(case, law, tries: int = 0) -> Measured:
    """`Measured` where all releases have known laws: the worst of all positions.  Raises
    `Unfit` if the noise has not this law."""
    g = case.policy.guarantee
    seeds = [1]
    if isinstance(law, Counts):
        seeds = ROUNDINGS if case.rounds <= LONG else ROUNDINGS[:2]
    found = []
    for position in positions(case):
        if case.rounds <= 4 * LONG and not isinstance(case.policy, Optimiser):
            need_quiet(case, position.at)
        several = [see(case, position, seed, tries) for seed in seeds]
        tries = 0  # the first position is enough
        movement = float(max(seen.distances().max() for seen in several))
        releases = max(seen.releases() for seen in several)
        if not all(seen.bounded() for seen in several):
            return UNBOUNDED._replace(releases=releases)
        loss = law.loss(several) if movement > 0.0 else Loss(0.0, 0.0)
        if loss.chance <= ALARM:
            raise Unfit(f"the noise has not the law {law.name!r}")
        found.append(
            Measured(
                movement=movement,
                releases=releases,
                low=float(loss.low),
                high=float(loss.high),
                bounded=bool(loss.low < np.inf),
                chance=float(loss.chance),
            )
        )
    worst = Measured(
        movement=max(one.movement for one in found),
        releases=max(one.releases for one in found),
        low=max(one.low for one in found),
        high=max(one.high for one in found),
        bounded=all(one.bounded for one in found),
        chance=min(one.chance for one in found),
    )
    if g.model == "shuffle" and law.name != "counts" and worst.low > g.epsilon:
        raise NotMeasured(
            "messages are shown before the shuffler, which amplifies their privacy; "
            "declare what the shuffler puts out: Release(kernel, argument, 'counts')"
        )
    return worst


def without_law(case, why) -> Measured:
    """What counting shows where noise has no known law: `Measured` if it refutes the
    promise.

    Else raises `NotMeasured` where the law was guessed, or where what is shown was
    clamped or rounded after the noise was added, which is no leak; `Leak` where another
    law was declared.
    """
    recorder = Recorder(case, guesses=False)
    recorder.play(filler(case))
    counted = Counted(0.0, False)
    if not isinstance(case.policy, Optimiser):
        counted = shown_apart(case, *farthest(case, positions(case)[0]))
    if counted.low > case.policy.guarantee.epsilon:
        return Measured(
            movement=np.nan,
            releases=1,
            low=counted.low,
            high=np.inf,
            bounded=True,
        )
    if not recorder.guessed and not counted.lumps:
        raise Leak(f"{why}, as its Release declares")
    names = sorted(recorder.guessed) or [
        record.uncompiled(kernel).__name__ for kernel in case.releases
    ]
    raise NotMeasured(
        f"{why}; counting refutes nothing.  Release the sum with its noise before it is "
        "clamped, rounded or compared, and declare its law: "
        f'Release({names[0]}, argument, "laplace")'
    )


class Counted(NamedTuple):
    """What counting says of two lists of records."""

    low: float  # epsilon is at least so large
    lumps: bool  # whether some numbers come again and again


def shown_apart(case, one, other) -> Counted:
    """`Counted` on all numbers that runs show: the best of a few statistics, each chosen
    on one half and counted on the other."""
    play = record.watched(case)
    rng = np.random.default_rng(23)
    n = min(COUNTED // case.rounds, 4_000)
    half = n // 2
    runs = [[play(records, rng) for _ in range(n)] for records in (one, other)]
    m = min(len(numbers) for group in runs for numbers in group)
    if m == 0:
        return Counted(0.0, False)
    a = np.array([numbers[:m] for numbers in runs[0]])
    b = np.array([numbers[:m] for numbers in runs[1]])
    pilot = np.vstack([a[:half], b[:half]])
    middle = np.median(pilot, axis=0)
    spread = pilot.std(axis=0) + 1e-12
    weights = (a[:half].mean(axis=0) - b[:half].mean(axis=0)) / spread
    common = sps.mode(a[:half]).mode
    most = np.abs(weights).argsort()[-3:]

    def statistics(z):
        u = (z - middle) / spread
        along = u @ weights
        clipped = np.clip(u, -1.0, 1.0) @ weights
        sizes = np.abs(u)
        is_common = (z == common).any(axis=1)
        rows = [along, clipped, sizes.sum(axis=1), sizes.min(axis=1), is_common]
        return np.vstack([*rows, u.T[most]])

    scores = list(zip(statistics(a), statistics(b), strict=True))
    level = 1.0 - ALARM / len(scores)
    delta = case.policy.guarantee.delta
    low = 0.0
    for x, y in scores:
        chosen = [x[:half], y[:half]]
        counted = [x[half:], y[half:]]
        low = max(low, audit.bound_on_halves(chosen, counted, delta, level))
    again = sps.mode(a[:, np.ptp(a, axis=0) > 0]).count
    return Counted(low, bool(np.max(again, initial=0) > 3))


# --- tests of a law


def law_chance(z: np.ndarray, law, error: float = 0.0, independent: bool = True) -> float:
    """p-value, by Bonferroni, of the test that all columns of z (n, m) have this law of
    SciPy and are independent: shape (Kolmogorov and Smirnov), the largest draw, and the
    rank correlations of the draws and of their sizes.

    error: by how much the distribution function may differ (counts are nearly normal).
    """
    n, m = z.shape
    if m == 0 or not z.std(axis=0).all():
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
    ranks = np.corrcoef(sps.rankdata(z, axis=0), rowvar=False)
    largest = np.abs(ranks[np.triu_indices(m, 1)]).max()
    return m * (m - 1) * float(sps.norm.sf(largest * np.sqrt(n)))


def same_law(a: np.ndarray, b: np.ndarray) -> float:
    """p-value of the test that rows (n, m) of whole numbers come as often in a as in
    b."""
    counts = tallied(np.array([a, b]))
    counts = counts[:, counts.sum(axis=0) >= 10]
    return sps.chi2_contingency(counts).pvalue


# --- accounting


def normal_epsilon(delta: float, mu: float) -> float:
    """epsilon of normal noise at this sensitivity over noise."""
    if mu == 0.0:
        return 0.0
    return float(dp_accounting.get_epsilon_gaussian(1.0 / mu, delta))


def concentrated_epsilon(delta: float, rho: float) -> float:
    """epsilon of rho-zCDP."""
    orders = np.concatenate([1 + np.logspace(-3, 0, 400), np.linspace(2, 400, 4000)])
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    return accountant.get_epsilon(delta)


def sampled_epsilon(noise: float, n: int, steps: int, delta: float) -> float:
    """epsilon of steps draws of one record out of n, where all others move what is shown
    as far as the one in question does or would: a mixture of two normals against one of
    them."""
    one = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=1.0 / n,
        value_discretization_interval=1e-4,
        pessimistic_estimate=False,
        use_connect_dots=False,
    )
    return one.self_compose(steps).get_epsilon_for_delta(delta)


def laplace_distribution(loss: float):
    """Privacy loss of Laplace noise that hides a move of `loss` times its scale."""
    return pld.from_laplace_mechanism(1.0 / loss, value_discretization_interval=1e-3)


def pure_distribution(loss: float):
    """The largest privacy loss of what is `loss`-private."""
    pure = pld.common.DifferentialPrivacyParameters(loss, 0.0)
    return pld.from_privacy_parameters(pure, value_discretization_interval=2e-4)


def composed_epsilon(losses, delta: float, distribution) -> float:
    """epsilon at delta of independent releases of these losses, each of which has this
    distribution; losses are rounded to a per cent."""
    losses = np.asarray(losses, dtype=float)
    if losses.max() > 1e3:
        return np.inf
    rounded = np.exp(np.round(np.log(losses[losses > 1e-6]), 2))
    whole = pld.identity()
    for loss, times in zip(*np.unique(rounded, return_counts=True), strict=True):
        whole = whole.compose(distribution(loss).self_compose(int(times)))
    return whole.get_epsilon_for_delta(delta)


# --- laws of noise: `loss` gives what one record loses, of `Seen`s of one position


class Loss(NamedTuple):
    """What one record loses, epsilon at the guarantee's delta."""

    low: float
    high: float
    chance: float = 1.0  # p-value of the law of the noise


class Law:
    """Noise of one law in one case.  What was drawn of it is kept for other positions."""

    def __init__(self, case, names):
        self.case = case
        self.name = sorted(names)[0]
        self.delta = case.policy.guarantee.delta
        self.noise = {}
        self.reach = SLACK  # by how much the promise may exceed what the search finds
        if case.bound_is_tight:
            self.reach = REACH
        elif case.bound_is_tight is None:
            self.reach = np.inf

    def moved(self, seen):
        """[(largest move of an entry, noise of the call)] of every call that the record
        moves."""
        found = []
        for part in seen.parts:
            far = 0.0
            if part.law not in CHOSEN:
                far = np.abs(seen.moves(part.numbers)).max()
            if far > 0.0:
                if part.call not in self.noise:
                    self.noise[part.call] = self.of_call(seen.base.calls[part.call])
                found.append((far, self.noise[part.call]))
        return found


class Noise(NamedTuple):
    """Independent draws, of which shown noise is made: noise = sums @ draws."""

    sums: np.ndarray  # (m, m) lower triangular, 1 on the diagonal
    draws: np.ndarray  # (n, m); 0 where a number brings no new draw
    scale: Any = None  # (m,) of each draw, 0 of none
    chance: float = 1.0

    def ratios(self, moves: np.ndarray) -> np.ndarray:
        """(..., m): moves of the draws over their scales; infinite where nothing hides
        them."""
        apart = linalg.solve_triangular(
            self.sums, moves.T, lower=True, unit_diagonal=True
        ).T
        bare = self.scale == 0.0
        ratios = np.abs(apart) / np.where(bare, 1.0, self.scale)
        moved = np.abs(apart) > 1e-6 * np.abs(apart).max()
        return np.where(bare, np.where(moved, np.inf, 0.0), ratios)


def independent(z: np.ndarray, sure: float) -> Noise:
    """`Noise` of draws z (n, m), in the order in which it was shown: each number without
    what the draws before explain of it.  A draw explains nothing unless so many standard
    errors say so."""
    n, m = z.shape
    draws = np.zeros((m, n))
    power = np.full(m, 1e-300)
    sums = np.eye(m)
    least = 1e-14 * (z**2).mean(axis=0).max(initial=0.0)
    for i in range(m):
        number = z[:, i]
        weights = draws[:i] @ number / (n * power[:i])
        error = np.sqrt((number**2).mean() / (n * power[:i]))
        weights[np.abs(weights) <= sure * error] = 0.0
        sums[i, :i] = weights
        new = number - weights @ draws[:i]
        if (new**2).mean() > least:
            draws[i] = new
            power[i] = (new**2).mean()
    return Noise(sums=sums, draws=draws.T)


class Added(Law):
    """Noise that is added to numbers, whatever sums of its draws are shown."""

    most = 16_000  # draws
    sure = 0.0  # see `independent`

    def loss(self, several) -> Loss:
        """By the draws that the record moves."""
        noise, ratios = self.hidden(several)
        if ratios.max() == np.inf:
            return Loss(np.inf, np.inf)
        low, high = self.epsilon(ratios, len(noise.draws))
        return Loss(low, high, noise.chance)

    def hidden(self, several):
        """(noise of all numbers that are moved together, ratios (pairs, m) of moves to
        it): of all calls of a short run; of a longer one those that a record moves, and
        `BEFORE` before, whose noise may be used again."""
        seen = several[0]
        moves = np.vstack([one.moves(one.stacked(self.name)) for one in several])
        owners = seen.owners(self.name)
        calls = np.arange(len(seen.base.calls))
        if len(calls) > 2 * BEFORE:
            moved = np.unique(owners[moves.any(axis=0)])
            early = np.arange(max(moved.min() - BEFORE, 0), moved.min())
            calls = np.concatenate([early, moved])
        columns = np.isin(owners, calls)
        key = tuple(calls.tolist())
        if key not in self.noise:
            n = int(np.clip(160_000 // len(calls), 2_000, self.most))
            m = int(columns.sum())
            if m > max(n // 8, 100):
                raise TooMany(
                    f"{m} numbers that one record may move are too many to measure "
                    "their noise together"
                )
            z = record.joint_noise(self.case, seen.base, self.name, n, 3, calls)
            noise = independent(z, self.sure)
            is_new = noise.draws.any(axis=0)
            self.noise[key] = noise._replace(
                scale=np.where(is_new, self.scale(noise.draws), 0.0),
                chance=self.chance(noise.draws[:, is_new], z),
            )
        return self.noise[key], self.noise[key].ratios(moves[:, columns])


class Gaussian(Added):
    """Normal noise of any covariance, over all calls together, by its exact loss."""

    def chance(self, draws, z) -> float:
        """`law_chance` of draws of variance 1."""
        return law_chance(draws / draws.std(axis=0), sps.norm)

    def scale(self, draws):
        """(m,) standard deviations."""
        return np.sqrt((draws**2).mean(axis=0))

    def epsilon(self, ratios, n: int):
        """The distance is Mahalanobis', in the covariance of the noise.  For n draws with
        sum of products S and any D (m,), D'C^-1 D / D'S^-1 D is chi-square with n - m + 1
        degrees; every pair has its share of `ALARM`."""
        tail = ALARM / 2 / len(ratios)
        degrees = n - ratios.shape[1] + 1
        ends = np.sqrt(sps.chi2.ppf([tail, 1 - tail], degrees) / n)
        mu = np.linalg.norm(ratios, axis=1).max() * ends * [1.0, self.reach]
        return [normal_epsilon(self.delta, end) for end in mu]


class Counts(Gaussian):
    """Independent binomial noise, whose tails are lighter than normal ones, on the safe
    side, in several draws of the rounding of messages."""

    def chance(self, draws, z) -> float:
        """`law_chance` of the numbers, whose distribution function is nearly normal
        (Berry and Esseen)."""
        if self.delta == 0.0:
            raise NotMeasured(
                "binomial noise is measured by a normal law, which needs delta > 0"
            )
        z = z[:, z.std(axis=0) > 0.0]
        gaps = np.diff(np.sort(z.round(9), axis=0), axis=0)
        step = np.where(gaps > 1e-9, gaps, np.inf).min(axis=0)
        error = min(0.91 * (step / z.std(axis=0)).max(initial=0.0), 0.5)
        own = law_chance(z / z.std(axis=0), sps.norm, error, False)
        return min(own, unrelated(np.abs(draws)))


class Sampled(Gaussian):
    """Normal noise, each call about one record drawn at random: the promise lies between
    the exact loss of these draws and a few per cent above it (Renyi accounting)."""

    most = 2_000

    def chance(self, draws, z) -> float:
        """Of normal noise, and of every record's being as likely to be drawn as any
        other."""
        recorder = Recorder(self.case)
        records = filler(self.case)
        contexts = np.array([x for _, x, _ in records])
        times = np.zeros(len(records))
        for seed in range(40):
            for call in recorder.play(records, seed=seed).calls:
                times[np.abs(contexts - call.args[2]).sum(axis=1).argmin()] += 1
        evenly = sps.chisquare(times).pvalue
        return min(law_chance(draws / draws.std(), sps.norm), evenly)

    def scale(self, draws):
        """One for all numbers."""
        return np.full(draws.shape[1], draws.std())

    def loss(self, several) -> Loss:
        """Raises `Unfit` if a record moves a call that is about another one."""
        (seen,) = several
        calls = seen.base.calls
        own = filler(self.case)[seen.at][1]
        drawn = {i for i, call in enumerate(calls) if np.allclose(call.args[2], own)}
        moved = {part.call for part in seen.parts if seen.moves(part.numbers).any()}
        if drawn != moved or len(calls) != self.case.policy.params.steps:
            raise Unfit("a step depends on another record than the one it has drawn")
        return super().loss(several)

    def epsilon(self, ratios, n: int):
        p = self.case.policy.params
        steps = ratios.reshape(len(ratios), p.steps, -1)
        noise = 1.0 / np.linalg.norm(steps, axis=2).max()
        low = sampled_epsilon(1.02 * noise, p.n, p.steps, self.delta)
        high = sampled_epsilon(noise / SLACK / 1.02, p.n, p.steps, self.delta)
        return low, 1.13 * high


class Generalized(Added):
    """Vectors of generalized Gaussian noise, of norm r, by concentrated privacy: rho adds
    up over independent draws, kappa (move in l_q / scale)^2/2 each (Bassily, Guzman and
    Nandi 2021)."""

    most = 4_000
    sure = 6.0

    def vectors(self, numbers):
        """(..., m / d, d)."""
        return numbers.reshape(len(numbers), -1, self.case.policy.params.d)

    def scale(self, draws):
        """(m,): root of the mean of |z|_r^2/d, of every vector."""
        p = self.case.policy.params
        squares = np.linalg.norm(self.vectors(draws), p.exponent, axis=2) ** 2
        return np.repeat(np.sqrt(squares.mean(axis=0) / p.d), p.d)

    def chance(self, draws, z) -> float:
        """The squared norm is gamma, shares of it are beta, vectors are independent."""
        r = self.case.policy.params.exponent
        d = self.case.policy.params.d
        vectors = self.vectors(draws / self.scale(draws))
        chances = [unrelated(vectors[:, :, 0])]
        for z in vectors.swapaxes(0, 1):
            squares = np.linalg.norm(z, r, axis=1) ** 2
            share = np.abs(z[:, 0]) ** r / squares ** (r / 2)
            chances.append(sps.kstest(squares, sps.gamma(d / 2, scale=2).cdf).pvalue)
            chances.append(sps.kstest(share, sps.beta(1 / r, (d - 1) / r).cdf).pvalue)
        return min(chances)

    def epsilon(self, ratios, n: int):
        p = self.case.policy.params
        kappa = (p.exponent - 1) * p.d ** (2 / p.exponent - 2 / p.q)
        far = np.linalg.norm(self.vectors(ratios), p.q, axis=2)
        rho = kappa / 2 * (far**2).sum(axis=1).max()
        ends = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], n * p.d) / (n * p.d)
        low, high = (concentrated_epsilon(self.delta, rho * end) for end in ends)
        return low * (1 - 1e-2), high * SLACK


class Losses(NamedTuple):
    """What every pair of records loses to independent draws."""

    sizes: np.ndarray  # (pairs, draws)
    error: float  # their relative standard error
    chance: float  # p-value of the law of the draws


class Laplace(Added):
    """Independent Laplace draws."""

    most = 8_000
    sure = 6.0

    def chance(self, draws, z) -> float:
        """`law_chance` of draws of scale 1."""
        return law_chance(draws / self.scale(draws), sps.laplace)

    def scale(self, draws):
        """(m,) mean sizes."""
        return np.abs(draws).mean(axis=0)

    def losses(self, several) -> Losses:
        """The moves over the scales."""
        noise, ratios = self.hidden(several)
        return Losses(ratios, len(noise.draws) ** -0.5, noise.chance)


class Wishart(Law):
    """Matrices with the difference of two Wishart_d(d + 1, c I), fresh in every call."""

    def losses(self, several) -> Losses:
        """Of density proportional to exp(-tr/(2c)) each, the difference loses at most
        half the nuclear norm of the move over c."""
        (seen,) = several
        if self.delta > 0.0:
            raise NotMeasured("Wishart noise is measured at delta = 0 alone")
        sizes = []
        for part in seen.parts:
            moves = seen.moves(part.numbers)
            if part.law != "wishart" or not moves.any():
                continue
            if part.call not in self.noise:
                call = seen.base.calls[part.call]
                n = int(np.clip(20_000 // seen.releases(), 2_000, 10_000))
                drawn = record.fresh_draws(call, n, [9, part.call])[part.part]
                self.noise[part.call] = wishart_noise(record.centred(drawn))
            square = moves.reshape(len(moves), -1, *moves.shape[-2:])
            nuclear = np.abs(np.linalg.eigvalsh(square)).sum(axis=-1)
            noise = self.noise[part.call]
            if noise.is_one_sided:  # it bounds nothing
                return Losses(np.full((len(moves), 1), np.inf), 0.0, 1.0)
            sizes.append(nuclear / (2 * noise.scale))
        noise = list(self.noise.values())
        return Losses(
            sizes=np.hstack(sizes),
            error=max(one.error for one in noise),
            chance=min(one.chance for one in noise),
        )


class WishartNoise(NamedTuple):
    """Noise of the matrices of one call."""

    scale: np.ndarray  # (nodes,): c
    error: float  # relative standard error
    is_one_sided: bool  # no difference
    chance: float  # p-value of the law


def wishart_noise(N: np.ndarray) -> WishartNoise:
    """`WishartNoise` of N (n, ..., d, d): u'Nu is c times the difference of two
    chi-squares with d + 1 degrees, whose variance is 4 (d + 1)."""
    n = len(N)
    d = N.shape[-1]
    ways = np.vstack([np.eye(d)[:2], np.full(d, d**-0.5)])
    z = np.einsum("ki,nbij,kj->nbk", ways, N.reshape(n, -1, d, d), ways)
    scale = z.std(axis=0) / np.sqrt(4 * (d + 1))
    rng = np.random.default_rng(8)
    law = rng.chisquare(d + 1, 4 * n) - rng.chisquare(d + 1, 4 * n)
    columns = (z / scale).reshape(n, -1).T
    chance = min(sps.ks_2samp(column, law).pvalue for column in columns)
    kurtosis = 3 + 12 / (2 * (d + 1))
    return WishartNoise(
        scale=scale[:, 0],
        error=np.sqrt((kurtosis - 1) / n) / 2,
        is_one_sided=bool(-4 * z.min() < z.max()),
        chance=min(chance, unrelated(z[:, :, 0])),
    )


class Pure(Law):
    """Losses to Laplace draws and to Wishart matrices: they add up at delta = 0; else
    those to Laplace draws are composed exactly.

    `low` is of one pair of records, `high` of the worst pair of each law; both are 6.5
    standard errors wide.  At delta > 0 pairs with the largest sums of losses and of their
    squares are looked at.
    """

    def __init__(self, case, names):
        super().__init__(case, names)
        parts = {"laplace": Laplace, "wishart": Wishart}
        self.laws = [parts[name](case, [name]) for name in sorted(names)]

    def loss(self, several) -> Loss:
        """Of all draws together."""
        found = [law.losses(several) for law in self.laws]
        if max(one.sizes.max() for one in found) == np.inf:
            return Loss(np.inf, np.inf)
        ends = [self.ends(found, 1)]
        if self.delta > 0.0:
            ends.append(self.ends(found, 2))
        low, high = np.max(ends, axis=0)
        return Loss(low, high, min(one.chance for one in found))

    def ends(self, found, power: int):
        """(low, high) for the pairs with the largest sums of losses to this power."""
        totals = np.array([(one.sizes**power).sum(axis=1) for one in found])
        pair = totals.sum(axis=0).argmax()
        together = np.concatenate([one.sizes[pair] for one in found])
        worst = [one.sizes[i] for one, i in zip(found, totals.argmax(axis=1), strict=True)]
        apart = np.concatenate(worst)
        errors = [one.error * np.linalg.norm(x) for one, x in zip(found, worst, strict=True)]
        error = 6.5 * np.linalg.norm(errors) / apart.sum()
        low = (1.0 - error) * together
        high = (1.0 + error) * self.reach * apart
        if self.delta == 0.0:
            return low.sum(), high.sum()
        return (
            composed_epsilon(low, self.delta, laplace_distribution),
            composed_epsilon(high, self.delta, laplace_distribution),
        )


class ScaleFound(NamedTuple):
    """The scale of the noise of one call, by which entries are chosen."""

    low: float
    high: float
    chance: float  # p-value of the law of the choices
    picks: int = 1


class Peeling(Law):
    """Laplace noise of one scale, fresh for every pick and value that is shown."""

    def loss(self, several) -> Loss:
        """Composed: a pick loses at most twice the move over the scale (Dwork and Roth
        2014, Claim 3.9), a value the move over the scale."""
        found = self.moved(several[0])
        low = []
        high = []
        for far, noise in found:
            low += [2 * far / noise.high, far / noise.high] * noise.picks
            high += [2 * far / noise.low, far / noise.low] * noise.picks
        return Loss(
            composed_epsilon(low, self.delta, pure_distribution),
            composed_epsilon(self.reach * np.array(high), self.delta, pure_distribution),
            min(noise.chance for _, noise in found),
        )

    def of_call(self, call, n: int = 8000) -> ScaleFound:
        """The scale is read off the values; the picks must then have the law of fresh
        noise of that scale."""
        names = [part.law for part in call.clean]
        seen = dict(zip(names, record.fresh_draws(call, n, 5), strict=True))
        picks = seen["picks"].astype(int)
        s = picks.shape[1]
        is_alone = (np.count_nonzero(seen["peeled"], axis=1) == s).all()  # but picks
        z = np.take_along_axis(seen["peeled"] - seen["peeling"], picks, axis=1)
        size = np.abs(z).mean()
        # 2 sum|z|/scale is chi-square
        low, high = 2 * z.size * size / sps.chi2.ppf([1 - ALARM / 2, ALARM / 2], 2 * z.size)
        scores = np.zeros(seen["peeling"].shape[1])
        scores[:2] = low, -low / 2
        again = record.fresh_draws(call, n, 6, scores)[names.index("picks")]
        wanted = picked(np.abs(scores) / size, s, n, np.random.default_rng(7))
        chance = min(law_chance(z / size, sps.laplace), same_law(again, wanted))
        return ScaleFound(low=low, high=high, chance=is_alone * chance, picks=s)


def picked(scores: np.ndarray, s: int, n: int, rng) -> np.ndarray:
    """(n, s): where the largest scores are, with fresh Laplace noise of scale 1 for every
    pick."""
    left = np.tile(scores, (n, 1))
    picks = np.zeros((n, s), int)
    for i in range(s):
        picks[:, i] = (left + rng.laplace(size=left.shape)).argmax(axis=1)
        left[np.arange(n), picks[:, i]] = -np.inf
    return picks


class Vertex(Law):
    """Noisy choices of a vertex, by concentrated privacy."""

    def loss(self, several) -> Loss:
        """A choice loses at most range/scale, rho = loss^2/2; for Gumbel noise, which is
        range-bounded, loss^2/8.  Unit vectors have a range of twice the move."""
        found = self.moved(several[0])
        share = 8 if self.name == "scores: gumbel" else 2
        ends = []
        for losses in (
            np.array([2 * far / noise.high for far, noise in found]),
            np.array([2 * far / noise.low for far, noise in found]),
        ):
            rho = (losses**2).sum() / share
            ends.append(min(concentrated_epsilon(self.delta, rho), losses.sum()))
        chance = min(noise.chance for _, noise in found)
        return Loss(ends[0] * (1 - 1e-3), ends[1] * self.reach, chance)

    def of_call(self, call, n: int = 20_000) -> ScaleFound:
        """In units of the scores.  The largest of -<scores, v>, with noise, is chosen, at
        v = -e_1, ..., -e_d, e_1, ..., e_d.  With scores (size, 0, ..., 0) that is -e_1
        where size/scale exceeds a threshold of the noise, whose law is that of many
        draws."""
        d = call.clean[0].numbers.size
        axis = np.eye(d)[0]
        tilted = np.where(np.arange(d) == 0, 1.0, -0.7)

        def chosen(scores, n, seed):
            v = record.fresh_draws(call, n, seed, scores)[1]
            return np.hstack([-v, v]).argmax(axis=1)

        size = 1e-3
        while (chosen(size * axis, 200, 5) == 0).sum() < 120:
            size *= 2.0
        z = vertex_noise(self.name, 400_000, d, np.random.default_rng(5))
        others = np.delete(z, [0, d], axis=1).max(axis=1, initial=-np.inf)
        threshold = np.maximum(others - z[:, 0], (z[:, d] - z[:, 0]) / 2)
        hits = int((chosen(size * axis, n, 6) == 0).sum())
        shares = [hits / n, lower_end(hits, n, ALARM / 2), upper_end(hits, n, ALARM / 2)]
        scale, high, low = size / np.quantile(threshold, shares)
        chance = 1.0
        for scores in (axis, tilted):
            noisy = np.concatenate([scores, -scores]) * size / scale + z[:n]
            again = chosen(size * scores, n, 7)[:, None]
            chance = min(chance, same_law(again, noisy.argmax(axis=1)[:, None]))
        return ScaleFound(low=low, high=high, chance=chance)


def vertex_noise(law: str, n: int, d: int, rng) -> np.ndarray:
    """(n, 2 d): noise of scale 1 on the scores of all vertices."""
    if law == "scores: coordinates":  # one draw for both signs
        z = rng.laplace(size=(n, d))
        return np.hstack([z, -z])
    if law == "scores: gumbel":
        return rng.gumbel(size=(n, 2 * d))
    return rng.laplace(size=(n, 2 * d))


class Values(Law):
    """One of a few values, drawn afresh in every call (randomised response, the
    exponential mechanism): the log ratios of their counted chances add up over the
    calls."""

    def loss(self, several) -> Loss:
        """Pair and values are chosen by other draws than those that are counted."""
        (seen,) = several
        if self.delta > 0.0:
            raise NotMeasured("few values are measured at delta = 0 alone")
        if not self.noise:
            need_fresh(self.case)
            self.noise["fresh"] = True
        logs = [np.log(tallied(part.numbers) + 0.5) for part in seen.parts]
        far = sum(np.abs(seen.moves(one)).max(axis=1) for one in logs)
        one, other = seen.candidates.pairs[far.argmax()]
        losses = np.zeros((2, 2))
        for part, chances in zip(seen.parts, logs, strict=True):
            if np.ptp(chances, axis=0).any():
                a = seen.runs[one].calls[part.call]
                b = seen.runs[other].calls[part.call]
                losses += both_ways(a, b)
        low, high = losses.max(axis=0)
        return Loss(low, self.reach * high)


def need_fresh(case) -> None:
    """Raise `Unfit` if, after the same outcomes, what a call draws follows draws before
    it: noise that is held in the State."""
    recorder = Recorder(case)
    records = [(Played(0), x, r) for _, x, r in filler(case)]
    base = recorder.play(records, seed=1)
    for seed in range(2, 10):
        again = recorder.play(records, seed=seed, script=base)
        for call, other in zip(base.calls, again.calls, strict=True):
            if not np.array_equal(call.clean[0].numbers, other.clean[0].numbers):
                raise Unfit(
                    "what the calls draw is not independent: noise is held in the State, "
                    "so 'values', drawn afresh in every call, is not their law"
                )


def tallied(draws: np.ndarray) -> np.ndarray:
    """(..., values): how often each value came, of draws (..., n, numbers)."""
    rows = draws.reshape(-1, draws.shape[-1])
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    if len(kinds) > 100:
        raise NotMeasured(f"a law of few values must have at most 100; got {len(kinds)}")
    which = which.reshape(-1, draws.shape[-2])
    counts = [np.bincount(row, minlength=len(kinds)) for row in which]
    return np.reshape(counts, (*draws.shape[:-2], len(kinds)))


def both_ways(one, other, n: int = 20_000) -> np.ndarray:
    """((low, high) of the loss of one call against the other, the same of the other
    against it), from n draws of each; another n / 4 choose the value that is counted."""
    drawn = [
        record.fresh_rows(call, n + n // 4, [17, i]) for i, call in enumerate((one, other))
    ]
    counts = tallied(np.reshape(drawn, (2, 5, n // 4, -1)))
    pilot = counts[:, 0]
    rest = counts[:, 1:].sum(axis=1)
    low = lower_end(rest, n, ALARM / 4)
    high = upper_end(rest, n, ALARM / 4)
    sure = lower_end(pilot, n // 4, 0.01) / upper_end(pilot[::-1], n // 4, 0.01)
    ends = []
    for p, q in ((0, 1), (1, 0)):
        v = sure[p].argmax()  # the ratio that is surely large
        with np.errstate(divide="ignore"):
            ends.append([np.log(low[p, v] / high[q, v]), np.log(high[p, v] / low[q, v])])
    return np.maximum(ends, 0.0)


LAWS = {  # names of the laws of all numbers that are let out
    frozenset({"gaussian"}): Gaussian,
    frozenset({"counts"}): Counts,
    frozenset({"sampled"}): Sampled,
    frozenset({"laplace"}): Pure,
    frozenset({"wishart"}): Pure,
    frozenset({"laplace", "wishart"}): Pure,
    frozenset({"generalized"}): Generalized,
    frozenset({"prefix"}): Generalized,
    frozenset({"peeling", "peeled", "picks"}): Peeling,
    frozenset({"scores: laplace", "vertex"}): Vertex,
    frozenset({"scores: coordinates", "vertex"}): Vertex,
    frozenset({"scores: gumbel", "vertex"}): Vertex,
    frozenset({VALUES}): Values,
}
