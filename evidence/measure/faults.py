"""Every private algorithm of the package under attack: as it is, and with faults planted.

`targets` goes through the tables of all algorithms, so that none is forgotten; of each
`audited` says what was claimed, proved and counted.

Faults are planted to see whether the attacks find them.  Parameters are changed under a
guarantee that stays, or what is seen is made of two outputs.  Where bounds are opened,
kernels that clip are replaced, too, in a copy of the algorithm that runs as plain Python
(`recording.Interpreter`).
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from companion import optimisers, policies
from companion.kernels import mechanisms
from companion.kernels.geometry import admit
from evidence.attacks.audit import along, attacked
from evidence.attacks.table import known
from evidence.claims import plots
from evidence.measure.record import Interpreter

SCALES = {
    "sigma",
    "sigma_first",
    "sigma_v",
    "sigma_h",
    "scale",
    "xi_first",
    "xi_rest",
    "count_scale",
    "vector_scale",
    "matrix_scale",
    "spread_scale",
}
BITS = {"b", "bits_matrix", "bits_gradient"}
BOUNDS = {"clip", "row_clip", "gradient_clip", "residual_clip", "reward_clip"}
TOP = 8.0  # where a picture has infinity
FAR = 50.0  # records of this times the size that is allowed
CERTAIN = 240  # trials for faults that show in every output, at epsilon up to 1
SLOW = 20  # attacks that take a run for every output get this many times fewer


class Target(NamedTuple):
    """One instance of an algorithm, and the attacks on it."""

    name: str  # of the factory
    calibration: str
    algorithm: Any
    attack: Any  # gives the `audit.Attack`s on an instance, the strongest first
    attacks: tuple  # those on this one


def targets() -> tuple[Target, ...]:
    """A tuple of `Target`s: every private policy and optimiser, in every calibration."""
    found = {}
    for name in (*policies.TABLE, *optimisers.TABLE):
        spec = known(name)
        several = spec.attack_instances() or [case.policy for case in spec.measured()]
        for algorithm in several:
            attacks = spec.attacks(algorithm)
            one = Target(name, said(algorithm), algorithm, spec.attacks, attacks)
            found.setdefault((algorithm.name, one.calibration), one)
    return tuple(found.values())


def said(algorithm) -> str:
    """Whose calibration it is: "paper" where its source claims something else than it
    gives."""
    return "corrected" if algorithm.guarantee.claimed is None else "paper"


def trials_for(attack, trials: int) -> int:
    """Trials of one attack: fewer where each plays a whole run."""
    return trials // SLOW if attack.runs else trials


def audited(found, *, trials: int, **how):
    """A table with one row per attack on these `targets`; how: seed, and the level of
    each bound."""
    rows = []
    for target in found:
        g = target.algorithm.guarantee
        for attack in target.attacks:
            n = trials_for(attack, trials)
            lost = attacked(attack, delta=g.delta, trials=n, **how)
            one = {
                "algorithm": target.algorithm.name,
                "calibration": target.calibration,
                "model": g.model,
                # by the source, where it differs
                "claimed": g.epsilon if g.claimed is None else g.claimed[0],
                "proved": g.epsilon,
                "counted": lost.epsilon,
                "sees": attack.sees,
                "event": f"{lost.event} ({lost.likely})",
                "hits": lost.hits,
                "trials": lost.trials,
                "leaves aside": attack.note,
            }
            rows.append(one)
    return pd.DataFrame(rows)


def strongest(table):
    """The rows of `audited` with the largest bound for each instance, in the order of the
    table."""
    keys = ["algorithm", "calibration"]
    best = table.groupby(keys, sort=False)["counted"].idxmax()
    return table.loc[best].reset_index(drop=True)


def figure(table):
    """Claim, proof and count of every row of `strongest`, as a picture."""
    counted = table["counted"]
    is_right = counted <= table["claimed"]
    names = table["algorithm"] + " (" + table["calibration"] + ")"
    fig, (ax,) = plots.panels(1, height=0.26 * len(table) + 1.2)
    for losses, marker, label in (
        (table["claimed"], "|", "claimed"),
        (table["proved"], "o", "proved"),
        (counted.where(is_right), "D", "counted, at least"),
        (counted.where(~is_right), "D", "refuted"),
    ):
        ax.plot(losses.clip(upper=TOP), names, marker, mfc="none", label=label)
    ax.invert_yaxis()
    ax.tick_params("y", labelsize="small")
    ax.set_xticks([0, 1, 2, 3, 4, 6, TOP], ["0", "1", "2", "3", "4", "6", "∞"])
    ax.set_xlabel("ε")
    ax.grid(axis="y", alpha=0.5)
    fig.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    return fig


# --- planted faults


def half_noise(algorithm, variances: int = 4):
    """The same policy or optimiser with half of all noise, a quarter of its variance,
    that is of all noise bits; or with another fraction of it, one over `variances`."""
    fewer = changed(algorithm, BITS, lambda value: value // variances)
    return changed(fewer, SCALES, lambda value: value / np.sqrt(variances))


def unclipped(algorithm):
    """The same with all bounds in its parameters infinite."""
    return changed(algorithm, BOUNDS, lambda value: np.inf * value)


def changed(algorithm, names, change):
    """The same with change(value) in place of the parameters of these names, in nested
    tuples, too."""

    def part(name, value):
        if hasattr(value, "_fields"):
            return type(value)(*map(part, value._fields, value))
        if isinstance(value, tuple):
            return tuple(part(name, inner) for inner in value)
        return change(value) if name in names else value

    return algorithm._replace(params=part("", algorithm.params))


def _pass_on(x, y, out):
    out[:] = x
    return y, 0


UNCLIPPED = {  # kernels that clip: what no longer does
    mechanisms.clip_to_ball: _pass_on,
    mechanisms.clip_record: lambda offset, x, y, out: _pass_on(x, y, out),
    admit: lambda x, y, q, low, high, out: _pass_on(x, y, out),
}


def out_of_domain(attack):
    """The same attack with records `FAR` times too large, and a statistic that grows with
    them."""
    bounded = attack.sees == "message" and not isinstance(attack.statistic, along)
    seen = weighed if bounded else attack.statistic
    return attack._replace(a=_scaled(attack.a), b=_scaled(attack.b), statistic=seen)


def weighed(outputs: np.ndarray) -> np.ndarray:
    """Sum of all that an output shows, with the weights 1, 2, 3, ..., (n,)."""
    flat = outputs.reshape(len(outputs), -1)
    return flat @ np.arange(1.0, flat.shape[1] + 1)


def _scaled(record):
    return tuple(np.multiply(part, FAR) for part in record)


def twice(attack):
    """The attack on means of two outputs with fresh noise, for the budget of one."""

    def mechanism(data, rng, n):
        outputs = attack.mechanism(data, rng, 2 * n)
        return 0.5 * (outputs[::2] + outputs[1::2])

    return attack._replace(mechanism=mechanism)


def reused(attack):
    """The attack on two outputs from the same random numbers, about unknown data and
    about known data, a: if nothing but this noise hides the former, the largest distance
    between their numbers tells.

    Where data say how many numbers are drawn, outputs about other data than a fall out of
    step, which tells, too.
    """

    def mechanism(data, rng, n):
        seed = rng.integers(1 << 62)
        unknown = attack.mechanism(data, np.random.default_rng(seed), n)
        known = attack.mechanism(attack.a, np.random.default_rng(seed), n)
        return np.abs(unknown - known).reshape(n, -1).max(axis=1)

    return attack._replace(mechanism=mechanism, statistic=None)


def planted(target, *, trials: int, **how) -> dict[str, float]:
    """{fault: bound of the strongest attack on it}, and {"far": the same on the honest
    algorithm, with records far outside the universe}."""
    algorithm = target.algorithm
    attack, *_ = target.attacks
    epsilon = algorithm.guarantee.epsilon
    delta = algorithm.guarantee.delta
    certain = int(CERTAIN * max(1.0, np.exp(epsilon - 1.0)))  # so many can show epsilon
    n = trials_for(attack, trials)
    weak, *_ = target.attack(half_noise(algorithm))
    wide = Interpreter(UNCLIPPED)
    open_, *_ = wide(target.attack)(wide(unclipped(algorithm)))

    def bound(attack, n):
        return attacked(attack, delta=delta, trials=n, **how).epsilon

    return {
        "half the noise": bound(weak, n),
        "budget spent twice": bound(twice(attack), n // 2),
        "noise reused": bound(reused(attack), 5 * certain),
        "not clipped": bound(out_of_domain(open_), certain),
        "far": bound(out_of_domain(attack), certain),
    }
