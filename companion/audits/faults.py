"""Faults planted in private algorithms, to see whether the attacks on them find them.

Parameters are changed under a guarantee that stays, or what is seen is made of two outputs.  Where
bounds are opened, kernels that clip are replaced, too, in a copy of the algorithm that runs as
plain Python (`recording.Interpreter`).  Nothing here is private.
"""

import numpy as np

from companion.accounting.audit import along, attacked
from companion.audits.recording import Interpreter
from companion.kernels import mechanisms
from companion.kernels.geometry import admit

SCALES = {"sigma", "sigma_first", "sigma_v", "sigma_h", "scale", "xi_first", "xi_rest",
          "count_scale", "vector_scale", "matrix_scale", "spread_scale"}  # fmt: skip
BITS = {"b", "bits_matrix", "bits_gradient"}
BOUNDS = {"clip", "row_clip", "gradient_clip", "residual_clip", "reward_clip"}
FAR = 50.0  # records of this times the size that is allowed
CERTAIN = 240  # trials for faults that show in every output, at epsilon up to 1
SLOW = 20  # attacks that take a run for every output get this many times fewer


def half_noise(algorithm, variances: int = 4):
    """The same policy or optimiser with half of all noise, a quarter of its variance, that is of
    all noise bits; or with another fraction of it, one over `variances`."""
    fewer = changed(algorithm, BITS, lambda value: value // variances)
    return changed(fewer, SCALES, lambda value: value / np.sqrt(variances))


def unclipped(algorithm):
    """The same with all bounds in its parameters infinite."""
    return changed(algorithm, BOUNDS, lambda value: np.inf * value)


def changed(algorithm, names, change):
    """The same with change(value) in place of the parameters of these names, in nested tuples,
    too."""

    def part(name, value):
        if hasattr(value, "_fields"):
            return value._replace(**{n: part(n, v) for n, v in value._asdict().items()})
        if isinstance(value, tuple):
            return tuple(part(name, inner) for inner in value)
        return change(value) if name in names else value

    return algorithm._replace(params=part("", algorithm.params))


def _pass_on(x, y, out):
    out[:] = x
    return y, 0


UNCLIPPED = {  # kernels that clip: what no longer does
    mechanisms.clip_to_ball: _pass_on,
    mechanisms.clip_to_offset_sphere: _pass_on,
    mechanisms.clip_record: lambda offset, x, y, out: _pass_on(x, y, out),
    admit: lambda x, y, q, low, high, out: _pass_on(x, y, out),
}


def far_out(attack):
    """The same attack with records `FAR` times too large, and a statistic that grows with them."""
    bounded = attack.sees == "message" and not isinstance(attack.statistic, along)
    seen = weighed if bounded else attack.statistic
    return attack._replace(a=_scaled(attack.a), b=_scaled(attack.b), statistic=seen)


def weighed(outputs: np.ndarray) -> np.ndarray:
    """Sum of all that an output shows, with the weights 1, 2, 3, ..., (n,)."""
    flat = outputs.reshape(len(outputs), -1)
    return flat @ np.arange(1.0, flat.shape[1] + 1)


def _scaled(data):
    return tuple(map(_scaled, data)) if isinstance(data, tuple) else np.multiply(data, FAR)


def twice(attack):
    """The attack on means of two outputs with fresh noise, for the budget of one."""

    def mechanism(data, rng, n):
        outputs = attack.mechanism(data, rng, 2 * n)
        return 0.5 * (outputs[::2] + outputs[1::2])

    return attack._replace(mechanism=mechanism)


def reused(attack):
    """The attack on two outputs from the same random numbers, about unknown data and about known
    data, a; if nothing but this noise hides the former their difference tells."""

    def output(data, seed):
        return attack.mechanism(data, np.random.default_rng(seed), 1)[0]

    def mechanism(data, rng, n):
        seeds = rng.integers(1 << 62, size=n)
        return np.array([(output(data, seed), output(attack.a, seed)) for seed in seeds])

    return attack._replace(mechanism=mechanism, statistic=farthest)


def farthest(pairs: np.ndarray) -> np.ndarray:
    """The largest distance between two numbers of a pair, (n,), for n pairs (n, 2, ...)."""
    return np.abs(pairs[:, 0] - pairs[:, 1]).reshape(len(pairs), -1).max(axis=1)


def trials_for(attack, trials: int) -> int:
    """Trials of one attack: fewer where each plays a whole run."""
    return trials // SLOW if attack.runs else trials


def planted(target, *, trials: int, seed: int, level: float) -> dict[str, float]:
    """{fault: bound of the strongest attack on it}, and {"far": the same on the honest algorithm,
    with records far outside the universe}."""
    algorithm, (attack, *_) = target.algorithm, target.attacks
    epsilon, delta = algorithm.guarantee.epsilon, algorithm.guarantee.delta
    certain = int(CERTAIN * max(1.0, np.exp(epsilon - 1.0)))  # so many can show epsilon
    n = trials_for(attack, trials)
    weak, *_ = target.attack(half_noise(algorithm))
    wide = Interpreter(UNCLIPPED)
    open_, *_ = wide(target.attack)(wide(unclipped(algorithm)))

    def bound(attack, n):
        return attacked(attack, delta=delta, trials=n, seed=seed, level=level).epsilon

    return {
        "half the noise": bound(weak, n),
        "budget spent twice": bound(twice(attack), n // 2),
        "noise reused": bound(reused(attack), 5 * certain),
        "not clipped": bound(far_out(open_), certain),
        "far": bound(far_out(attack), certain),
    }
