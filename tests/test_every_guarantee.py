"""Every guarantee rebuilt from three things that are measured while the policy plays.

(1) How far one record moves what is let out when no noise is drawn, over corners of the universe
and records far outside it; (2) in how many calls it does; (3) the noise that is drawn.  An
independent route (`dp-accounting`, or a closed form of another source than the code's) turns them
into epsilon.  See `measured` and `companion.disclosure`.  All seeds are fixed; noise of an honest
policy fails a test with a chance below `ALARM`.
"""

import inspect
import math
from typing import NamedTuple

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from measured import Quiet, arrays, begin, copied, interpreted, is_generator, play, records
from scipy import stats as sps
from scipy.optimize import brentq

from companion import catalogue
from companion.core import Optimiser
from companion.disclosure import LAWS

ALARM = 1e-7  # false alarms of one interval or test; several hundred are made
REACH = 1.01  # the search comes this close to the largest movement
SLACK = 1.06  # a bound that need not be attained exceeds the truth by no more

ENTRIES = catalogue.policies() | catalogue.optimisers()


def module(name):
    return inspect.getmodule(ENTRIES[name].example)


PRIVATE = [n for n, e in ENTRIES.items() if e.example().guarantee.model != "none"]
OFFERED = {n: getattr(module(n), "disclosures", tuple)() for n in PRIVATE}
CASES = [(n, i) for n, cases in OFFERED.items() for i in range(len(cases))]
every_case = pytest.mark.parametrize(("name", "number"), CASES, ids=lambda v: str(v))


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_policy_offers_its_disclosures(name):
    """In every calibration that it has, with laws that are known here."""
    cases = OFFERED[name]
    assert cases, f"{name} promises privacy and must offer disclosures()"
    assert all(c.policy.guarantee.model != "none" for c in cases)
    taken = inspect.signature(ENTRIES[name].factory).parameters
    calibrated = "calibration" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
    # What was asked for is given, or claimed; optimisers may be calibrated by a bound (zCDP).
    least = 0.75 if isinstance(cases[0].policy, Optimiser) else 0.95
    for g in (c.policy.guarantee for c in cases):
        assert least < g.epsilon <= 1 + 1e-9 if g.claimed is None else g.claimed[0] == 1.0
    own = [c.policy.guarantee.claimed is None for c in cases]
    assert any(own) or not calibrated
    assert not (calibrated and all(own)), "the paper's calibration must be measured, too"


# --- what is played -----------------------------------------------------------------------------


def filler(case):
    """The records that stay the same, one per round."""
    rng = np.random.default_rng(7)
    shape = case.rounds, case.policy.params.d + 1
    return [(0, row[:-1], row[-1]) for row in rng.uniform(-0.5, 0.5, shape)]


def candidates(case):
    """[(arm, x, r)] and their kinds: 0 near, 1 a thousand, 2 a billion times too large."""
    near, far = records(case.policy.params.d)
    if case.records is not None:
        near = np.vstack([near, case.records])
    rows = [near, far(1e3), far(1e9)]
    kind = np.repeat([0, 1, 2], [len(r) for r in rows])
    return [(i % 2, row[:-1], row[-1]) for i, row in enumerate(np.vstack(rows))], kind


class Seen(NamedTuple):
    """What all candidates in place of one round's record let out, after one and the same past."""

    base: object  # the run whose outcomes all others share
    clean: list  # per call and part of it: (candidates, ...) released numbers without noise
    laws: list  # and their laws
    kind: np.ndarray  # (candidates,) see `candidates`

    def stacked(self, law):
        """(candidates, n): all numbers of a law, over all calls."""
        parts = [
            part.reshape(len(part), -1)
            for parts, laws in zip(self.clean, self.laws, strict=True)
            for part, which in zip(parts, laws, strict=True)
            if which == law
        ]
        return np.hstack(parts)

    def bounded(self, distances):
        """Whether records a billion times too large move a release no further than a thousand."""
        far = [distances[np.ix_(self.kind == k, self.kind == k)].max() for k in (1, 2)]
        assert far[1] <= far[0] * (1 + 1e-6) or far[1] > 1e3 * far[0]
        return far[1] <= far[0] * (1 + 1e-6)


