"""Faults of what an algorithm lets out: its budget is spent twice, or noise is drawn again.

They are planted in the kernels that a `AuditInstance` names, while all kernels run as plain Python.
An attack whose outputs are what these kernels let out, each with noise of its own, shows the same
numbers, compiled.  Nothing here is private.
"""

from contextlib import contextmanager

import numpy as np

from companion.audits.faults import copied, interpreted, is_generator, uncompiled

SHOWN = {"peeling", "picks", "vertex"}  # laws of numbers of which there is no mean to let out


class Life:
    """What the planted kernels of one run share: the seed of its noise, how often they ran, and of
    how many releases they showed the mean."""

    seed = 0
    calls = 0
    means = 0


@contextmanager
def twice(kernels):
    """While it lasts each of {kernel: read} lets out the mean of two releases with fresh noise, for
    the budget of one: the budget is spent twice.  Gives the `Life`; all kernels are plain Python.
    """
    life = Life()

    def instead(kernel, read):
        def call(*args):
            life.calls += 1
            copy = copied(args)
            other = uncompiled(kernel)(*copy)
            before = [np.array(a, dtype=float) for _, a in read(other, *copy)]
            result = uncompiled(kernel)(*args)
            for (law, a), b in zip(read(result, *args), before, strict=True):
                if law not in SHOWN and not law.startswith("scores"):
                    a[...] = 0.5 * (a + b)
                    life.means += 1
            return _mean(result, other)

        return call

    with interpreted({k: instead(k, read) for k, read in kernels.items()}):
        yield life


@contextmanager
def reused(kernels):
    """While it lasts each of these kernels draws the same noise in every call of one run: see
    `beside_known`.  Gives the `Life`; all kernels are plain Python."""
    life, rng, begins = Life(), np.random.default_rng(0), {}

    def instead(kernel):
        def call(*args):
            life.calls += 1
            if life.seed not in begins:  # to seed a generator takes longer than most kernels
                begins.clear()
                begins[life.seed] = np.random.default_rng(life.seed).bit_generator.state
            rng.bit_generator.state = begins[life.seed]
            return uncompiled(kernel)(*(rng if is_generator(a) else a for a in args))

        return call

    with interpreted({k: instead(k) for k in kernels}):
        yield life


def averaged(attack):
    """What `twice` shows, of an attack with fresh outputs: each is the mean of two, compiled."""

    def mechanism(data, rng, n):
        outputs = attack.mechanism(data, rng, 2 * n)
        return 0.5 * (outputs[::2] + outputs[1::2])

    return attack._replace(mechanism=mechanism)


def beside_known(attack, life: Life):
    """The attack for `reused` noise: two outputs of one run, about known data, a, and about unknown
    data; if nothing but the reused noise hides them their difference tells."""

    def mechanism(data, rng, n):
        pairs = []
        for _ in range(n):
            life.seed = int(rng.integers(1 << 62))
            pairs.append([attack.mechanism(d, rng, 1)[0] for d in (data, attack.a)])
        return np.array(pairs)

    return attack._replace(mechanism=mechanism, statistic=farthest)


def in_step(attack):
    """The same of an attack with fresh outputs, compiled: both of a pair, about known and about
    unknown data, are made from the same draws.  Raises RuntimeError if the data change how many."""

    def mechanism(data, rng, n):
        other = np.random.default_rng()
        other.bit_generator.state = rng.bit_generator.state
        pair = attack.mechanism(data, rng, n), attack.mechanism(attack.a, other, n)
        if other.bit_generator.state != rng.bit_generator.state:
            raise RuntimeError("an attack with fresh outputs must draw alike, whatever the data")
        return np.stack(pair, axis=1)

    return attack._replace(mechanism=mechanism, statistic=farthest)


def farthest(pairs: np.ndarray) -> np.ndarray:
    """The largest distance between two numbers of a pair, (n,), for n pairs (n, 2, ...)."""
    return np.abs(pairs[:, 0] - pairs[:, 1]).reshape(len(pairs), -1).max(axis=1)


def _mean(a, b):
    """Half of both, for the numbers with a fraction among what a kernel returns."""
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        return tuple(map(_mean, a, b))
    return 0.5 * (a + b) if isinstance(a, float) else a
