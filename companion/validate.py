"""Validation in one voice: a `ValueError` with the argument's name, value and allowed
range.

Conditions are written so that NaN fails.  Depends on nothing of ours.
"""

import importlib
import numbers

import numpy as np

LARGEST = 1 << 62  # of the whole numbers that a kernel can count to
FARTHEST = 1e100  # finite parameters are not larger: their powers stay finite
NEAREST = 1e-100  # positive parameters are not smaller: their inverses stay finite


def shown(value) -> str:
    """What a refusal shows of a value: at most 200 characters, on one line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number with more digits than Python prints
        text = f"a whole number of {value.bit_length()} bits"
    return text if len(text) <= 200 else f"{text[:150]}... ({type(value).__name__})"


def is_number(value) -> bool:
    """Whether the value is one real number: no truth value, no duration, no text, no
    array."""
    wrong = isinstance(value, (bool, np.bool_, np.timedelta64))
    return isinstance(value, numbers.Real) and not wrong


def is_whole(value) -> bool:
    """Whether the value is one whole number; 3.0 is."""
    if not is_number(value) or isinstance(value, numbers.Integral):
        return is_number(value)
    return bool(np.isfinite(float(value))) and value == int(value)


def need_float(
    name: str,
    value,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    allow_inf: bool = False,
) -> float:
    """`value` as a float in the interval from low to high; finite unless allow_inf.

    A finite one is at most `FARTHEST` in size, and at least `NEAREST` if it must be
    positive.
    """
    opens = "(" if open_low or low == -np.inf else "["
    closes = ")" if open_high or (high == np.inf and not allow_inf) else "]"
    span = f"{opens}{low}, {high}{closes}"
    if not is_number(value):
        raise ValueError(f"{name} must be a number in {span}; got {name}={shown(value)}")
    try:
        v = float(value)
    except OverflowError:  # a whole number beyond all floats
        v = np.nan
    ok = (v > low if open_low else v >= low) and (v < high if open_high else v <= high)
    if not (ok and (allow_inf or np.isfinite(v))):
        raise ValueError(f"{name} must be in {span}; got {name}={shown(value)}")
    positive = open_low and low == 0.0
    if np.isfinite(v) and (abs(v) > FARTHEST or (positive and v < NEAREST)):
        size = (
            f"at least {NEAREST} and at most {FARTHEST}"
            if positive
            else f"at most {FARTHEST}"
        )
        raise ValueError(
            f"{name} must be in {span}, {size} in size; got {name}={shown(value)}"
        )
    return v


def need_positive(name: str, value, *, allow_inf: bool = False) -> float:
    """`value` as a float above zero."""
    return need_float(name, value, 0.0, open_low=True, allow_inf=allow_inf)


def need_probability(name: str, value) -> float:
    """`value` as a float strictly between 0 and 1."""
    return need_float(name, value, 0.0, 1.0, open_low=True, open_high=True)


def need_int(name: str, value, low: float, high: int | None = None) -> int:
    """`value` as an int from low to high (None: `LARGEST`); 3.0 passes, 3.5 and True do
    not."""
    # NumPy's short numbers cannot hold the bounds
    v = int(value) if is_whole(value) else None
    top = LARGEST if high is None and v is not None and v > LARGEST else high
    if v is None or v < low or (top is not None and v > top):
        span = f"an integer >= {low}" if top is None else f"an integer in [{low}, {top}]"
        raise ValueError(f"{name} must be {span}; got {name}={shown(value)}")
    return v


def need_seed(name: str, value) -> int:
    """`value` as an int >= 0 of any size, as `numpy.random.SeedSequence` takes it."""
    if not is_whole(value) or value < 0:
        raise ValueError(f"{name} must be an integer >= 0; got {name}={shown(value)}")
    return int(value)


def need_generator(name: str, seed) -> np.random.Generator:
    """A new generator from an integer >= 0 or a SeedSequence (None: from the operating
    system)."""
    if not (seed is None or isinstance(seed, np.random.SeedSequence)):
        seed = need_seed(name, seed)
    return np.random.default_rng(seed)


def need_method(name: str, value, method: str | None = None):
    """`value` if it can be called, or has this method."""
    if not callable(value if method is None else getattr(value, method, None)):
        wanted = "a function" if method is None else f"an object with the method {method}"
        raise ValueError(f"{name} must be {wanted}; got {name}={shown(value)}")
    return value


def need_module(module: str, extra: str):
    """A module of an extra; without it, an error in one line that says what to
    install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        said = (
            f"{module} is missing: pip install 'private-bandits[{extra}]' or "
            f"'private_bandits.tar.gz[{extra}]', or only {module}"
        )
        raise ModuleNotFoundError(said) from None


