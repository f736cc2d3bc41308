"""COMPOSE: law, scale and moves of the distinct releases to epsilon at delta.

`measure` rebuilds the guarantee of an `AuditInstance` from three things: how far one
record moves what is let out with the same noise (`replay.see`); which independent draws
hide that, and how large they are (`joint_noise`); and the law of the draws.  A
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
from evidence.measure.record import (
    UNKNOWN,
    VALUES,
    Leak,
    NotMeasured,
    Recorder,
    TooMany,
    Unfit,
    Watcher,
    centred,
    fresh_draws,
    fresh_rows,
    joint_noise,
    need_same_noise,
    uncompiled,
)
from evidence.measure.replay import (
    CHOSEN,
    draws_elsewhere,
    farthest,
    filler,
    need_quiet,
    positions,
    see,
)

ALARM = 1e-7  # false alarms of one interval or test; several hundred are made
REACH = 1.01  # the search comes this close to the largest movement
SLACK = 1.06  # a bound that need not be attained exceeds the truth by no more
# bound_is_tight: by how much the promise may exceed what the search finds
REACHES = {True: REACH, False: SLACK, None: np.inf}
MODELS = "local", "shuffle", "joint", "central"
WIDE = 2.0  # a promise is measured where both ends lie within this factor of it
WISHARTS = 5_000  # draws of matrices
BEFORE = 16  # calls before the first that a record moves, whose noise is drawn, too
COUNTED = 12_000  # rounds of each input where no law is known, and numbers are counted


# --- the answer


class Measured(NamedTuple):
    """What an algorithm lets out, and what follows for its guarantee.

    A promise that is right lies between `low` and `high`; a false alarm has a chance of a
    few times `ALARM`.
    """

    releases: int  # calls that this record enters
    # epsilon at the guarantee's delta; infinite if noise does not hide all that any
    # record moves, however far outside the universe
    low: float
    high: float


def verdict(guarantee, found: Measured):
    """How a promise stands beside a `Measured`: True (within a factor `WIDE` of both
    ends), None (not refuted) or False (refuted), and in words."""
    epsilon = guarantee.epsilon
    span = f"[{found.low:.3g}, {found.high:.3g}]"
    words = f"epsilon = {span} is measured, {epsilon:.3g} is promised"
    if epsilon == np.inf:
        if found.low < np.inf:
            return None, "nothing is promised, though a record moves little"
        return True, "nothing is promised, and nothing limits a record"
    if found.low == np.inf:
        return (
            False,
            "records far outside the universe move the releases without limit, or no "
            "noise hides what a record moves: clip the record before it is added, and "
            "give every release its own noise",
        )
    if found.low > epsilon + 1e-9:
        return False, words
    if found.releases == 0:
        return None, "no record enters a release in the rounds that were played"
    if found.low < epsilon / WIDE or found.high > epsilon * WIDE:
        return (
            None,
            f"the measured {span} is no interval within a factor of {WIDE:g} around the "
            f"promised {epsilon:.3g}: it does not confirm it",
        )
    return True, words


def measure(case, tries: int = 0) -> Measured:
    """`Measured` of an `AuditInstance`, whose guarantee should lie in its interval.

    tries: random records among which those are searched that move most.
    Raises `Leak` if others see more of a record than the declared releases, and
    `NotMeasured` where relation, trust model or laws are not known here, or not together.
    """
    model = case.policy.guarantee.model
    if model not in MODELS:
        raise NotMeasured(f"model must be one of {MODELS}; got {model!r}")
    recorder = Recorder(case)
    base = recorder.play(filler(case))
    try:
        laws = {part.law for call in base.calls for part in call.clean}
        if not laws:
            raise NotMeasured(
                f"nothing is let out in {case.rounds} rounds: release sooner in example()"
            )
        if UNKNOWN in laws:
            methods = sorted(recorder.methods)
            raise Unfit(f"no law of noise is known for draws by {methods}")
        name = " + ".join(sorted(laws))
        if name not in LAWS:
            raise NotMeasured(f"laws must be one of {list(LAWS)}; got {sorted(laws)}")
        if name == VALUES and draws_elsewhere(case):
            raise Unfit(
                "what the calls draw is not independent: noise is held in the State, so "
                "'values', drawn afresh in every call, is not their law"
            )
        return by_law(case, LAWS[name](case, name), tries)
    except Unfit as why:
        return without_law(case, recorder.methods, why)


def by_law(case, law, tries: int = 0) -> Measured:
    """`Measured` where all releases have known laws: the worst of all positions.  Raises
    `Unfit` if the noise has not this law."""
    g = case.policy.guarantee
    worst = Measured(releases=0, low=0.0, high=0.0)
    for position in positions(case):
        if not isinstance(case.policy, Optimiser):
            need_quiet(case, position[0])
        seen = see(case, position, tries=tries)
        tries = 0  # searched once, at the first position
        for run in seen.runs:
            need_same_noise(run, seen.base)
        releases = len(seen.moved())
        if not seen.bounded():
            return Measured(releases=releases, low=np.inf, high=np.inf)
        low = 0.0
        high = 0.0
        if seen.distances().any():
            low, high = law.loss(seen)
        worst = Measured(
            releases=max(worst.releases, releases),
            low=float(max(worst.low, low)),
            high=float(max(worst.high, high)),
        )
    if g.model == "shuffle" and law.name != "counts" and worst.low > g.epsilon:
        raise NotMeasured(
            "messages are shown before the shuffler, which amplifies their privacy; "
            "declare what the shuffler puts out: Release(kernel, argument, 'counts')"
        )
    return worst


def without_law(case, methods, why) -> Measured:
    """What counting shows where noise has no known law: `Measured` if it refutes the
    promise.

    methods: by which noise is drawn whose law is not declared.

    Else raises `NotMeasured` where the law was guessed, or where what is shown was
    clamped or rounded after the noise was added, which is no leak; `Leak` where another
    law was declared.
    """
    low = 0.0
    lumps = False
    if not isinstance(case.policy, Optimiser):
        low, lumps = shown_apart(case, *farthest(case, positions(case)[0]))
    if low > case.policy.guarantee.epsilon:
        return Measured(releases=1, low=low, high=np.inf)
    if not methods and not lumps:
        raise Leak(f"{why}, as its Release declares")
    kernel = uncompiled(next(iter(case.releases)))
    raise NotMeasured(
        f"{why}; counting refutes nothing.  Release the sum with its noise before it is "
        "clamped, rounded or compared, and declare its law: "
        f'Release({kernel.__name__}, "ARGUMENT", "gaussian") or "laplace"; where one of '
        'a few values is shown, its law is "values"'
    )


def shown_apart(case, one, other):
    """(epsilon at least, whether some numbers come again and again) of two lists of
    records, counted on all numbers that runs show: the best of a few statistics, each
    chosen on one half and counted on the other."""
    half = min(COUNTED // case.rounds, 4_000) // 2
    watcher = Watcher(case)
    runs = []
    for records in (one, other):
        for _ in range(2 * half):
            run = watcher.play(records, seed=len(runs))
            runs.append(np.concatenate([[], *run.calls]))
    m = min(len(numbers) for numbers in runs)
    # (input, half, run, number): the first halves choose
    z = np.array([numbers[:m] for numbers in runs]).reshape(2, 2, half, m)
    z = z[..., np.ptp(z[:, 0], axis=(0, 1)) > 0.0]
    if z.shape[3] == 0:
        return 0.0, False
    pilot = z[:, 0]
    u = (z - np.median(pilot, axis=(0, 1))) / pilot.std(axis=(0, 1))
    weights = u[0, 0].mean(axis=0) - u[1, 0].mean(axis=0)
    common = sps.mode(pilot[0])
    most = np.abs(weights).argsort()[-3:]
    statistics = [
        u @ weights,
        np.clip(u, -1.0, 1.0) @ weights,
        np.abs(u).sum(axis=3),
        (z == common.mode).any(axis=3).astype(float),
        *np.moveaxis(u[..., most], 3, 0),
    ]
    level = 1.0 - ALARM / len(statistics)
    delta = case.policy.guarantee.delta
    bounds = [audit.bound_on_halves(x[:, 0], x[:, 1], delta, level) for x in statistics]
    return max(bounds), bool(common.count.max() > 3)


# --- tests of a law


def law_chance(z: np.ndarray, law, error: float = 0.0) -> float:
    """p-value, by Bonferroni, of the test that all columns of z (n, m) have this law of
    SciPy and are independent: shape (Kolmogorov and Smirnov), the largest draw, and the
    rank correlations of the draws and of their sizes.

    error: by how much the distribution function may differ (counts are nearly normal).
    """
    n, m = z.shape
    if m == 0 or not z.std(axis=0).all():
        return 0.0  # no noise
    gap = max(sps.ks_1samp(column, law.cdf).statistic for column in z.T)
    shape = sps.kstwo.sf(max(gap - error, 0.0), n)
    largest = np.abs(z).max(axis=0) * (1.0 + 2.0 * error)
    inside = n * np.log1p(-2.0 * law.sf(largest))
    too_small = np.exp(inside.min())
    too_large = 1.0 if error else -np.expm1(inside.max())
    tests = [m * shape, m * too_small, m * too_large]
    tests += [unrelated(z), unrelated(np.abs(z))]
    return float(min(1.0, *tests))


def most_often(z: np.ndarray) -> int:
    """How often a number comes in a column of z (n, m); 0 where all are constant."""
    columns = z.T[np.ptp(z, axis=0) > 1e-9]
    counts = [np.unique(column, return_counts=True)[1].max() for column in columns]
    return max(counts, default=0)


def unrelated(z: np.ndarray) -> float:
    """p-value, by Bonferroni, of the test that no two columns of z (n, m) have correlated
    ranks."""
    n, m = z.shape
    if m < 2:
        return 1.0
    ranks = np.corrcoef(sps.rankdata(z, axis=0), rowvar=False)
    largest = np.abs(ranks[np.triu_indices(m, 1)]).max()
    return m * (m - 1) * float(sps.norm.sf(largest * np.sqrt(n)))


# --- accounting


def normal_epsilon(delta: float, mu: float) -> float:
    """epsilon of normal noise at this sensitivity over noise."""
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
    one = pld.from_gaussian_mechanism(noise, sampling_prob=1.0 / n)
    return one.self_compose(steps).get_epsilon_for_delta(delta)


def laplace_distribution(loss: float):
    """Privacy loss of Laplace noise that hides a move of `loss` times its scale."""
    return pld.from_laplace_mechanism(1.0 / loss, value_discretization_interval=1e-3)


def pure_distribution(loss: float):
    """The largest privacy loss of what is `loss`-private."""
    pure = pld.common.DifferentialPrivacyParameters(loss, 0.0)
    return pld.from_privacy_parameters(pure, value_discretization_interval=1e-3)


def composed_epsilon(losses, delta: float, distribution) -> float:
    """epsilon at delta of independent releases of these losses, each of which has this
    distribution; losses are rounded to a thousandth.  At delta = 0 they add up."""
    losses = np.asarray(losses)
    if losses.max() > 1e3:
        return np.inf
    if delta == 0.0:  # the library cuts tails off, and counts them as lost
        return float(losses.sum())
    rounded = np.exp(np.round(np.log(losses[losses > 1e-6]), 3))
    whole = pld.identity(value_discretization_interval=1e-3)
    for loss, times in zip(*np.unique(rounded, return_counts=True), strict=True):
        whole = whole.compose(distribution(loss).self_compose(int(times)))
    return whole.get_epsilon_for_delta(delta)


def ranged_epsilon(losses, delta: float) -> float:
    """Upper bound on epsilon at delta of choices by Gumbel noise, whose scores change by
    ranges of so many times the scale: each is as private as its range, and has a rho of
    an eighth of its square (Cesar and Rogers 2021)."""
    pure = composed_epsilon(losses, delta, pure_distribution)
    if delta == 0.0:
        return pure
    rho = np.square(losses).sum() / 8.0
    return min(pure, concentrated_epsilon(delta, rho))


# --- laws of noise


class Law:
    """Noise of one law in one case.  `loss` gives (low, high), epsilon at the guarantee's
    delta that the record of one position loses by what was `Seen`, and raises `Unfit` if
    the noise has another law; what is drawn of the noise is kept for other positions."""

    def __init__(self, case, name: str):
        self.case = case
        self.name = name
        self.delta = case.policy.guarantee.delta
        self.noise = {}
        self.reach = REACHES[case.bound_is_tight]

    def need(self, chance: float) -> None:
        """Raise `Unfit` if the noise fits this law with no more than this p-value."""
        if chance <= ALARM:
            raise Unfit(f"the noise has not the law {self.name!r}")


# --- noise that is added to numbers


class Noise(NamedTuple):
    """Independent draws, of which shown noise is made: noise = sums @ draws."""

    sums: np.ndarray  # (m, m) lower triangular, 1 on the diagonal
    draws: np.ndarray  # (n, m); 0 where a number brings no new draw
    scale: Any = None  # (m,)
    chance: float = 1.0

    def ratios(self, moves: np.ndarray) -> np.ndarray:
        """(pairs, m): moves of the draws over their scales; infinite where nothing hides
        them."""
        apart = np.abs(linalg.solve_triangular(self.sums, moves.T, lower=True).T)
        no_draw = ~self.draws.any(axis=0)
        ratios = apart / np.where(no_draw, 1.0, self.scale)
        ratios[:, no_draw] = 0.0
        moved = apart > 1e-6 * apart.max()
        ratios[moved & no_draw] = np.inf
        return ratios


def independent(z: np.ndarray, standard_errors: float) -> Noise:
    """`Noise` of draws z (n, m), in the order in which it was shown: each number without
    what the draws before explain of it.  A draw explains nothing unless so many standard
    errors say so."""
    n, m = z.shape
    draws = np.zeros((m, n))
    squares = np.full(m, 1e-300)
    sums = np.eye(m)
    least = 1e-14 * (z**2).sum(axis=0).max(initial=0.0)
    for i, number in enumerate(z.T):
        weights = draws[:i] @ number / squares[:i]
        error = np.sqrt(number @ number / squares[:i] / n)
        weights[np.abs(weights) <= standard_errors * error] = 0.0
        sums[i, :i] = weights
        new = number - weights @ draws[:i]
        if new @ new > least:
            draws[i] = new
            squares[i] = new @ new
    return Noise(sums=sums, draws=draws.T)


class Added(Law):
    """Noise that is added to numbers, whatever sums of its draws are shown.

    A law of this kind has a `shape`, of SciPy, and says by `chance` whether independent
    draws (n, m) fit (z are the shown sums of them), by `scale` how large they are, (m,),
    and by `epsilon` what moves (pairs, m) cost that are so many times the scale: a lower
    and an upper end.
    """

    shape = sps.norm
    most = 16_000  # draws
    sure = 0.0  # see `independent`

    def chance(self, draws, z) -> float:
        """p-value of the shape; 0 where a number comes again and again."""
        if most_often(z) > 3:
            return 0.0
        return law_chance(draws / self.scale(draws), self.shape)

    def loss(self, seen):
        """By the draws that the record moves."""
        ratios, n = self.hidden(seen)
        if ratios.max() == np.inf:
            return np.inf, np.inf
        return self.epsilon(ratios, n)

    def hidden(self, seen):
        """(ratios of moves to the noise that hides them, number of draws): of all calls
        that a record moves, and of `BEFORE` earlier and later, whose noise may be the
        same."""
        law = self.name
        numbers, owners = seen.stacked(law)
        moves = seen.moves(numbers)
        moved = owners[moves.any(axis=0)]
        columns = (moved.min() - BEFORE <= owners) & (owners <= moved.max() + BEFORE)
        first = owners[columns].min()
        last = owners[columns].max()
        if (first, last) not in self.noise:
            calls = range(first, last + 1)
            n = int(np.clip(160_000 // len(calls), 2_000, self.most))
            m = int(columns.sum())
            if m > max(n // 8, 100):
                raise TooMany(
                    f"{m} numbers that one record may move are too many to measure "
                    "their noise together"
                )
            z = joint_noise(self.case, seen.base, law, n, calls)
            noise = independent(z, self.sure)
            new = noise.draws[:, noise.draws.any(axis=0)]
            self.noise[first, last] = noise._replace(
                scale=self.scale(noise.draws),
                chance=self.chance(new, z),
            )
        noise = self.noise[first, last]
        ratios = noise.ratios(moves[:, columns])
        if ratios.max() < np.inf:
            self.need(noise.chance)
        return ratios, len(noise.draws)


class Gaussian(Added):
    """Normal noise of any covariance, over all calls together, by its exact loss."""

    def scale(self, draws):
        return draws.std(axis=0)

    def epsilon(self, ratios, n: int):
        """The distance is Mahalanobis', in the covariance of the noise.  For n draws with
        sum of products S and any D (m,), D'C^-1 D / D'S^-1 D is chi-square with n - m + 1
        degrees; every pair has its share of `ALARM`."""
        tail = ALARM / 2 / len(ratios)
        degrees = n - ratios.shape[1] + 1
        ends = np.sqrt(sps.chi2.ppf([tail, 1 - tail], degrees) / n)
        mu = np.linalg.norm(ratios, axis=1).max()
        return (
            normal_epsilon(self.delta, mu * ends[0]),
            normal_epsilon(self.delta, mu * ends[1] * self.reach),
        )


class Counts(Gaussian):
    """Independent binomial noise, whose tails are lighter than normal ones, on the safe
    side."""

    def chance(self, draws, z) -> float:
        """Their distribution function differs from a normal one by less than the largest
        of its steps."""
        if self.delta == 0.0:
            raise NotMeasured(
                "binomial noise is measured by a normal law, which needs delta > 0"
            )
        error = most_often(z) / len(z)
        return law_chance(draws / self.scale(draws), self.shape, error)


class Sampled(Gaussian):
    """Normal noise, each call about one record drawn at random: the promise lies between
    the exact loss of these draws and a few per cent above it (Renyi accounting)."""

    most = 2_000
    sure = 6.0

    def chance(self, draws, z) -> float:
        """And of every record's being as likely to be drawn as any other."""
        recorder = Recorder(self.case)
        times = np.zeros(self.case.rounds)
        for seed in range(40):
            for call in recorder.play(filler(self.case), seed=seed).calls:
                times[self.drawn(call)] += 1
        evenly = sps.chisquare(times).pvalue
        return min(super().chance(draws, z), evenly)

    def scale(self, draws):
        """One for all numbers."""
        return np.full(draws.shape[1], draws.std())

    def drawn(self, call) -> int:
        """The round of the record that a call is about."""
        contexts = np.array([x for _, x, _ in filler(self.case)])
        return int(np.abs(contexts - call.args[2]).sum(axis=1).argmin())

    def loss(self, seen):
        """Raises `Unfit` if a record moves a call that is about another one."""
        drawn = [i for i, c in enumerate(seen.base.calls) if self.drawn(c) == seen.at]
        if drawn != seen.moved():
            raise Unfit("a step depends on another record than the one it has drawn")
        return super().loss(seen)

    def epsilon(self, ratios, n: int):
        p = self.case.policy.params
        steps = ratios.reshape(len(ratios), -1, p.d)
        noise = 1.0 / np.linalg.norm(steps, axis=2).max()
        low = sampled_epsilon(1.02 * noise, p.n, p.steps, self.delta)
        high = sampled_epsilon(noise / SLACK / 1.02, p.n, p.steps, self.delta)
        return low, 1.13 * high


