"""Validation in one voice: a `ValueError` with the argument's name, value and allowed range.

Conditions are written so that NaN fails.  Depends on nothing of ours.
"""

import numbers

import numpy as np


def need_float(
    name, value, low=-np.inf, high=np.inf, *, open_low=False, open_high=False, allow_inf=False
):
    """`value` as a float in the interval from low to high; finite unless allow_inf."""
    opens = "(" if open_low or low == -np.inf else "["
    closes = ")" if open_high or (high == np.inf and not allow_inf) else "]"
    span = f"{opens}{low}, {high}{closes}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        raise ValueError(f"{name} must be a number in {span}; got {name}={value!r}")
    v = float(value)
    ok = (v > low if open_low else v >= low) and (v < high if open_high else v <= high)
    if not (ok and (allow_inf or np.isfinite(v))):
        raise ValueError(f"{name} must be in {span}; got {name}={value!r}")
    return v


def need_positive(name, value, *, allow_inf=False):
    """`value` as a float above zero."""
    return need_float(name, value, 0.0, open_low=True, allow_inf=allow_inf)


def need_probability(name, value):
    """`value` as a float strictly between 0 and 1."""
    return need_float(name, value, 0.0, 1.0, open_low=True, open_high=True)


def need_int(name, value, low, high=None):
    """`value` as an int from low to high (None: no upper end); 3.0 passes, 3.5 and True do not."""
    span = f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"
    whole = isinstance(value, (numbers.Integral, np.integer)) and not isinstance(value, bool)
    whole = whole or (
        isinstance(value, (float, np.floating)) and np.isfinite(value) and value == int(value)
    )
    if not whole or value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be {span}; got {name}={value!r}")
    return int(value)


LARGEST = 1 << 62  # of the whole numbers that a kernel can count to


def need_choice(name, value, choices):
    """`value` if it is one of choices."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))}; got {name}={value!r}"
        )
    return value


def need_members(name, values, kind=object):
    """`values` as a tuple of at least one, each of this kind."""
    try:
        values = tuple(values)
    except TypeError:
        raise ValueError(f"{name} must be a sequence; got {name}={values!r}") from None
    wrong = [v for v in values if not isinstance(v, kind)]
    if wrong or not values:
        found = repr(wrong[0]) if wrong else "none"
        raise ValueError(f"{name} must hold at least one {kind.__name__.lower()}; got {found}")
    return values


def need_array(name, value, shape):
    """`value` as a finite, C-contiguous float64 array; letters in shape are free sizes >= 1."""
    try:
        a = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array of numbers; got {type(value).__name__}"
        ) from None
    wanted = f"({', '.join(map(str, shape))})"
    fits = a.ndim == len(shape) and all(
        n >= 1 and (isinstance(s, str) or n == s) for n, s in zip(a.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} must have shape {wanted}; got shape {a.shape}")
    if not np.isfinite(a).all():
        bad = int((~np.isfinite(a)).sum())
        raise ValueError(f"{name} must be finite; got {bad} entries that are NaN or infinite")
    return a
