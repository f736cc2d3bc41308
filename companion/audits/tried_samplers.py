"""Every sampler tried: a table of tails and times, and each as a target of the audits' table."""

import time
from typing import NamedTuple

import numpy as np
import pandas as pd

from companion.accounting import privacy
from companion.accounting.privacy import Guarantee
from companion.audits.samplers import STEP, budget, everything
from companion.audits.table import Target

COLUMNS = ("sampler", "sensitivity s in", "scale", "tail", "1 in 1000 exceeds", "ns per number")


def measured(sampler, rng: np.random.Generator):
    """(size that one number in a thousand exceeds, nanoseconds per number) of a `Sampler`."""
    sampler.draw(1.0, sampler.table, rng)  # compiled now
    seen, seconds = [], []
    for _ in range(40 if sampler.count < 1e6 else 3):
        sampler.table[:] = 0.0
        begin = time.perf_counter()
        sampler.draw(1.0, sampler.table, rng)
        seconds.append(time.perf_counter() - begin)
        if sampler.seen is not None:
            seen.append(np.abs(sampler.seen - sampler.seen.mean()).ravel())
    tail = np.quantile(seen, 0.999) if seen else np.nan
    return tail, 1e9 * min(seconds) / sampler.count  # the least: what else runs here only adds


def samplers(epsilon: float, delta: float, rng: np.random.Generator):
    """(DataFrame with a row per sampler, bits of the binomial over those of its normal
    approximation).

    All are calibrated to the budget at sensitivity 1 in their own norm: the pure ones to epsilon.
    """
    rows = [
        (s.name + s.size, s.norm, s.scale, s.tail, *measured(s, rng))
        for s in everything(epsilon, delta)
    ]
    normal = privacy.gaussian_scale(epsilon, delta, STEP) ** 2 / (0.25 * 0.75)
    return pd.DataFrame(rows, columns=COLUMNS), budget(epsilon, delta).bits / normal


class Promised(NamedTuple):
    """A sampler with the guarantee that it is calibrated to."""

    name: str
    guarantee: Guarantee


def targets(epsilon: float = 1.0, delta: float = 0.1):
    """A `Target` for every sampler: what stands under all the guarantees, under attack."""
    found = []
    for s in everything(epsilon, delta):
        promise = Guarantee("mechanism", epsilon, 0.0 if s.pure else delta, s.inputs, "input")
        made = Promised(s.name, promise)
        found.append(Target(s.name, "", made, lambda _, a=s.attack: (a,), ""))
    return found
