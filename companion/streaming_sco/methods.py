"""The methods of Tables 2 to 4, row by row.

A row says which noise: "as run" (the program's), "as printed" (the paper's formulas at valid
constants), "corrected" (exact, same guarantee as asked), "square root" (the same, another
factorisation), "clipped at 3" (the same, leaves clipped at 3 in l_2), "no privacy".
Source: section C of the paper.
"""

from itertools import product

import numpy as np

from companion.baselines.noisy_sfw import noisy_sfw
from companion.baselines.noisy_sgd import noisy_sgd
from companion.stats import difference
from companion.streaming_sco.environments import first, flat, regression
from companion.streaming_sco.excess import excess_risk
from companion.streaming_sco.shortcuts import noisy_sgds
from companion.streaming_sco.streaming_fw import streaming_fw
from companion.validate import need_choice

ROWS = ("as run", "as printed", "corrected", "square root", "clipped at 3", "no privacy")
OURS = ROWS[3:5]  # variants of Algorithm 1 alone; its rivals are corrected
RADIUS, LABELS = 2.0, 1.2  # r of the program; |y| <= 1 + 4 standard deviations of the noise


def scales(method: str, row: str, p: float, grids) -> list[float]:
    """Step scales that are tried: the published grid; for our own rows further ones, and 1."""
    key = f"{method}, p={'inf' if p == np.inf else p}"
    grid = list(grids.get(key, grids.get(method, [1.0])))
    if row != "as run":
        grid += {"NoisySFW": [0.15, 0.2, 1.0], "NoisySGD": [4.0, 8.0]}.get(method, [1.0])
    return sorted(set(grid))


def candidates(
    method: str,
    row: str,
    d: int,
    n: int,
    p: float,
    grids,
    programs,
    epsilon: float = 1.0,
):
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
        return noisy_sfw(d, n, epsilon=epsilon, delta=delta, radius=RADIUS, **options)
    if method == "NoisySGD":
        if row == "as run":  # the box and the constant of the program
            return noisy_sgd(
                d, n, epsilon=epsilon, delta=delta, radius=1.0, lipschitz=4.0, **options
            )
        return noisy_sgd(d, n, epsilon=epsilon, delta=delta, radius=RADIUS, **options)
    options |= {"factorisation": "sqrt"} if row in OURS else {}
    options |= {"clip": 3.0} if row == "clipped at 3" else {}
    return streaming_fw(d, n, epsilon=epsilon, delta=delta, radius=RADIUS, **options)


def table(
    methods,
    rows,
    settings,
    p,
    seeds,
    grids,
    programs,
):
    """{(method, row, (n, d)): {step scale: SubOpt samples}} of the paper's regression.

    methods: {name: repetitions}; OURS are rows of Algorithm 1 alone.
    """
    found = {}
    for n, d in settings:
        world = regression(p, flat(d, p))
        for method, reps in methods.items():
            own = [r for r in rows if r not in OURS or method == "Algorithm 1"]
            made = {r: candidates(method, r, d, n, p, grids, programs) for r in own}
            flattened = [o for by_scale in made.values() for o in by_scale.values()]
            if method == "NoisySGD":
                samples = iter(noisy_sgds(world, flattened, n, seeds[:reps]).T)
            else:
                samples = iter(excess_risk(world, flattened, n, seeds[:reps]).final.T)
            for r, by_scale in made.items():
                found[method, r, (n, d)] = {c: next(samples) for c in by_scale}
    return found


def best(samples) -> tuple[float, np.ndarray]:
    """(step scale, SubOpt samples) of the smallest mean: a choice on test data, as in the paper."""
    return min(samples.items(), key=lambda item: item[1].mean())


def shown(
    found,
    settings,
) -> list[dict[str, str]]:
    """Rows of a table: mean ± standard deviation at the best scale (×), and the mean at scale 1."""
    rows = []
    for method, row in dict.fromkeys((m, r) for m, r, _ in found):
        line = {"method": method, "noise": row}
        for n, d in settings:
            scale, y = best(found[method, row, (n, d)])
            line[f"T = {n}, d = {d}"] = f"{y.mean():.2g} ± {y.std(ddof=1):.1g} (×{scale:g})"
        one = found[method, row, settings[-1]].get(1.0)
        rows.append(line | {"scale 1, last column": "" if one is None else f"{one.mean():.2g}"})
    return rows


def gaps(
    found,
    a: str,
    b: str,
    settings,
    level: float,
    factor: float = 1.0,
):
    """{row: [interval of SubOpt of method a minus factor times method b's]}, each at its best scale
    and over the repetitions that both have; OURS meet b's corrected row.
    """
    results = {}
    for row in ROWS:
        rival = "corrected" if row in OURS else row
        results[row] = []
        for at in settings:
            mine, theirs = best(found[a, row, at])[1], best(found[b, rival, at])[1]
            k = min(len(mine), len(theirs))
            results[row].append(difference(mine[:k], factor * theirs[:k], level))
    return results


def dimensions_of_trees(
    geometries,
    dimensions,
    n: int,
    epsilon: float,
    seeds,
):
    """{(p, d): SubOpt samples (reps, 2)} of Algorithm 1 at epsilon and without privacy."""
    found = {}
    for p, d in product(geometries, dimensions):
        options = {"p": p, "radius": RADIUS, "label_bound": LABELS}
        pair = [
            streaming_fw(d, n, epsilon=e, **options).renamed(f"{e:g}") for e in (epsilon, np.inf)
        ]
        found[p, d] = excess_risk(regression(p, first(d, p, 5)), pair, n, seeds).final
    return found
