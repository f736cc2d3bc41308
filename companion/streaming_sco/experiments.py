"""The methods of Tables 2 to 4, row by row, and what the chapters measure on single runs.

A row says which noise: "as run" (the program's), "as printed" (the paper's formulas at valid
constants), "corrected" (exact, same guarantee as asked), "square root" (the same, another
factorisation), "no privacy".
Source: sections 3.1 and C of the paper.
"""

import numpy as np

from companion.baselines.noisy_sfw import noisy_sfw
from companion.baselines.noisy_sgd import noisy_sgd
from companion.checks import need_choice
from companion.excess import drawn, excess_risk, watch
from companion.geometry import lq_norm
from companion.simulate import over
from companion.streaming_sco.environments import flat, regression
from companion.streaming_sco.shortcuts import noisy_sgds
from companion.streaming_sco.streaming_fw import streaming_fw

ROWS = ("as run", "as printed", "corrected", "square root", "no privacy")
RADIUS, LABELS = 2.0, 1.2  # r of the program; |y| <= 1 + 4 standard deviations of the noise


def scales(method, row, p, grids):
    """Step scales that are tried: the published grid; for our own rows further ones, and 1."""
    key = f"{method}, p={'inf' if p == np.inf else p}"
    grid = list(grids.get(key, grids.get(method, [1.0])))
    if row != "as run":
        grid += {"NoisySFW": [0.15, 0.2, 1.0]}.get(method, [1.0])
    return sorted(set(grid))


def candidates(method, row, d, n, p, grids, programs, epsilon=1.0):
    """{step scale: optimiser} of one row; programs: {method: maker} for the row "as run"."""
    need_choice("row", row, ROWS)
    found = {}
    for c in scales(method, row, p, grids):
        made = _made(method, row, d, n, p, c, programs, epsilon)
        found[c] = made.renamed(f"{method}, {row}, {c:g}")
    return found


def _made(method, row, d, n, p, c, programs, epsilon):
    delta = 1.0 / n
    if row == "as run" and method in programs:
        return programs[method](d, n, epsilon, delta, p=p, radius=RADIUS, step_scale=c)
    calibration = "paper" if row in ("as run", "as printed") else "corrected"
    epsilon = np.inf if row == "no privacy" else epsilon
    options = {"p": p, "label_bound": LABELS, "calibration": calibration, "step_scale": c}
    if method == "NoisySFW":
        return noisy_sfw(d, n, epsilon, delta, radius=RADIUS, **options)
    if method == "NoisySGD":
        if row == "as run":  # the box and the constant of the program
            return noisy_sgd(d, n, epsilon, delta, radius=1.0, lipschitz=4.0, **options)
        return noisy_sgd(d, n, epsilon, delta, radius=RADIUS, **options)
    form = "sqrt" if row == "square root" else "tree"
    return streaming_fw(d, n, epsilon, delta, radius=RADIUS, factorisation=form, **options)


def table(methods, rows, settings, p, seeds, grids, programs):
    """{(method, row, (n, d)): {step scale: SubOpt samples}} of the paper's regression.

    methods: {name: repetitions}; the square root is a row of Algorithm 1 alone.
    """
    found = {}
    for n, d in settings:
        world = regression(p, flat(d, p))
        for method, reps in methods.items():
            own = [r for r in rows if r != "square root" or method == "Algorithm 1"]
            made = {r: candidates(method, r, d, n, p, grids, programs) for r in own}
            flattened = [o for by_scale in made.values() for o in by_scale.values()]
            if method == "NoisySGD":
                samples = iter(noisy_sgds(world, flattened, n, seeds[:reps]).T)
            else:
                samples = iter(excess_risk(world, flattened, n, seeds[:reps]).final.T)
            for r, by_scale in made.items():
                found[method, r, (n, d)] = {c: next(samples) for c in by_scale}
    return found


def best(samples):
    """(step scale, SubOpt samples) of the smallest mean: a choice on test data, as in the paper."""
    return min(samples.items(), key=lambda item: item[1].mean())


def gradient_errors(world, optimiser, n, seeds, grid, c):
    """||d_t - grad F(theta_t)||_q at every t of the grid, (n_reps, n_grid); E x x' = c I."""
    jobs = [(world, optimiser, n, seed, grid, c) for seed in seeds]
    return np.array(over(_gradient_errors, jobs))


def _gradient_errors(world, optimiser, n, seed, grid, c):
    X, Y = drawn(world, n, seed)
    found = []
    for _, state, _ in watch(optimiser, X, Y, seed, grid):
        m = state.memory
        found.append(lq_norm(m.gradient - world.gradient(m.old, c), optimiser.params.q))
    return found


def checkpoints(n, count=24, start=64):
    """About `count` numbers of records below n, none a power of two, where the tree is best.

    Every number has a one-bit at half of its length, like a typical one.
    """
    t = np.unique(np.geomspace(start, n, count).astype(np.int64))
    bits = np.array([int(v).bit_length() for v in t])
    t = t | (np.int64(1) << (bits // 2)) | 1
    return np.unique(np.append(t[t < n], n - 1))