def see(case, at, seed=1):
    """`Seen`: every candidate in round `at`; nothing but the releases may depend on it."""
    fixed = filler(case)
    base = play(case, fixed, seed=seed)
    rows, kind = candidates(case)
    runs = []
    for row in rows:
        data = [*fixed[:at], row, *fixed[at + 1 :]]
        runs.append(run := play(case, data, seed=seed, script=base.calls))
        assert len(run.calls) == len(base.calls), "the number of releases depends on data"
        assert run.arms == base.arms, "advice depends on more than what was released"
        pairs = zip(run.public, base.public, strict=True)
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
        assert same, "others see more than the releases"
    laws = [[law for law, _ in c.clean] for c in base.calls]
    clean = [
        [np.array([run.calls[i].clean[j][1] for run in runs]) for j in range(len(parts))]
        for i, parts in enumerate(laws)
    ]
    return Seen(base, clean, laws, kind)


def joint_noise(run, law, n, seed, fresh=None):
    """(n, m) draws of the noise of all calls together, in the order in which they were made.

    fresh: maps a generator to the state before the first record, where that holds noise.
    """
    rng = np.random.default_rng(seed)

    def once(generator):
        for a, content in run.first:
            a[...] = content
        if fresh is not None:  # noise that was drawn before the first record
            for a, content in zip(arrays(run.state[1]), arrays(fresh(generator)), strict=True):
                a[...] = content
        numbers = []
        for kernel, read, args in run.live:
            args = [generator if is_generator(a) else a for a in args]
            parts = read(kernel(*args), *args)
            numbers += [np.ravel(a).copy() for which, a in parts if which == law]
        return np.concatenate(numbers)

    with interpreted({}):
        centre = (0.4, 0.6) if law in ("prefix", "generalized") else (0.5,)  # both signs
        clean = np.mean([once(Quiet(u)) for u in centre], axis=0)
        return np.array([once(rng) for _ in range(n)]) - clean


# --- normal noise, and counts -------------------------------------------------------------------


def moves(several):
    """(candidates, candidates, n) differences; of several draws of rounding, entry by entry, the
    largest.
    """
    best = 0.0
    for rows in several:
        D = rows[:, None] - rows
        best = np.where(np.abs(D) > np.abs(best), D, best)
    return best


def fresh(case):
    """What `joint_noise` asks for: an optimiser begins anew with every draw."""
    return (lambda rng: begin(case, rng)) if isinstance(case.policy, Optimiser) else None


def sensitivity(case, law, n=16_000):
    """((low, high) of the sensitivity over the noise, in the worst round; whether it is bounded).

    The distance is Mahalanobis', in the covariance of the noise of all calls.  The pair is chosen
    with a quarter of the draws, its distance comes from the others, exactly: for normal draws with
    sum of products S and any D, D'C^-1 D / D'S^-1 D is chi-square with n - m + 1 degrees.
    Binomial noise has lighter tails, so for counts the interval is on the safe side.
    """
    ends, bounded = [], True
    for at in sorted({0, case.rounds // 2, case.rounds - 1}):
        seeds = (1,) if law == "gaussian" else range(6)
        seen = [see(case, at, seed) for seed in seeds]
        if at == 0:
            z = joint_noise(seen[0].base, law, n, 3, fresh(case))
            first, rest = z[: n // 4], z[n // 4 :]
            root = np.linalg.cholesky(first.T @ first / len(first))
        D = moves([s.stacked(law) for s in seen])
        bounded = bounded and seen[0].bounded(np.linalg.norm(D, axis=2))
        D = D.reshape(-1, D.shape[2])
        D = D[np.linalg.norm(np.linalg.solve(root, D.T), axis=0).argmax()]
        if not D.any():  # a record that nothing uses
            continue
        w = np.linalg.solve(rest.T @ rest, D)
        tails = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], len(rest) - len(D) + 1)
        ends.append(np.sqrt(D @ w * tails))
        line = rest @ w
        assert law != "gaussian" or sps.kstest(line / line.std(), "norm").pvalue > ALARM
    return np.max(ends, axis=0), bounded


def normal_delta(epsilon, mu):
    """delta of normal noise at this sensitivity over noise, by the accountant library."""
    return GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon)