class Laplace(Added):
    """Independent Laplace draws.  The interval is 6.5 standard errors wide each way."""

    shape = sps.laplace
    most = 8_000
    sure = 6.0

    def scale(self, draws):
        return np.abs(draws).mean(axis=0)

    def epsilon(self, ratios, n: int):
        """Losses add up at delta = 0, and are composed exactly else, for the pairs with
        the largest sums of losses and of their squares."""
        error = 6.5 * n**-0.5
        ends = []
        for factor in (1.0 - error, (1.0 + error) * self.reach):
            epsilons = []
            for power in (1, 2):
                pair = factor * ratios[(ratios**power).sum(axis=1).argmax()]
                one = composed_epsilon(pair, self.delta, laplace_distribution)
                epsilons.append(one)
            ends.append(max(epsilons))
        return ends


class Generalized(Added):
    """Vectors of generalized Gaussian noise, of norm r, by concentrated privacy: rho adds
    up over independent draws, kappa (move in l_q / scale)^2/2 each (Bassily, Guzman and
    Nandi 2021)."""

    most = 4_000
    sure = 6.0

    def sizes(self, numbers, norm: float):
        """(..., m / d): squared norms of the vectors."""
        vectors = numbers.reshape(len(numbers), -1, self.case.policy.params.d)
        return np.linalg.norm(vectors, norm, axis=2) ** 2

    def scale(self, draws):
        """Root of the mean of |z|_r^2/d, of every vector."""
        p = self.case.policy.params
        squares = self.sizes(draws, p.exponent).mean(axis=0)
        return np.repeat(np.sqrt(squares / p.d), p.d)

    def chance(self, draws, z) -> float:
        """The squared norm is gamma, shares of it are beta, vectors are independent."""
        d = self.case.policy.params.d
        r = self.case.policy.params.exponent
        draws = draws / self.scale(draws)
        squares = self.sizes(draws, r)
        shares = np.abs(draws[:, ::d]) ** r / squares ** (r / 2)
        gamma = sps.kstest(squares, sps.gamma(d / 2, scale=2).cdf).pvalue
        beta = sps.kstest(shares, sps.beta(1 / r, (d - 1) / r).cdf).pvalue
        return min(*gamma, *beta, unrelated(draws[:, ::d]))

    def epsilon(self, ratios, n: int):
        p = self.case.policy.params
        kappa = (p.exponent - 1) * p.d ** (2 / p.exponent - 2 / p.q)
        rho = kappa / 2 * self.sizes(ratios, p.q).sum(axis=1).max()
        ends = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], n * p.d) / (n * p.d)
        low = concentrated_epsilon(self.delta, rho * ends[0])
        high = concentrated_epsilon(self.delta, rho * ends[1])
        return 0.99 * low, high * SLACK


