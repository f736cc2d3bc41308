"""Faults planted in private algorithms, to see whether the audits find them.

Parameters are changed under a guarantee that stays, or kernels are replaced while all of them run
as plain Python.  Nothing here is private.
"""

import inspect
import sys
from contextlib import contextmanager
from types import FunctionType

import numpy as np

import companion
from companion.accounting.audit import is_linear
from companion.core import Optimiser
from companion.kernels import mechanisms
from companion.kernels.geometry import admit
from companion.kernels.linalg import dot

COMPILED = type(dot)
SCALES = {"sigma", "sigma_first", "sigma_v", "sigma_h", "scale", "xi_first", "xi_rest",
          "count_scale", "vector_scale", "matrix_scale", "spread_scale"}  # fmt: skip
BITS = {"b", "bits_matrix", "bits_gradient"}
BOUNDS = {"clip", "row_clip", "gradient_clip", "residual_clip", "reward_clip"}
FAR = 50.0  # records of this times the size that is allowed
NUMBERS = {bool, int, float, np.bool_, np.int64, np.float64}  # copies of them are themselves
GUESTS = set()  # names of modules beside the package whose kernels are watched and replaced, too


def is_generator(a) -> bool:
    """Whether numbers can be drawn from it."""
    return hasattr(a, "standard_normal")


def copied(tree, rng=None):
    """The same nested tuple with copies of its arrays, and another generator if one is given."""
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, tuple):  # a named one, too
        parts = [
            a.copy() if type(a) is np.ndarray else a if type(a) in NUMBERS else copied(a, rng)
            for a in tree
        ]
        return tuple.__new__(type(tree), parts)
    return rng if rng is not None and is_generator(tree) else tree


def flat(tree) -> list[np.ndarray]:
    """The numbers of a nested tuple as a list of arrays."""
    return [a for v in tree for a in flat(v)] if isinstance(tree, tuple) else [np.asarray(tree)]


def arrays(tree) -> list[np.ndarray]:
    """All arrays of a nested tuple."""
    if isinstance(tree, np.ndarray):
        return [tree]
    return [a for part in tree for a in arrays(part)] if isinstance(tree, tuple) else []


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays agree to the bit."""
    return a.tobytes() == b.tobytes()


def uncompiled(kernel):
    """The Python function of a kernel; itself if it is not compiled."""
    return getattr(kernel, "py_func", kernel)


def invite(*functions) -> None:
    """Count the modules of these functions among those whose kernels are watched and replaced."""
    GUESTS.update(uncompiled(f).__module__ for f in functions)


@contextmanager
def interpreted(instead):
    """All kernels of the package, and of invited modules, as plain Python, those that are keys of
    `instead` replaced."""
    saved = []
    for name, module in list(sys.modules.items()):
        if name.split(".", 1)[0] == companion.__name__ or name in GUESTS:
            for key, f in list(vars(module).items()):
                kind = type(f)  # an audit comes here a thousand times: no slower question is asked
                if kind is COMPILED or (kind is FunctionType and (f in instead or is_edited(f))):
                    saved.append((module, key, f))
                    setattr(module, key, instead.get(f, uncompiled(f)))
    try:
        yield
    finally:
        for module, key, f in saved:
            setattr(module, key, f)


def is_edited(f) -> bool:
    """Whether a function was made by `edited`."""
    return getattr(f, "py_func", None) is f


@contextmanager
def edited(kernel, old: str, new: str):
    """The package with one kernel whose source has `new` in place of `old`, as plain Python.

    What is built while it lasts, a policy or a `AuditInstance`, has the fault; it has to be played
    interpreted.  Raises ValueError unless `old` stands in the source exactly once.
    """
    plain = uncompiled(kernel)
    source = inspect.getsource(plain)
    if source.count(old) != 1:
        raise ValueError(f"old must stand in {plain.__name__} once; got {source.count(old)} times")
    source, made = source[source.index("def ") :].replace(old, new), {}
    exec(source, plain.__globals__, made)
    fault = made[plain.__name__]
    fault.py_func, saved = fault, []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == companion.__name__:
            for key, f in list(vars(module).items()):
                if f is kernel:
                    saved.append((module, key))
                    setattr(module, key, fault)
    try:
        yield fault
    finally:
        for module, key in saved:
            setattr(module, key, kernel)


def half_noise(algorithm, variances: int = 4):
    """The same policy or optimiser with half of all noise, a quarter of its variance, that is of
    all noise bits; or with another fraction of it, one over `variances`."""

    def less(name, value):
        if name in BITS:
            return value // variances
        return value / np.sqrt(variances) if name in SCALES else value

    return algorithm._replace(params=_changed(algorithm.params, less))


def plain(algorithm):
    """The same with its loop as plain Python, to run while kernels are replaced."""
    if isinstance(algorithm, Optimiser):
        return algorithm._replace(run=uncompiled(algorithm.run))
    steps = {name: uncompiled(getattr(algorithm, name)) for name in ("select", "update", "play")}
    same = algorithm._replace(**steps)
    return same._replace(play=same.loop)


def unclipped(algorithm):
    """The same, `plain`, with all bounds in its parameters infinite: see `open_doors`."""

    def opened(name, value):
        if name not in BOUNDS:
            return value
        return np.full_like(value, np.inf) if isinstance(value, np.ndarray) else np.inf

    return plain(algorithm._replace(params=_changed(algorithm.params, opened)))


def _changed(params, change):
    """Params with change(name, value) in place of every value, in nested tuples, too."""

    def part(name, value):
        if hasattr(value, "_fields"):
            return _changed(value, change)
        if isinstance(value, tuple):
            return tuple(part(name, inner) for inner in value)
        return change(name, value)

    return params._replace(**{name: part(name, value) for name, value in params._asdict().items()})


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


def weighed(outputs: np.ndarray) -> np.ndarray:
    """Sum of all that an output shows, with the weights 1, 2, 3, ..., (n,)."""
    flat = outputs.reshape(len(outputs), -1)
    return flat @ np.arange(1.0, flat.shape[1] + 1)


def _scaled(data):
    return tuple(map(_scaled, data)) if isinstance(data, tuple) else np.multiply(data, FAR)
