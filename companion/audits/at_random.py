"""Normal noise about one record that is drawn at random in every step."""

import math

import numpy as np
from scipy import stats as sps

from companion.audits import measures
from companion.audits.measures import SLACK, Measured
from companion.audits.neighbours import filler, joint_noise, see
from companion.audits.watching import on_stage, play


def sampled_epsilon(noise: float, n: int, steps: int, delta: float) -> float:
    """epsilon of steps draws of one record out of n: the exact loss of mixtures of normals, on a
    fine grid (a coarser output loses no more), by the accountant library.
    """
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


def evenly_drawn(case) -> float:
    """p-value of the test that every record is as likely to be drawn as any other."""
    with on_stage(case) as stage:
        again = [play(case, filler(case), seed=s, stage=stage) for s in range(40)]
    x = [record[1] for record in filler(case)]
    which = [
        next(i for i in range(len(x)) if np.allclose(c.args[2], x[i]))
        for run in again
        for c in run.calls
    ]
    return sps.chisquare(np.bincount(which, minlength=len(x))).pvalue


def measure(case) -> Measured:
    """`Measured` from the moves, the noise and the number of draws: the promise lies between the
    exact loss and a few per cent above it (Renyi accounting).
    """
    n, steps, hits, moves = case.policy.params.n, case.policy.params.steps, 0, []
    for at in range(n):
        seen = see(case, at)
        far = [np.linalg.norm(c[0][:, None] - c[0], axis=-1).max() for c in seen.clean]
        hits += int((np.array(far) > 0).sum())
        moves += far
        v = seen.stacked("sampled")
        if not seen.bounded(np.linalg.norm(v[:, None] - v, axis=2)):
            return measures.unbounded()
    z = joint_noise(seen.base, "sampled", 2000, 3)
    chance = min(sps.kstest(z.ravel() / z.std(), "norm").pvalue, evenly_drawn(case))
    if hits != steps or len(seen.base.calls) != steps:
        chance = 0.0  # every draw is about one record, and no other
    noise, delta = z.std() / max(moves), case.policy.guarantee.delta
    low, high = (sampled_epsilon(noise * f, n, steps, delta) for f in (1.02, 1 / SLACK / 1.02))
    return Measured(max(moves), steps, z.std(), low, 1.13 * high, True, chance)