class Wishart(Law):
    """Matrices with the difference of two Wishart_d(d + 1, c I), fresh in every call;
    vectors beside them may have Laplace noise.  Losses add up at delta = 0."""

    def loss(self, seen):
        """Of density proportional to exp(-tr/(2c)) each, the difference loses at most
        half the nuclear norm of the move over c.  `low` is of one pair of records, `high`
        of the worst pair of each law; both are 6.5 standard errors wide."""
        if self.delta > 0.0:
            raise NotMeasured("Wishart noise is measured at delta = 0 alone")
        vectors = 0.0
        if "laplace" in self.name:
            ratios, _ = Laplace(self.case, "laplace").hidden(seen)
            vectors = ratios.sum(axis=1)
        matrices = 0.0
        for part in seen.parts:
            moves = seen.moves(part.numbers)
            if part.law != "wishart" or not moves.any():
                continue
            if part.call not in self.noise:
                call = seen.base.calls[part.call]
                drawn = fresh_draws(call, WISHARTS, [9, part.call])[part.part]
                noise = centred(drawn)
                corner = noise[..., 0, 0]
                if -4.0 * corner.min() < corner.max():  # one-sided: it bounds nothing
                    return np.inf, np.inf
                scale, chance = wishart_noise(noise)
                self.need(chance)
                self.noise[part.call] = scale
            nuclear = np.abs(np.linalg.eigvalsh(moves)).sum(axis=-1)
            losses = nuclear.reshape(len(moves), -1) / (2 * self.noise[part.call])
            matrices += losses.sum(axis=1)
        error = 6.5 * WISHARTS**-0.5
        low = np.max(vectors + matrices)
        high = np.max(vectors) + np.max(matrices)
        return (1 - error) * low, (1 + error) * self.reach * high


