"""What a saved run is made of: plain arrays by dotted name, and what has to be the same.

Nothing is executed or unpickled: a file that does not fit the fresh State is refused.
"""

import hashlib

import numpy as np

import companion
from companion.validate import shown

FORMAT = 2  # of saved runs


def leaves(value, name: str):
    """(dotted name, array) of everything that nested named tuples hold."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        for key, part in zip(names, value, strict=True):
            yield from leaves(part, f"{name}.{key}")
    else:
        leaf = np.asarray(value)
        if leaf.dtype.kind not in "biufU":
            raise ValueError(
                f"{name} must hold numbers, so that it can be saved; got {shown(value)}"
            )
        yield name, leaf


def described(policy, rng: np.random.Generator):
    """What must be the same for a run to go on: names, guarantee, parameters, kind of generator."""
    kernels = getattr(policy.select, "py_func", policy.select)
    about = {
        "format": FORMAT,
        "version": companion.__version__,
        "policy": policy.name,
        "kernels": kernels.__module__,
        "guarantee": str(policy.guarantee),
        "kind of generator": type(rng.bit_generator).__name__,
    }
    for name, leaf in leaves(policy.params, "params"):
        digest = hashlib.sha256(np.ascontiguousarray(leaf)).hexdigest()[:16]
        about[name] = repr(leaf.item()) if leaf.ndim == 0 else f"{leaf.dtype}{leaf.shape} {digest}"
    return about


def need_same(found, wanted) -> None:
    """Raise ValueError, naming what differs, unless a file tells what is wanted."""
    for name, value in wanted.items():
        if found.get(name) != value:
            raise ValueError(
                f"path must lead to a run of the same policy, parameters and version; its {name} "
                f"is {found.get(name)!r}, here it is {value!r}"
            )


def refilled(template, arrays, name: str):
    """The fresh State with every number replaced by the saved one of the same place and type."""
    if isinstance(template, tuple):
        names = getattr(template, "_fields", range(len(template)))
        parts = [refilled(t, arrays, f"{name}.{k}") for k, t in zip(names, template, strict=True)]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    fresh, saved = np.asarray(template), arrays.get(name)
    if saved is None or (saved.dtype, saved.shape) != (fresh.dtype, fresh.shape):
        raise ValueError(f"path must lead to a saved run of this policy; its {name} does not fit")
    if not isinstance(template, np.ndarray):
        return type(template)(saved.item())
    template[...] = saved
    return template