def check_normal(case, law):
    """The promise is the measured one: attained, or for a bound exceeded by a few per cent."""
    promise, ((low, high), bounded) = case.policy.guarantee, sensitivity(case, law)
    assert bounded == (promise.epsilon < np.inf)
    if bounded:
        assert normal_delta(promise.epsilon, low) <= promise.delta
        high *= REACH if case.reaches else SLACK
        assert promise.epsilon == 0.0 or promise.delta <= normal_delta(promise.epsilon, high)


# --- peeling ------------------------------------------------------------------------------------


def draws(call, n, seed, vector=None):
    """n fresh outcomes of one call, [[(law, numbers)]]; peeling another vector if one is given."""
    rng, out = np.random.default_rng(seed), []
    with interpreted({}):
        for _ in range(n):
            args = copied(call.args, rng)
            if vector is not None:
                dict(call.read(None, *args))["peeling"][...] = vector
            out.append([(law, np.array(a)) for law, a in call.read(call.kernel(*args), *args)])
    return out


def quiet(call):
    """What one call lets out when it draws nothing."""
    with interpreted({}):
        args = copied(call.args, Quiet())
        return call.read(call.kernel(*args), *args)


def pick_chances(v, xi, s):
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


def laplace_scale(z):
    """(low, high) of the scale behind Laplace draws z (n,): 2 sum|z|/scale is chi-square."""
    assert sps.kstest(z / np.abs(z).mean(), "laplace").pvalue > ALARM
    ends = sps.chi2.ppf([1 - ALARM / 2, ALARM / 2], 2 * len(z))
    return 2 * np.abs(z).sum() / ends


def peeling_noise(call, n=8000):
    """(low, high) of the noise scale of one call of peeling, and how many entries it shows.

    The scale is read off the values; the picks must then have the law of fresh noise of that scale.
    """
    seen = [dict(parts) for parts in draws(call, n, 5)]
    shown = {len(parts["picks"]) for parts in seen} | {
        int(np.count_nonzero(parts["peeled"])) for parts in seen
    }
    (s,) = shown
    z = [p["peeled"][p["picks"]] - p["peeling"][p["picks"]] for p in seen]
    low, high = laplace_scale(np.concatenate(z))
    v = np.zeros(len(seen[0]["peeling"]))
    v[:2] = low, -low / 2
    again = [tuple(dict(parts)["picks"]) for parts in draws(call, n, 6, v)]
    chances = pick_chances(v, (low + high) / 2, s)
    counts = [again.count(places) for places in chances]
    expected = np.array(list(chances.values()))
    assert sps.chisquare(counts, n * expected / expected.sum()).pvalue > ALARM
    return (low, high), s


def composed(parts, epsilon):
    """delta at epsilon of report-noisy-max picks and Laplace values, [(move/scale, number)].

    A pick loses at most 2 move/scale (Dwork and Roth 2014, Claim 3.9), a value move/scale; the
    accountant library composes such pure losses.
    """
    whole = None
    for ratio, number in parts:
        for loss in (2 * ratio, ratio):
            pure = pld.common.DifferentialPrivacyParameters(loss, 0.0)
            one = pld.from_privacy_parameters(pure, value_discretization_interval=2e-4)
            one = one.self_compose(number)
            whole = one if whole is None else whole.compose(one)
    return whole.get_delta_for_epsilon(epsilon)


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