def wishart_noise(N: np.ndarray):
    """(scales c (nodes,), p-value of the law) of N (n, ..., d, d): u'Nu is c times the
    difference of two chi-squares with d + 1 degrees, whose variance is 4 (d + 1) and
    whose kurtosis 3 + 6/(d + 1): for d >= 2 the relative standard error is at most
    1/sqrt(n)."""
    n = len(N)
    d = N.shape[-1]
    N = N.reshape(n, -1, d, d)
    z = N[:, :, 0, 0]
    along = N.sum(axis=(2, 3)) / d
    scale = z.std(axis=0) / np.sqrt(4 * (d + 1))
    rng = np.random.default_rng(8)
    law = rng.chisquare(d + 1, 4 * n) - rng.chisquare(d + 1, 4 * n)
    columns = np.hstack([z / scale, along / scale]).T
    chance = min(sps.ks_2samp(column, law).pvalue for column in columns)
    return scale, min(chance, unrelated(z))


# --- noisy choices


class Choice(Law):
    """The options with the largest gains, with noise, are shown; the record moves the
    scores from which they are chosen.

    "peeling": entries of large size, with fresh Laplace noise for every pick and for its
    value, which is shown; "scores": the vertex +-e_j with the smallest product.
    """

    def loss(self, seen):
        """Composed: a pick loses at most twice the move over the scale (Dwork and Roth
        2014, Claim 3.9), with Gumbel noise at least half of this: of the range in which
        the logarithms of two chances may differ; a value the move over the scale."""
        lows = []
        highs = []
        for part in seen.parts:
            far = np.abs(seen.moves(part.numbers)).max()
            if part.law in CHOSEN or far == 0.0:
                continue
            if part.call not in self.noise:
                self.noise[part.call] = self.of_call(seen.base.calls[part.call])
            small, large, picks = self.noise[part.call]
            each = [2.0]
            if part.law == "peeling":
                each = [2.0, 1.0] * picks
            lows += [share * far / large for share in each]
            highs += [share * far / small * self.reach for share in each]
        if "scores: gumbel" in self.name:
            halves = np.divide(lows, 2.0)
            low = composed_epsilon(halves, self.delta, pure_distribution)
            return low, ranged_epsilon(highs, self.delta)
        low = composed_epsilon(lows, self.delta, pure_distribution)
        high = composed_epsilon(highs, self.delta, pure_distribution)
        return low, high

    def of_call(self, call, n: int = 8_000):
        """(least and largest scale of the noise, number of picks): of scores large + size
        and large, and noise of scale 1, the first is chosen with the chance that a
        difference of two draws is below size/scale, for three times this size, too, and
        for every pick that is left."""
        law = LaplaceDifference()
        if call.clean[0].law == "scores: gumbel":
            law = sps.logistic
        size = 1e-3
        while (chosen(call, [size], 200)[:, 0] == 0).sum() < 150:
            size *= 2.0
        share = share_of((chosen(call, [size], n)[:, 0] == 0).sum(), n)
        low, high = size / law.ppf(share[::-1])
        tests = [(3 * size, chosen(call, [3 * size], n)[:, 0] == 0)]
        picks = chosen(call, [size, 0.0], n)
        if picks.shape[1] > 1:
            tests.append((size, picks[picks[:, 0] == 1, 1] == 0))
        fits = call.clean[0].law != "peeling" or values_fit(call, low, high)
        for more, hits in tests:
            least, most = share_of(hits.sum(), len(hits))
            fits = fits and least <= law.cdf(more / low) and most >= law.cdf(more / high)
        self.need(float(fits))
        return low, high, picks.shape[1]


