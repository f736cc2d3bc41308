"""What the chapters measure: rates, the published tables, filters, drifts, attacks, and
what the released program ran; and closed forms of the paper."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
from scipy.special import log_ndtr

from companion.baselines import noisy_sfw as sfw
from companion.baselines.noisy_sfw import noisy_sfw
from companion.baselines.noisy_sgd import noisy_sgd
from companion.jit import jit
from companion.kernels.geometry import (
    admit_all,
    dual_exponent,
    lq_norm,
    vertex,
)
from companion.kernels.mechanisms import laplace, random_integer
from companion.kernels.tree import complete, trailing_zeros
from companion.simulate import go_on, parallel_map, play_block, stream, trace
from companion.stats import difference
from companion.streaming_sco import streaming
from companion.streaming_sco.environments import (
    Functional,
    drawn,
    excess_risk,
    flat,
    regression,
    watch,
)
from companion.streaming_sco.streaming import streaming_fw
from companion.validate import (
    need_choice,
    need_int,
    need_positive,
    need_probability,
)


def in_every_run(job, *arguments, seeds):
    """Array (n_reps, ...) of what job(*arguments, seed) gives for every seed, in
    parallel."""
    jobs = [(*arguments, seed) for seed in seeds]
    return np.array(parallel_map(job, jobs))


# Rates of Algorithms 1 and 2: section 3 of the paper.


def checkpoints(n, count=24, start=64):
    """About `count` numbers of records below n, none a power of two, where the tree is
    best.

    Every number has a one-bit at half of its length, like a typical one.
    """
    t = np.unique(np.geomspace(start, n, count).astype(np.int64))
    bits = np.array([int(v).bit_length() for v in t])
    t = t | (np.int64(1) << (bits // 2)) | 1
    return np.unique(np.append(t[t < n], n - 1))


def envelope(optimiser, slopes, n, seeds, grid):
    """(means (slopes, checkpoints), samples (runs, checkpoints)) of linear losses.

    At every checkpoint, all below n, the samples are those of the slope with the largest
    mean.
    """
    p = optimiser.params
    runs = []
    for slope in slopes:
        world = Functional(p.d, slope, p.p)
        risk = excess_risk(world, [optimiser], n, seeds, grid=grid)
        runs.append(risk.excess[:, 0, :-1])
    samples = np.array(runs)
    at = np.arange(len(grid))
    means = samples.mean(axis=1)
    return means, samples[means.argmax(axis=0), :, at].T


def errors_and_risks(env, optimiser, n, seeds, grid, c):
    """(2, n_reps, n_grid): ||d_t - grad F(theta_t)||_q at every t of the grid, E x x' = c
    I, and the excess risk of the same runs."""
    runs = in_every_run(_errors_and_risks, env, optimiser, n, grid, c, seeds=seeds)
    return runs.swapaxes(0, 1)


def _errors_and_risks(env, optimiser, n, grid, c, seed):
    X, Y = drawn(env, n, seed)
    errors = []
    public = []
    for _, s, theta in watch(optimiser, X, Y, seed, grid):
        gap = s.gradient - env.gradient(s.old, c)
        errors.append(lq_norm(gap, optimiser.params.q))
        public.append(theta)
    return errors, env.excess(np.array(public))


FAILURE = 0.05


def gradient_error_bound(t, problem, sigma, kappa):
    """Proposition A.2: with probability 1 - FAILURE, ||d_t - grad F(theta_t)||_q is at
    most this.

    t (m,) records; problem: a `streaming.Problem`, whose G = 2 L holds for any loss;
    sigma: scale sigma_+ of the node's noise (0: none); kappa of the norm.
    """
    t = np.asarray(t, dtype=float)
    size = problem.beta * 2.0 * problem.radius + 2.0 * problem.lipschitz
    sampling = math.sqrt(2.0 * math.e * kappa)
    sampling += 8.0 * math.sqrt(4.0 * math.log(2.0 / FAILURE))
    nodes = math.ceil(math.log2(problem.n))
    d = problem.d
    log_term = math.log(2.0 * nodes / FAILURE)
    noise = math.sqrt(d + 2.0 * math.sqrt(d * log_term) + 2.0 * d * log_term)
    from_records = sampling * 2.0 * size / np.sqrt(t + 1.0)
    from_noise = nodes * sigma * noise / (t + 1.0)
    return from_records + from_noise


# Tables 2 to 4: section C of the paper.  A row says which noise: "as run" (the
# program's), "as printed" (the paper's formulas at valid constants), "corrected" (exact,
# same guarantee as asked), "square root" (the same, another factorisation), "clipped at
# 3" (the same, leaves clipped at 3 in l_2), "no privacy".

ROWS = (
    "as run",
    "as printed",
    "corrected",
    "square root",
    "clipped at 3",
    "no privacy",
)
OURS = ROWS[3:5]  # variants of Algorithm 1 alone; its rivals are corrected
# r of the program; |y| <= 1 + 4 standard deviations of the noise
RADIUS = 2.0
LABELS = 1.2


FURTHER_SCALES = {
    "Algorithm 1": (1.0,),
    "NoisySFW": (0.15, 0.2, 1.0),
    "NoisySGD": (4.0, 8.0),
}


def scales(method, row, p, grids):
    """Step scales that are tried: the published grid; for our own rows further ones, and
    1."""
    published = grids.get(method, [1.0])
    tried = set(grids.get(f"{method}, p={p:g}", published))
    if row != "as run":
        tried.update(FURTHER_SCALES[method])
    return sorted(tried)


def candidate(method, row, d, n, p, step_scale):
    """The optimiser of one row with one step scale, for epsilon = 1 and delta = 1/n."""
    need_choice("row", row, ROWS)
    keys = {
        "delta": 1.0 / n,
        "p": p,
        "radius": RADIUS,
        "step_scale": step_scale,
    }
    if row == "as run" and method in PROGRAMS:
        return PROGRAMS[method](d, n, epsilon=1.0, **keys)
    keys["epsilon"] = np.inf if row == "no privacy" else 1.0
    keys["label_bound"] = LABELS
    keys["calibration"] = "paper" if row in ("as run", "as printed") else "corrected"
    if method == "NoisySFW":
        return noisy_sfw(d, n, **keys)
    if method == "NoisySGD":
        if row == "as run":  # the box and the constant of the program
            keys["radius"] = 1.0
            keys["lipschitz"] = LIPSCHITZ
        return noisy_sgd(d, n, **keys)
    if row in OURS:
        keys["factorisation"] = "sqrt"
    if row == "clipped at 3":
        keys["clip"] = 3.0
    return streaming_fw(d, n, **keys)


def table(methods, rows, settings, p, seeds, grids):
    """{(method, row, (n, d)): {step scale: SubOpt samples}} of the paper's regression.

    methods: {name: repetitions}; OURS are rows of Algorithm 1 alone.
    """
    by_row = {}
    for (n, d), (method, reps) in product(settings, methods.items()):
        tried = []
        made = []
        for row in rows:
            if row in OURS and method != "Algorithm 1":
                continue
            by_row[method, row, (n, d)] = {}
            for c in scales(method, row, p, grids):
                tried.append((row, c))
                one = candidate(method, row, d, n, p, c)
                made.append(one.renamed(f"{method}, {row}, {c:g}"))
        env = regression(p, flat(d, p))
        if method == "NoisySGD":
            samples = noisy_sgds(env, made, n, seeds[:reps])
        else:
            samples = excess_risk(env, made, n, seeds[:reps]).final
        for (row, c), y in zip(tried, samples.T, strict=True):
            by_row[method, row, (n, d)][c] = y
    return by_row


def best(samples):
    """(step scale, SubOpt samples) of the smallest mean: a choice on test data, as in the
    paper."""
    return min(samples.items(), key=lambda item: item[1].mean())


def summary(by_row):
    """Rows of a printed table of what `table` returns: method, noise, and in every
    setting mean and standard deviation at the best step scale."""
    lines = {}
    for (method, row, (n, d)), by_scale in by_row.items():
        scale, y = best(by_scale)
        line = lines.setdefault((method, row), {"method": method, "noise": row})
        line[f"T = {n}, d = {d}"] = f"{y.mean():.2g} ± {y.std(ddof=1):.1g} (×{scale:g})"
    return list(lines.values())


def beside_printed(by_row, printed, method, row, settings, raw=False):
    """Rows of a comparison: (setting, printed mean, its standard error, our samples).

    A printed spread is taken for that of three runs, as in the repository's notebook;
    raw: our samples as test risk, which is what is printed for p = inf.
    """
    lines = []
    for (n, d), (mean, spread) in zip(settings, printed, strict=True):
        world = regression(np.inf, flat(d, np.inf))
        y = best(by_row[method, row, (n, d)])[1]
        if raw:
            moment, _ = world.second_moment()
            y = world.noise**2 + moment * (world.theta**2).sum() * y
        lines.append(
            (
                f"{method}, T = {n}, d = {d}",
                mean,
                spread / math.sqrt(3.0),
                y,
            )
        )
    return lines


def gaps(by_row, a, b, settings, level):
    """{row: [interval of SubOpt of method a minus method b's]}, each at its best scale
    and over the repetitions that both have; OURS meet b's corrected row."""
    results = {}
    for row in ROWS:
        rival = "corrected" if row in OURS else row
        results[row] = []
        for at in settings:
            mine = best(by_row[a, row, at])[1]
            theirs = best(by_row[b, rival, at])[1]
            k = min(len(mine), len(theirs))
            results[row].append(difference(mine[:k], theirs[:k], level))
    return results


# NoisySGD for many step sizes and noises at once: every variant has exactly the law of
# `noisy_sgd.run`, and for one generator the same bits (tested).  Without this the 10^9
# steps of Table 4 would add a third to the time of the book.

STRETCH = 100_000  # steps of one kernel: it is not interrupted


@jit
def descend_all(A, b, steps, eta, sigma, radius, rng, theta):
    """theta (d, m) <- the last iterates of m variants over boxes of radius (m,), steps
    eta (m,) and noises sigma (m,), on admitted records A (n, d), b (n,)."""
    d, m = theta.shape
    c = np.empty(m)
    for _ in range(steps):
        j = random_integer(rng, A.shape[0])
        c[:] = 0.0
        for i in range(d):
            x = A[j, i]
            for k in range(m):
                c[k] += x * theta[i, k]
        for k in range(m):
            c[k] = 2.0 * (c[k] - b[j])
        for i in range(d):
            x = A[j, i]
            z = rng.standard_normal()
            for k in range(m):
                moved = theta[i, k] - eta[k] * (c[k] * x + sigma[k] * z)
                theta[i, k] = min(max(moved, -radius[k]), radius[k])


def noisy_sgds(env, optimisers, n, seeds):
    """Excess risk (n_reps, n_methods) of NoisySGD variants: `excess_risk(...).final` in
    law.

    optimisers: `noisy_sgd` values for p = inf, alike in d, n and the bound of the labels.
    """
    made = tuple(o.params for o in optimisers)
    return in_every_run(_noisy_sgds, env, made, n, seeds=seeds)


def _noisy_sgds(env, made, n, seed):
    X, Y = drawn(env, n, seed)
    p = made[0]
    A = np.empty(X.shape)
    b = np.empty(Y.shape)
    admit_all(X, Y, p.q, p.high, A, b)
    eta = np.array([q.eta for q in made])
    sigma = np.array([q.sigma for q in made])
    radius = np.array([q.radius for q in made])
    theta = np.zeros((p.d, len(made)))
    rng = stream(seed, "NoisySGD")
    for begin in range(0, p.steps, STRETCH):
        go_on()
        steps = min(STRETCH, p.steps - begin)
        descend_all(A, b, steps, eta, sigma, radius, rng, theta)
    return env.excess(theta.T.copy())


# What the released program ran where it departs from the paper.  Nothing here is private.
# Source: the authors' repository, the state of June to August 2022 that produced Tables 2
# to 4.
# 1. The radius of the generalized Gaussian was drawn as R^2 ~ Gamma(d/2, scale 2
#    sigma_+), the misprint of Lemma 3.2, instead of 2 sigma_+^2.
# 2. Its exponent was kappa_(q,+) = min(q - 1, log d - 1) instead of kappa_(q,+) + 1
#    (Lemma 3.9), and every generalized normal draw was shifted by 1/exponent before a
#    random flip of its sign.
# 3. beta = 1 and L = 4, for a loss with beta = 2 and L = 2 (r + |y|).
# 4. Algorithm 3's program takes the coordinate of the vertex from noisy scores, but its
#    sign from the exact gradient.

BETA = 1.0
LIPSCHITZ = 4.0


def misprinted(p, d):
    """(exponent, kappa) of Lemma 3.9 as printed; p > 2: normal directions, kappa
    cancels."""
    q = dual_exponent(p)
    if q < 2.0:
        return 2.0, 1.0
    rest = math.log(d) - 1.0
    return min(q - 1.0, rest), min(q - 1.0, math.e**2 * rest)


def lost_by_signs(noise, levels, delta):
    """A lower bound on the epsilon that Algorithm 1 loses at delta: exact arithmetic, d =
    1.

    With the loss x theta (beta = 0, L = 1), a first record 1 or -1 and zeros behind it,
    the parameter after record 2^j shows the sign of one node, N(+-1, sigma^2).  These
    nodes have independent noise.  The event: all signs are right.  noise: sigma per unit
    of the sensitivity
    2 L; levels: nodes that hold record 1, floor(log2 n) + 1.  A replaced record.
    """
    noise = need_positive("noise", noise)
    levels = need_int("levels", levels, 1)
    delta = need_probability("delta", delta)
    all_right = math.exp(levels * float(log_ndtr(0.5 / noise)))
    log_other = levels * float(log_ndtr(-0.5 / noise))
    if all_right <= delta:
        return 0.0
    return max(0.0, math.log(all_right - delta) - log_other)


def lost_by_first_vertices(optimiser, delta):
    """A lower bound on the epsilon that Algorithm 2 loses at delta: exact arithmetic, d =
    1.

    optimiser: `vertex_fw` with selector "argmin", d = 1 and the loss x theta, so that
    beta = 0 and L = 1.  Record 1 is 1 or -1, all others are 0, so the gradient at time t
    is +-1/(t + 1), and the scores of the two vertices differ by 2 r/(t + 1).  With
    Laplace noise of scale b_t on both, the wrong one is chosen with probability (1 + a/2)
    exp(-a)/2, a = 2 r/((t + 1) b_t).  The event:
    the first k vertices are the right ones of record 1, with the best k.  A replaced
    record.
    """
    p = optimiser.params
    if p.d != 1:
        raise ValueError(f"optimiser must have d = 1; got d = {p.d}")
    delta = need_probability("delta", delta)
    scales = np.array([streaming.noise_scale(p, t) for t in range(1, p.n + 1)])
    shift = 2.0 * p.radius / (np.arange(2, p.n + 2) * scales)
    wrong = 0.5 * (1.0 + 0.5 * shift) * np.exp(-shift)
    all_right = np.exp(np.cumsum(np.log1p(-wrong)))
    log_other = np.cumsum(np.log(wrong))
    likely = all_right > delta
    if not likely.any():
        return 0.0
    losses = np.log(all_right[likely] - delta) - log_other[likely]
    return max(0.0, float(losses.max()))


@jit
def program_noise(rng, exponent, sigma, out):
    """out (d,) <- the program's draw; exponent 2 stands for p > 2, where directions are
    normal."""
    total = 0.0
    for i in range(out.shape[0]):
        if exponent == 2.0:
            out[i] = rng.standard_normal()
        else:
            u = math.pow(rng.standard_gamma(1.0 / exponent), 1.0 / exponent)
            if rng.random() >= 0.5:
                u = -u
            u += 1.0 / exponent
            out[i] = u if rng.random() < 0.5 else -u
        total += math.pow(abs(out[i]), exponent)
    radius = math.sqrt(2.0 * sigma * rng.standard_gamma(0.5 * out.shape[0]))
    for i in range(out.shape[0]):
        out[i] *= radius / math.pow(total, 1.0 / exponent)


@jit
def run_program_tree(p, s, X, Y, rng, out):
    """Algorithm 1 with the program's noise; out (n, d) <- the public parameters."""
    for i in range(X.shape[0]):
        streaming.add_leaf(p, s, X[i], Y[i])
        t = s.t[0]
        row = trailing_zeros(t)
        program_noise(rng, p.exponent, p.sigma, s.noise[row])
        complete(s.noise, t)
        streaming.mean_gradient(p, t, s.total, s.noise[row], s.gradient)
        vertex(s.gradient, p.p, p.radius, s.v)
        streaming.move(p, s)
        out[i] = s.theta


@jit
def run_program_sfw(p, s, X, Y, rng, out):
    """NoisySFW with the program's noise; out (n, d) <- the public parameters."""
    for i in range(X.shape[0]):
        sfw.gather(p, s, X[i], Y[i])
        size = sfw.batch_end(p, s.t[0])
        if size > 0:
            sigma = p.sigma_first if s.t[0] == p.half else p.sigma
            program_noise(rng, p.exponent, sigma, s.released)
            sfw.add_mean(p, s, size)
            sfw.descend(p, s)
        out[i] = s.theta


def program_tree(d, n, epsilon, delta, *, p, radius, step_scale=1.0):
    """Algorithm 1 as run: the optimiser with the program's noise; no guarantee."""
    made = streaming_fw(
        d,
        n,
        epsilon=np.inf,
        delta=delta,
        p=p,
        radius=radius,
        label_bound=1e9,
        clip=np.inf,
        step_scale=step_scale,
    )
    exponent, kappa = misprinted(p, d)
    m = math.ceil(math.log2(n)) + 1
    size = BETA * 2.0 * radius + LIPSCHITZ
    sigma = math.sqrt(8.0 * kappa * math.log(m / delta)) * m * size / epsilon
    params = made.params._replace(exponent=exponent, sigma=sigma)
    return made._replace(
        name="Algorithm 1 as run",
        params=params,
        step=None,
        run=run_program_tree,
    )


def program_sfw(d, n, epsilon, delta, *, p, radius, step_scale):
    """NoisySFW as run: the same noise; no guarantee."""
    made = noisy_sfw(
        d,
        n,
        epsilon=np.inf,
        delta=delta,
        p=p,
        radius=radius,
        label_bound=1e9,
        step_scale=step_scale,
    )
    exponent, kappa = misprinted(p, d)
    unit = math.sqrt(32.0 * kappa * math.log(1.0 / delta)) / epsilon
    at_first = unit * LIPSCHITZ / n
    later = unit * BETA * 2.0 * radius * made.params.eta / math.sqrt(n)
    params = made.params._replace(exponent=exponent, sigma_first=at_first, sigma=later)
    return made._replace(
        name="NoisySFW as run",
        params=params,
        step=None,
        run=run_program_sfw,
    )


PROGRAMS = {"Algorithm 1": program_tree, "NoisySFW": program_sfw}


@jit
def clean_sign(rng, score, b, out):
    """out (runs, d) <- vertices whose coordinate is noisy and whose sign is not: the
    choice of Algorithm 3's program, for the scores (d,) and Laplace scale b."""
    for i in range(out.shape[0]):
        largest = -np.inf
        at = 0
        out[i] = 0.0
        for j in range(score.shape[0]):
            z = abs(score[j] + laplace(rng, b))
            if z > largest:
                largest = z
                at = j
        out[i, at] = -np.sign(score[at])


# Algorithm 3: its filter, its estimates, the drift of its losses, and what it needs
# synthetic updates for.


def removed(env, policy, later, seeds):
    """Shares of `later` rounds in which the filter removes the best arm, and any arm,
    (n_reps, 2).

    The filter is fixed after the forced rounds, which alone are played.
    """
    return in_every_run(_removed, env, policy, later, seeds=seeds)


def _removed(env, policy, later, seed):
    p = policy.params
    forced = p.K * p.t0
    blocks = env.blocks(forced + later, stream(seed, "environment"))
    X, _, mu = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    _, s, *_ = next(trace(env, policy, forced, seed, forced))
    z = X[forced:, 0] @ s.forced.T
    best_arm = mu[forced:].argmax(axis=1)
    gone = z <= z.max(axis=1, keepdims=True) - 0.5 * p.gap
    without_best = gone[np.arange(later), best_arm]
    return without_best.mean(), gone.any(axis=1).mean()


def played(env, policy, T, seed, grid):
    """Yield (state, true parameters (K, d)) after every round of the increasing grid, in
    one run.

    The true parameters are solved from the means of a linear environment.
    """
    s = policy.init(policy.params)
    rng = stream(seed, policy.name)
    done = 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        if done == 0:
            true = np.linalg.lstsq(X[:, 0], mu, rcond=None)[0].T
        stops = [t - done for t in grid if done < t <= done + len(X)]
        for begin, end in pairwise(dict.fromkeys([0, *stops, len(X)])):
            cut = slice(begin, end)
            arms = np.empty(end - begin, np.int64)
            play_block(policy, s, X[cut], R[cut], rng, arms)
            if end in stops:
                yield s, true
        done += len(X)


def estimates(env, policy, T, seeds, grid):
    """(n_reps, n_grid): largest squared l_1 error of an arm's estimate at every t of the
    grid."""
    return in_every_run(_estimates, env, policy, T, grid, seeds=seeds)


def _estimates(env, policy, T, grid, seed):
    squares = []
    for s, true in played(env, policy, T, seed, grid):
        errors = np.abs(s.arms.theta - true).sum(axis=1)
        squares.append(errors.max() ** 2)
    return squares


SAMPLE = 20_000  # contexts that stand for their law


def drifts(env, policy, T, seeds, grid):
    """(error, dropped), each (n_reps, n_grid): what Lemma 4.7 is about, of the worst arm.

    Arm i sees (x, r) where it is chosen, and a zero record elsewhere.  Given the
    estimates, its mean loss is F_t(theta) = E 1{a(x) = i} (x'(theta - theta*_i))^2 +
    noise, and E is taken over a fixed sample of contexts.  error: ||d_t - grad
    F_t(theta_t)||_inf of the released gradient, theta_t being the estimate at which the
    last record was met.  dropped: E 1{the choice between the last two estimates differs}
    (x'(theta_t - theta*_i))^2, a bound on what section B.1 drops, F_t(theta_t) -
    F_(t-1)(theta_t).  The policy is greedy: its filter removes nobody.
    """
    runs = in_every_run(_drifts, env, policy, T, tuple(grid), seeds=seeds)
    return runs[:, 0], runs[:, 1]


def _drifts(env, policy, T, grid, seed):
    blocks = env.blocks(SAMPLE, stream(seed, "fresh contexts"))
    # its parameters do not matter
    fresh = np.concatenate([X[:, 0] for X, _, _ in blocks])
    errors = []
    dropped = []
    for s, true in played(env, policy, T, seed, grid):
        now = (fresh @ s.arms.theta.T).argmax(axis=1)
        before = (fresh @ s.arms.old.T).argmax(axis=1)
        turned = fresh[now != before]
        error = []
        lost = []
        for i, theta in enumerate(true):
            own = fresh[before == i]
            mean = 2.0 * own.T @ (own @ (s.arms.old[i] - theta)) / len(fresh)
            error.append(np.abs(s.arms.gradient[i] - mean).max())
            squares = (turned @ (s.arms.theta[i] - theta)) ** 2
            lost.append(squares.sum() / len(fresh))
        errors.append(max(error))
        dropped.append(max(lost))
    return errors, dropped


ROUNDS = 20  # of random records before the user comes


def stands_still(policy, sign, runs, seed):
    """In how many of `runs` runs the published parameter of arm 0 does not move when a
    user comes whose context points along sign times the difference of the two parameters,
    which she likes.

    policy: Algorithm 3 with two arms; runs in which the parameters agree after the first
    rounds are played again.
    """
    still = 0
    done = 0
    rng = np.random.default_rng(seed)
    p = policy.params
    while done < runs:
        s = policy.init(p)
        for t in range(ROUNDS):
            policy.update(p, s, t % 2, rng.uniform(-1.0, 1.0, p.d), 0.2, rng)
        before = s.arms.theta[0].copy()
        other = s.arms.theta[1].copy()
        if (before == other).all():
            continue
        x = sign * np.sign(before - other)
        arm = policy.select(p, s, np.array([x, x]), rng)
        policy.update(p, s, arm, x, 0.5, rng)
        done += 1
        still += int((s.arms.theta[0] == before).all())
    return still
