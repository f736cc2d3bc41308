"""Faults planted in private algorithms, to see whether the attacks on them find them.

Parameters are changed under a guarantee that stays, or kernels are replaced in a copy of the
algorithm that runs as plain Python (`recording.Interpreter`).  An attack whose outputs are what
these kernels let out, each with noise of its own, shows the same numbers, compiled.  Nothing here
is private.
"""

import numpy as np

from companion.accounting.audit import along, attacked
from companion.audits.recording import Interpreter, copied, is_generator
from companion.kernels import mechanisms
from companion.kernels.geometry import admit

SCALES = {"sigma", "sigma_first", "sigma_v", "sigma_h", "scale", "xi_first", "xi_rest",
          "count_scale", "vector_scale", "matrix_scale", "spread_scale"}  # fmt: skip
BITS = {"b", "bits_matrix", "bits_gradient"}
BOUNDS = {"clip", "row_clip", "gradient_clip", "residual_clip", "reward_clip"}
FAR = 50.0  # records of this times the size that is allowed
SHOWN = {"peeling", "picks", "vertex"}  # laws of numbers of which there is no mean to let out
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


class Planted:
    """Attacks on a target, in plain Python, in whose kernels a fault is planted: `attacks`.

    calls: how often planted kernels ran; means: of how many numbers they showed the mean; seed: of
    noise that is reused.
    """

    def __init__(self, target, fault):
        self.calls = self.means = self.seed = 0
        instead = {k: fault(self, k, read) for k, read in target.kernels.items()}
        self.copies = Interpreter(instead)
        self.attacks = self.copies(target.attack)(self.copies(target.algorithm))

    def met(self, seed: int):
        """(the first attack that goes through the planted kernels, its place), or (None, None)."""
        for at, attack in enumerate(self.attacks):
            self.calls = self.means = 0
            attack.mechanism(attack.a, np.random.default_rng(seed), 1)
            if self.calls > 0:
                return attack, at
        return None, None


def twice(planted, kernel, read):
    """The kernel lets out the mean of two releases with fresh noise, for the budget of one."""

    def call(*args):
        planted.calls += 1
        copy, plain = copied(args), planted.copies.plain(kernel)
        other = plain(*copy)
        before = [np.array(a, dtype=float) for _, a in read(other, *copy)]
        result = plain(*args)
        for (law, a), b in zip(read(result, *args), before, strict=True):
            if law not in SHOWN and not law.startswith("scores"):
                a[...] = 0.5 * (a + b)
                planted.means += 1
        return _mean(result, other)

    return call


def _mean(a, b):
    """Half of both, for the numbers with a fraction among what a kernel returns."""
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        return tuple(map(_mean, a, b))
    return 0.5 * (a + b) if isinstance(a, float) else a


def reused(planted, kernel, _):
    """The kernel draws the same noise in every call of one run: see `beside_known`."""

    def call(*args):
        planted.calls += 1
        rng = np.random.default_rng(planted.seed)
        return planted.copies.plain(kernel)(*(rng if is_generator(a) else a for a in args))

    return call


def averaged(attack):
    """What `twice` shows, of an attack with fresh outputs: each is the mean of two, compiled."""

    def mechanism(data, rng, n):
        outputs = attack.mechanism(data, rng, 2 * n)
        return 0.5 * (outputs[::2] + outputs[1::2])

    return attack._replace(mechanism=mechanism)


def beside_known(attack, planted=None):
    """The attack for `reused` noise: two outputs of one run, about known data, a, and about unknown
    data; if nothing but the reused noise hides them their difference tells.

    planted: whose kernels draw the same noise; None, of an attack with fresh outputs, compiled:
    both are made from the same draws.
    """

    def mechanism(data, rng, n):
        pairs, together = [], n if planted is None else 1
        for _ in range(n // together):
            seed = int(rng.integers(1 << 62))
            if planted is not None:
                planted.seed = seed
            rngs = [np.random.default_rng(seed) if planted is None else rng for _ in range(2)]
            both = zip((data, attack.a), rngs, strict=True)
            pairs.append(np.stack([attack.mechanism(d, g, together) for d, g in both], axis=1))
        return np.concatenate(pairs)

    return attack._replace(mechanism=mechanism, statistic=farthest)


def farthest(pairs: np.ndarray) -> np.ndarray:
    """The largest distance between two numbers of a pair, (n,), for n pairs (n, 2, ...)."""
    return np.abs(pairs[:, 0] - pairs[:, 1]).reshape(len(pairs), -1).max(axis=1)


def trials_for(attack, trials: int) -> int:
    """Trials of one attack: fewer where each plays a whole run."""
    return trials // SLOW if attack.runs else trials


def planted(target, *, trials: int, seed: int, level: float) -> dict[str, float]:
    """{fault: bound of the first attack on it}, and {"far": the same on the honest algorithm, with
    records far outside the universe}.

    Noise is halved and bounds are opened in the parameters; the two others are planted in the
    kernels that let something out, and met by the first attack that goes through them.  Where its
    outputs are fresh, or noise is drawn anew for every number, these are what shows the fault, and
    no kernel is interpreted.  NaN: there is no such attack, or what is let out has no mean.
    """
    epsilon, delta = target.algorithm.guarantee.epsilon, target.algorithm.guarantee.delta
    certain = int(CERTAIN * max(1.0, np.exp(epsilon - 1.0)))  # so many can show epsilon

    def bound(attack, n):
        return attacked(attack, delta=delta, trials=n, seed=seed, level=level).epsilon

    def found(fault):
        made = Planted(target, fault)
        plain, at = made.met(seed)
        if at is None or (fault is twice and made.means == 0):
            return np.nan
        fresh = target.attacks[at] if plain.fresh else None
        if fault is reused:
            reusing = beside_known(fresh) if fresh else beside_known(plain, made)
            return bound(reusing, 5 * certain)
        n = max(trials // (40 if plain.runs else 4), 4)
        if plain.anew:  # half the variance has the law of the mean
            return bound(target.attack(half_noise(target.algorithm, 2))[at], n)
        return bound(averaged(fresh) if fresh else plain, n)

    weak, *_ = target.attack(half_noise(target.algorithm))
    wide = Interpreter(UNCLIPPED)
    (open_, *_) = wide(target.attack)(wide(unclipped(target.algorithm)))
    return {
        "half the noise": bound(weak, trials_for(weak, trials)),
        "budget spent twice": found(twice),
        "noise reused": found(reused),
        "not clipped": bound(far_out(open_), certain),
        "far": bound(far_out(target.attacks[0]), certain),
    }