class LaplaceDifference(sps.rv_continuous):
    """Of two Laplace draws of scale 1."""

    def _cdf(self, x):
        tail = np.exp(-np.abs(x)) * (2.0 + np.abs(x)) / 4.0
        return np.where(x > 0.0, 1.0 - tail, tail)


def share_of(counts, n: int, tail: float = ALARM) -> np.ndarray:
    """(low, high) of chances, of so many hits in n draws."""
    return np.array([lower_end(counts, n, tail), upper_end(counts, n, tail)])


def chosen(call, leads, n: int) -> np.ndarray:
    """(n, picks): the entries, or vertices -e_1, ..., -e_d, e_1, ..., e_d, that a call
    chooses by scores of which one more than `leads` is large, by these leads."""
    scores = np.zeros(call.clean[0].numbers.size)
    scores[: len(leads) + 1] = 100.0 * leads[0]
    scores[: len(leads)] += leads
    parts = fresh_draws(call, n, [5, len(leads)], scores)
    if call.clean[-1].law == "vertex":
        return np.hstack([-parts[-1], parts[-1]]).argmax(axis=1)[:, None]
    return parts[-1].astype(int)


def values_fit(call, low: float, high: float) -> bool:
    """Whether peeling shows values of its picks alone, with the noise of the picks."""
    scores, values, picks = fresh_draws(call, 8_000, 5)
    picks = picks.astype(int)
    z = np.take_along_axis(values - scores, picks, axis=1)
    scale = np.abs(z).mean()
    fits = law_chance(z / scale, sps.laplace) > ALARM
    return fits and low < scale < high and np.count_nonzero(values) <= picks.size


