"""Every private algorithm of the package under attack: what was claimed, proved and counted.

`targets` goes through the tables of all algorithms, so that none is forgotten.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from companion import optimisers, policies
from companion.accounting import privacy
from companion.accounting.audit import along, attacked
from companion.audits.faults import trials_for
from companion.report import plots

CALIBRATIONS = "corrected", "paper"
NORMAL = "message", "batch", "releases"  # what is seen through normal noise, if it is a sum
DRAWS = 100_000  # outputs of each input by which moves and noise are measured


class Target(NamedTuple):
    """One instance of an algorithm, and the attacks on it."""

    name: str  # of the factory
    calibration: str
    algorithm: Any

    @property
    def attack(self):
        """The function that gives the `audit.Attack`s on an instance, the strongest first."""
        return self.algorithm.audit.attacks

    @property
    def attacks(self):
        """The attacks on this one."""
        return self.attack(self.algorithm)


def targets() -> tuple[Target, ...]:
    """A tuple of `Target`s: every private policy and optimiser, in every calibration."""
    found = []
    for table in (policies, optimisers):
        for name in table.TABLE:
            spec = table.example(name).audit
            first = {said(case.policy): case.policy for case in reversed(spec.measured())}
            several = spec.attack_instances() or [first[c] for c in CALIBRATIONS if c in first]
            found += [Target(name, said(a), a) for a in several]
    return tuple(found)


def said(algorithm) -> str:
    """Whose calibration it is: "paper" where its source claims something else than it gives."""
    return CALIBRATIONS[algorithm.guarantee.claimed is not None]


def measured(attack, delta: float, draws: int, seed: int) -> float:
    """epsilon at delta of this pair from its measured moves over the measured noise, which has to
    be normal: only sums with Gaussian or binomial noise have one, all others NaN."""
    if not isinstance(attack.statistic, along) or attack.sees not in NORMAL:
        return np.nan
    rngs = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    a, b = (
        attack.statistic(attack.mechanism(data, rng, draws))
        for data, rng in zip((attack.a, attack.b), rngs, strict=True)
    )
    scale = np.sqrt(0.5 * (a.var() + b.var())) / np.abs(a.mean() - b.mean())
    return privacy.gaussian_epsilon(delta, scale)


def row(target: Target, attack, trials: int, seed: int, level: float):
    """One attack as a row of the table."""
    g, n = target.algorithm.guarantee, trials_for(attack, trials)
    claimed = g.epsilon if g.claimed is None else g.claimed[0]  # by the source, where it differs
    sharp = measured(attack, g.delta, trials_for(attack, DRAWS), seed)
    found = attacked(attack, delta=g.delta, trials=n, seed=seed, level=level)
    return {
        "algorithm": target.algorithm.name, "calibration": target.calibration, "model": g.model,
        "claimed": claimed, "proved": g.epsilon, "delta": g.delta,
        "measured": sharp, "counted": found.epsilon,
        "sees": attack.sees, "event": f"{found.event} ({found.likely})", "hits": found.hits,
        "trials": found.trials, "leaves aside": attack.note,
    }  # fmt: skip


def audited(found, *, trials: int, seed: int, level: float):
    """A table with one row per attack on `targets`, each bound at this level."""
    return pd.DataFrame([row(t, one, trials, seed, level) for t in found for one in t.attacks])


def strongest(table):
    """The rows of `audited` with the largest bound for each instance, in the order of the table."""
    keys = ["algorithm", "calibration", "delta", "proved"]
    return table.loc[table.groupby(keys, sort=False)["counted"].idxmax()].reset_index(drop=True)


def figure(table):
    """Claim, proof and count of every row of `strongest`, as a picture."""
    colours, right, top = plots.COLOURS, table["counted"] <= table["claimed"], 8.0
    series = [
        (table["claimed"], "|", colours[0], "claimed"),
        (table["proved"], "o", colours[1], "proved"),
        (table["measured"], "x", "0.4", "measured on the pair"),
        (table["counted"].where(right), "D", colours[2], "counted, at least"),
        (table["counted"].where(~right), "D", colours[3], "refuted"),
    ]
    fig, (ax,) = plots.panels(1, height=0.26 * len(table) + 1.2)
    at = np.arange(len(table))[::-1]
    for x, marker, colour, label in series:  # infinity is at `top`
        ax.plot(x.clip(upper=top), at, marker, ms=7, mfc="none", color=colour, label=label)
    ax.hlines(at, *(table[k].clip(upper=top) for k in ("counted", "proved")), color="0.6", lw=1)
    ax.set_yticks(at, table["algorithm"] + " (" + table["calibration"] + ")", fontsize="small")
    ax.set(xlabel="ε", xlim=(-0.2, top + 0.3), ylim=(-0.8, len(table) - 0.2))
    plots.ticks(ax.xaxis, [0, 1, 2, 3, 4, 6])
    ax.text(top, len(table) - 0.3, "∞", ha="center")
    fig.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    return fig