def check_peeling(case):
    """As `check_normal`, for the composition of all picks and values that one record enters."""
    promise, deltas, noise, bounded = case.policy.guarantee, [], {}, True
    for at in sorted({0, case.rounds // 2, case.rounds - 1}):
        seen, low, high = see(case, at), [], []
        for far, ((least, most), s) in moved(seen, noise, peeling_noise):
            bounded = bounded and seen.bounded(far)
            low.append((far.max() / most, s))
            high.append((far.max() / least * (REACH if case.reaches else SLACK), s))
        if bounded:
            deltas.append([composed(parts, promise.epsilon) for parts in (low, high)])
    assert bounded == (promise.epsilon < np.inf)
    if bounded:
        low, high = np.max(deltas, axis=0)
        assert low <= promise.delta <= high


# --- pure privacy: Laplace and Wishart noise ----------------------------------------------------


def wishart_scales(N, n):
    """(scales (nodes,), relative standard error, whether the noise is one-sided) of noise N (n,
    ..., d, d): u'Nu is c times the difference of two chi-squares with d + 1 degrees.
    """
    d = N.shape[-1]
    N = N.reshape(len(N), -1, d, d)
    ways = np.vstack([np.eye(d), np.full(d, d**-0.5)])
    z = np.einsum("ki,nbij,kj->nbk", ways, N, ways)
    one_sided = -4 * z.min() < z.max()
    if not one_sided:
        scale = z.std(axis=0) / np.sqrt(4 * (d + 1))
        rng = np.random.default_rng(8)
        law = rng.chisquare(d + 1, (2, 4 * n))
        for b in range(min(N.shape[1], 2)):
            for k in range(len(ways)):
                assert sps.ks_2samp(z[:, b, k] / scale[b, k], law[0] - law[1]).pvalue > ALARM
    kurtosis = 3 + 12 / (2 * (d + 1))
    return z[:, :, 0].std(axis=0) / np.sqrt(4 * (d + 1)), np.sqrt((kurtosis - 1) / n) / 2, one_sided


def losses(seen, part, noise):
    """(pairs of candidates, terms) of largest log-density ratios of one part of the messages, and
    the relative standard error of a term.
    """
    terms, error = [], 0.0
    for i, parts in enumerate(seen.clean):
        a, law = parts[part], seen.laws[i][part]
        D = a[:, None] - a
        z = noise[i][part]
        if not np.any(D):
            continue
        if law == "laplace":
            scale, error = np.abs(z).mean(axis=0), len(z) ** -0.5
            terms.append((np.abs(D) / scale).reshape(*D.shape[:2], -1))
        else:
            scale, error, _ = wishart_scales(z, len(z))
            nuclear = np.abs(np.linalg.eigvalsh(D.reshape(*D.shape[:2], -1, *D.shape[-2:])))
            terms.append(nuclear.sum(axis=-1) / (2 * scale))
    return np.concatenate(terms, axis=2) if terms else None, error


def check_pure(case, n=10_000):
    """The losses of the parts of one user's messages add up to the promised epsilon.

    Laplace: sum |move|/scale.  The difference of two Wishart_d(d+1, cI), of density proportional
    to exp(-tr/(2c)) each, loses at most half the nuclear norm of the move over c.  A pair is
    chosen with a quarter of the draws, its loss comes from the others; 5.5 standard errors.
    """
    promise, worst, variance, bounded, one_sided = case.policy.guarantee, 0.0, 0.0, True, False
    for at in range(case.rounds):
        seen, total, spread = see(case, at), 0.0, 0.0
        noise = []
        for call in seen.base.calls:
            clean = [np.array(a) for _, a in quiet(call)]
            drawn = draws(call, n, 9)
            z = [np.array([d[j][1] for d in drawn]) - clean[j] for j in range(len(clean))]
            noise.append(z)
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
                one_sided = one_sided or wishart_scales(noise[0][part], n)[2]
        if total > worst:
            worst, variance = total, spread
    assert (bounded and not one_sided) == (promise.epsilon < np.inf)
    if promise.epsilon < np.inf:
        reach = 5.5 * np.sqrt(variance)
        assert worst - reach <= promise.epsilon <= REACH * (worst + reach)


# --- generalized Gaussian noise -----------------------------------------------------------------


def concentrated(rho, delta):
    """epsilon of rho-zCDP, by the accountant library."""
    accountant = rdp.RdpAccountant(
        np.concatenate([1 + np.logspace(-3, 0, 400), np.linspace(2, 400, 4000)])
    )
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    return accountant.get_epsilon(delta)


def blocks(run, numbers):
    """(..., calls, d) what the dyadic blocks that end at 1, 2, 3, ... add to the prefix sums, from
    all numbers (..., calls * d), which are prefix sums divided by (number of terms + 1).
    """
    n = len(run.calls)
    ends = np.arange(1, n + 1)
    sums = numbers.reshape(*numbers.shape[:-1], n, -1) * (ends + 1)[:, None]
    before = np.concatenate([np.zeros_like(sums[..., :1, :]), sums], axis=-2)
    return sums - before[..., ends - (ends & -ends), :]


def check_generalized(case, law, n=4000):
    """The promise follows from the moves in l_q and the noise of l_r by concentrated privacy: rho
    adds up over calls, kappa (move/scale)^2/2 each (Bassily, Guzman and Nandi 2021).
    """
    promise, p, worst, bounded = case.policy.guarantee, case.policy.params, [0.0, 0.0], True
    r, d, q = p.exponent, p.d, p.q
    kappa = (r - 1) * d ** (2 / r - 2 / q)
    for at in sorted({0, case.rounds // 2, case.rounds - 1}):
        seen = see(case, at)
        whole, z = seen.stacked(law), joint_noise(seen.base, law, n, 3, fresh(case))
        split = (lambda a, run: blocks(run, a)) if law == "prefix" else (
            lambda a, run: a.reshape(*a.shape[:-1], len(run.calls), -1))  # fmt: skip
        moved, z = split(whole, seen.base), split(z, seen.base)
        far = np.linalg.norm(moved[:, None] - moved, q, axis=-1)
        bounded = bounded and seen.bounded(far.max(axis=2))
        squares = np.linalg.norm(z, r, axis=2) ** 2
        rho = np.zeros(2)
        for k in range(moved.shape[1]):
            size = squares[:, k].mean() / d
            assert sps.kstest(squares[:, k] / size, sps.gamma(d / 2, scale=2).cdf).pvalue > ALARM
            share = np.abs(z[:, k, 0]) ** r / squares[:, k] ** (r / 2)
            assert sps.kstest(share, sps.beta(1 / r, (d - 1) / r).cdf).pvalue > ALARM
            ends = sps.chi2.ppf([ALARM / 2, 1 - ALARM / 2], n * d) / (n * d) / size
            rho += kappa * far[..., k].max() ** 2 / 2 * ends
            for j in range(k):  # blocks are independent
                assert abs(np.corrcoef(z[:, k, 0], z[:, j, 0])[0, 1]) < 5.5 / np.sqrt(n)
        worst = np.maximum(worst, rho)
    assert bounded
    low, high = (concentrated(rho, promise.delta) for rho in worst)
    assert low * (1 - 1e-3) <= promise.epsilon <= high * SLACK


# --- one record at random -----------------------------------------------------------------------


def sampled_epsilon(noise, n, steps, delta):
    """epsilon of steps draws of one record out of n: the exact loss of mixtures of normals, on a
    fine grid (a coarser output loses no more), by the accountant library.
    """
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


def check_sampled(case):
    """Moves, noise and number of draws are those behind the promise, which lies between the exact
    loss and a few per cent above it (Renyi accounting).
    """
    promise, steps, hits, ratio = case.policy.guarantee, case.policy.params.steps, 0, 0.0
    n = case.policy.params.n
    for at in range(n):
        seen = see(case, at)
        assert len(seen.base.calls) == steps
        moved = np.array([np.linalg.norm(c[0][:, None] - c[0], axis=-1).max() for c in seen.clean])
        hits += (moved > 0).sum()
        ratio = max(ratio, moved.max())
        assert seen.bounded(
            np.linalg.norm(seen.stacked("sampled")[:, None] - seen.stacked("sampled"), axis=2)
        )
    assert hits == steps  # every draw is about one record
    z = joint_noise(seen.base, "sampled", 2000, 3)
    assert sps.kstest(z.ravel() / z.std(), "norm").pvalue > ALARM
    noise = z.std() / ratio
    again = [play(case, filler(case), seed=s) for s in range(40)]
    x = [filler(case)[at][1] for at in range(n)]
    which = [
        next(i for i in range(n) if np.allclose(c.args[2], x[i]))
        for run in again
        for c in run.calls
    ]
    assert sps.chisquare(np.bincount(which, minlength=n)).pvalue > ALARM
    low, high = (
        sampled_epsilon(noise * f, n, steps, promise.delta) for f in (1.02, 1 / SLACK / 1.02)
    )
    assert low <= promise.epsilon <= 1.13 * high


# --- noisy choice of a vertex -------------------------------------------------------------------


def vertex_chances(scores, law):
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


def vertex_noise(call, law, n=20_000):
    """(low, high) of the scale of the noise of one call, in units of the scores."""
    rng, d = np.random.default_rng(5), len(call.read(None, *call.args)[0][1])

    def counts(scores, n):
        args = copied(call.args, rng)
        (_, x), (_, v) = call.read(None, *args)
        x[...] = scores
        found = np.zeros(2 * d)
        for _ in range(n):
            call.kernel(*args)
            j = int(np.abs(v).argmax())
            found[j if v[j] > 0 else j + d] += 1
        return found

    axis, size = np.eye(d)[0], 1e-3
    with interpreted({}):
        while counts(size * axis, 200)[d] < 120:
            size *= 2.0
        found = counts(size * axis, n)
        other = counts(size * np.where(np.arange(d) == 0, 1.0, -0.7), n)
    hits = int(found[d])
    ends = [
        sps.beta.ppf(ALARM / 2, hits, n - hits + 1),
        sps.beta.ppf(1 - ALARM / 2, hits + 1, n - hits),
    ]

    def ratio(chance):
        return brentq(lambda a: vertex_chances(a * axis, law)[d] - chance, 1e-3, 50.0)

    ratios = [ratio(chance) for chance in (hits / n, *ends)]
    scale, high, low = (size / a for a in ratios)
    for scores, seen in ((axis, found), (np.where(np.arange(d) == 0, 1.0, -0.7), other)):
        expected = n * vertex_chances(size / scale * scores, law)
        assert sps.chisquare(seen, expected).pvalue > ALARM
    return low, high


def check_vertices(case):
    """The losses range/scale of all choices that one record enters, by concentrated privacy
    (loss^2/2; for Gumbel noise, which is range-bounded, loss^2/8), give the promise.
    """
    promise, worst, noise, bounded = case.policy.guarantee, np.zeros(2), {}, True
    for at in sorted({0, case.rounds // 2, case.rounds - 1}):
        seen = see(case, at)
        rho, pure = np.zeros(2), np.zeros(2)
        (law,) = {w for laws in seen.laws for w in laws if w != "vertex"}
        kind = law.split(": ")[1]
        for far, ends in moved(seen, noise, lambda call, kind=kind: vertex_noise(call, kind)):
            bounded = bounded and seen.bounded(far)
            loss = 2 * far.max() / np.array(ends)[::-1]  # of <x, v>, over +- unit vectors
            rho, pure = rho + loss**2 / (8 if kind == "gumbel" else 2), pure + loss
        worst = np.maximum(
            worst, [min(concentrated(a, promise.delta), b) for a, b in zip(rho, pure, strict=True)]
        )
    assert bounded
    assert worst[0] * (1 - 1e-3) <= promise.epsilon <= worst[1] * (REACH if case.reaches else SLACK)


@every_case
def test_guarantee_is_what_is_measured(name, number):
    case = OFFERED[name][number]
    laws = {law for c in play(case, filler(case)).calls for law, _ in c.clean}
    assert laws <= set(LAWS)
    if laws <= {"gaussian", "counts"}:
        check_normal(case, *laws)
    elif laws == {"peeling", "peeled", "picks"}:
        check_peeling(case)
    elif "vertex" in laws:
        check_vertices(case)
    elif laws <= {"prefix", "generalized"}:
        check_generalized(case, *laws)
    elif laws == {"sampled"}:
        check_sampled(case)
    else:
        assert laws <= {"laplace", "wishart"}
        check_pure(case)
