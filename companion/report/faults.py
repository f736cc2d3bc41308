"""Faults planted in private algorithms, to see whether the audits find them.

Parameters are changed under a guarantee that stays, or kernels are replaced while all of them run
as plain Python.  Nothing here is private.
"""

import sys
from contextlib import contextmanager

import numpy as np

import companion
from companion import mechanisms
from companion.audit import is_linear
from companion.core import Optimiser
from companion.geometry import admit
from companion.linalg import dot

COMPILED = type(dot)
SCALES = {"sigma", "sigma_first", "sigma_v", "sigma_h", "scale", "xi_first", "xi_rest",
          "count_scale", "vector_scale", "matrix_scale", "spread_scale"}  # fmt: skip
BITS = {"b", "bits_matrix", "bits_gradient"}
BOUNDS = {"clip", "row_clip", "gradient_clip", "residual_clip", "reward_clip"}
FAR = 50.0  # records of this times the size that is allowed


@contextmanager
def interpreted(instead):
    """All kernels of the package as plain Python, those that are keys of `instead` replaced."""
    saved = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == companion.__name__:
            for key, f in list(vars(module).items()):
                if isinstance(f, COMPILED):
                    saved.append((module, key, f))
                    setattr(module, key, instead.get(f, f.py_func))
    try:
        yield
    finally:
        for module, key, f in saved:
            setattr(module, key, f)


def half_noise(algorithm):
    """The same policy or optimiser with half of all noise (a quarter of all noise bits)."""

    def half(name, value):
        return value * 0.5 if name in SCALES else value // 4 if name in BITS else value

    return algorithm._replace(params=_changed(algorithm.params, half))


def unclipped(algorithm):
    """The same with all bounds in its parameters infinite, and its loop as plain Python: see
    `open_doors`, in which it has to run."""

    def opened(name, value):
        if name not in BOUNDS:
            return value
        return np.full_like(value, np.inf) if isinstance(value, np.ndarray) else np.inf

    loop = "run" if isinstance(algorithm, Optimiser) else "play"
    plain = {loop: getattr(algorithm, loop).py_func}
    return algorithm._replace(params=_changed(algorithm.params, opened), **plain)


def _changed(params, change):
    """Params with change(name, value) in place of every value, in nested tuples, too."""
    parts = {
        name: _changed(value, change) if hasattr(value, "_fields") else change(name, value)
        for name, value in params._asdict().items()
    }
    return params._replace(**parts)


def open_doors():
    """While it lasts no record is clipped, and all kernels are plain Python."""

    def pass_on(x, y, out):
        out[:] = x
        return y, 0

    return interpreted({
        mechanisms.clip_to_ball: pass_on,
        mechanisms.clip_to_offset_sphere: pass_on,
        mechanisms.clip_record: lambda offset, x, y, out: pass_on(x, y, out),
        admit: lambda x, y, q, low, high, out: pass_on(x, y, out),
    })  # fmt: skip


def far_out(attack):
    """The same attack with records `FAR` times too large, and a statistic that grows with them."""
    bounded = attack.sees == "message" and not is_linear(attack.statistic)
    seen = weighed if bounded else attack.statistic
    return attack._replace(a=_scaled(attack.a), b=_scaled(attack.b), statistic=seen)


def weighed(outputs):
    """Sum of all that an output shows, with the weights 1, 2, 3, ..., (n,)."""
    flat = outputs.reshape(len(outputs), -1)
    return flat @ np.arange(1.0, flat.shape[1] + 1)


def _scaled(data):
    return tuple(map(_scaled, data)) if isinstance(data, tuple) else np.multiply(data, FAR)


def twice(attack):
    """The same attack where the budget is spent twice: on two independent outputs."""

    def mechanism(data, rng, n):
        return np.stack([attack.mechanism(data, rng, n) for _ in range(2)], axis=1)

    def statistic(outputs):
        return attack.statistic(outputs[:, 0]) + attack.statistic(outputs[:, 1])

    return attack._replace(mechanism=mechanism, statistic=statistic)


def reused(attack):
    """The same attack where an output about known data, a, has the same noise as the one about
    unknown data: the difference of the two tells."""

    def mechanism(data, rng, n):
        seeds = rng.integers(1 << 62, size=n)
        pairs = [
            [attack.mechanism(d, np.random.default_rng(s), 1)[0] for d in (data, attack.a)]
            for s in seeds
        ]
        return np.array(pairs)

    def statistic(outputs):
        return np.abs(outputs[:, 0] - outputs[:, 1]).reshape(len(outputs), -1).max(axis=1)

    return attack._replace(mechanism=mechanism, statistic=statistic)