# --- few values


class Values(Law):
    """One of a few values, drawn afresh in every call (randomised response, the
    exponential mechanism): the log ratios of their counted chances add up over the
    calls."""

    def loss(self, seen):
        """Of the pair of records that few draws choose; others are counted."""
        if self.delta > 0.0:
            raise NotMeasured("few values are measured at delta = 0 alone")
        far = 0.0
        for part in seen.parts:
            logs = np.log(tallied(part.numbers) + 0.5)
            far += np.abs(seen.moves(logs)).max(axis=1)
        one, other = seen.candidates.pairs[far.argmax()]
        forth = 0.0
        back = 0.0
        for i in seen.moved():
            counts = counted_values(seen.runs[one].calls[i], seen.runs[other].calls[i])
            forth += log_ratio(counts)
            back += log_ratio(counts[::-1])
        low, high = np.maximum(forth, back)
        return low, self.reach * high


def tallied(draws: np.ndarray) -> np.ndarray:
    """(groups, values): how often each value came, of draws (groups, n, numbers)."""
    rows = draws.reshape(-1, draws.shape[-1])
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    if len(kinds) > 100:
        raise NotMeasured(f"a law of few values must have at most 100; got {len(kinds)}")
    groups = which.reshape(len(draws), -1)
    return np.array([np.bincount(row, minlength=len(kinds)) for row in groups])


def counted_values(one, other, n: int = 20_000) -> np.ndarray:
    """(2, values): how often two calls show each value, in n draws."""
    rows = [fresh_rows(one, n, [17, 0]), fresh_rows(other, n, [17, 1])]
    return tallied(np.array(rows))


def log_ratio(counts) -> np.ndarray:
    """(low, high) of the largest log ratio of the first call's chances to the second's;
    (0, 0) where it is negative."""
    low, high = share_of(counts, counts[0].sum(), ALARM / counts.size)
    with np.errstate(divide="ignore"):
        ends = [np.log(low[0] / high[1]).max(), np.log(high[0] / low[1]).max()]
    return np.maximum(ends, 0.0)


LAWS = {  # names of the laws of all numbers that are let out, in alphabetical order
    "gaussian": Gaussian,
    "counts": Counts,
    "sampled": Sampled,
    "laplace": Laplace,
    "wishart": Wishart,
    "laplace + wishart": Wishart,
    "generalized": Generalized,
    "prefix": Generalized,
    "peeled + peeling + picks": Choice,
    "scores: laplace + vertex": Choice,
    "scores: coordinates + vertex": Choice,
    "scores: gumbel + vertex": Choice,
    VALUES: Values,
}