def need_choice(name: str, value, choices):
    """`value` if it is one of choices."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))}; got "
            f"{name}={shown(value)}"
        )
    return value


def need_members(name: str, values, kind=object):
    """`values` as a tuple of at least one, each of this kind; text is no sequence of
    them."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        values = tuple(values)
    except TypeError:
        raise ValueError(
            f"{name} must be a sequence; got {name}={shown(values)}"
        ) from None
    wrong = [v for v in values if not isinstance(v, kind)]
    if wrong or not values:
        found = shown(wrong[0]) if wrong else "none"
        raise ValueError(
            f"{name} must hold at least one {kind.__name__.lower()}; got {found}"
        )
    return values


def need_array(name: str, value, shape) -> np.ndarray:
    """`value` as a finite, C-contiguous float64 array; letters in shape are free sizes >=
    1.

    Text, complex numbers, dates, durations and masked entries are no numbers.
    """
    a = _as_floats(value)
    if a is None:
        found = type(value).__name__
        raise ValueError(
            f"{name} must be an array of numbers; got {found}{_first_wrong(value)}"
        )
    wanted = f"({', '.join(map(str, shape))})"
    fits = a.ndim == len(shape) and all(
        n >= 1 and (isinstance(s, str) or n == s)
        for n, s in zip(a.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} must have shape {wanted}; got shape {a.shape}")
    if not np.isfinite(a).all():
        bad = int((~np.isfinite(a)).sum())
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(a))[0])
        raise ValueError(
            f"{name} must be finite; got {bad} entries that are NaN or infinite, the "
            f"first is {a[first]} at {list(first)}"
        )
    return a


def need_indices(name: str, value, shape, size: int) -> np.ndarray:
    """`value` as an array of integers in 0..size-1, of this shape."""
    a = _as_floats(value)
    if (
        a is None
        or np.asarray(value).dtype.kind not in "iu"
        or not ((a >= 0) & (a < size)).all()
    ):
        raise ValueError(f"{name} must be integers in 0..{size - 1}; got {shown(value)}")
    return need_array(name, value, shape).astype(np.int64)


def _first_wrong(value) -> str:
    """Which entry of an array is the first that is no number, and what it is; "" if
    unknown."""
    try:
        entries = np.ma.asarray(value, dtype=object)
    except (TypeError, ValueError):  # rows of different lengths
        return ""
    for place, entry in np.ma.ndenumerate(entries, compressed=False):
        if not (is_number(entry) or isinstance(entry, (bool, np.bool_))) and place:
            return f", whose entry {list(place)} is {shown(entry)}"
    return ""


def _as_floats(value):
    """`value` as a C-contiguous float64 array, or None if it is no array of numbers."""
    try:
        a = np.asanyarray(value)
        if a.dtype.kind == "O" and not all(map(is_number, a.flat)):
            return None
        numeric = a.dtype.kind in "biufO" and not np.ma.getmask(a).any()
        return np.asarray(a, dtype=np.float64, order="C") if numeric else None
    except (TypeError, ValueError, OverflowError):
        return None
