"""The Cost line of a module, read: the powers of K, d and T that a round takes, and its floors.

A line says `O(K d^2 + log T) time per round` (or record: n is T there), and may say `5 times the
floor`.  What it says is compared with measured times: they must be a sum of its terms, and of terms
of lower order, with coefficients that are not negative.
"""

import importlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from companion import catalogue
from companion._types import Array

SIZES = ("K", "T", "d", "log T")  # what a term is made of
TIME = re.compile(r"O\(([^()]*)\) time per (?:round|record)")
FLOORS = re.compile(r"(\d+(?:\.\d+)?) times (?:the|its) floor")
FACTOR = re.compile(r"(log [Tn]|[A-Za-z]+|1)(?:\^(\d+(?:\.\d+)?))?(?: |$)")

UNREAD = {  # their lines have no time per round in K, d and T, and nothing here compares them
    "fliphat": "the line counts releases, which come at the ends of episodes",
    "residual_fliphat": "the line is that of FLIPHAT",
    "lplr": "the line counts epochs and bins, which are too many beyond d = 2",
    "suffstats": "the line counts epochs, of which each has an estimate of its own",
}


class Line(NamedTuple):
    """What a Cost line says."""

    terms: tuple[tuple[float, ...], ...]  # powers of `SIZES`
    floors: float | None  # the multiple that it names


class Fit(NamedTuple):
    """A line beside times."""

    times: Array  # (n,) what the line gives with the best coefficients
    worst: float  # the largest factor, >= 1, between it and what was measured


def read(doc: str) -> Line:
    """The `Line` of a module's docstring.

    Raises ValueError unless there is a Cost line with `O(...) time per round` (or record), whose
    terms are products of powers of K, d, T (or n), log T and 1.
    """
    parts = re.split(r"^(\w+):", doc, flags=re.MULTILINE)
    texts = [
        " ".join(parts[i + 1].split()) for i in range(1, len(parts) - 1, 2) if parts[i] == "Cost"
    ]
    found = TIME.search(texts[0]) if texts else None
    if found is None:
        said = texts[0] if texts else "nothing"
        raise ValueError(f"a Cost line must say O(...) time per round or record; got {said!r}")
    return Line(tuple(map(term, found[1].split(" + "))), floors_in(texts[0]))


def of(name: str) -> Line:
    """The `Line` of an algorithm of the roster; without terms if it is one of `UNREAD`."""
    name, _, variant = name.partition(" ")
    entry = (catalogue.policies() | catalogue.optimisers())[name]
    doc = importlib.import_module(entry.module).__doc__ or ""
    line = Line((), floors_in(doc)) if name in UNREAD else read(doc)
    return line._replace(floors=floors_in(doc, variant)) if variant else line


def floors_in(text: str, variant: str = "") -> float | None:
    """The multiple of the floor that a text names, if it names one; for a variant as "(OGD: 6)"."""
    pattern = rf"\({variant}: (\d+)\)" if variant else FLOORS
    found = re.search(pattern, " ".join(text.split()))
    return float(found[1]) if found else None


def term(text: str) -> tuple[float, ...]:
    """Powers of `SIZES` in a term: "K d^2" -> (1, 0, 2, 0).  Raises ValueError on other symbols."""
    powers, end = dict.fromkeys(SIZES, 0.0), 0
    for factor in FACTOR.finditer(text):
        name = factor[1].replace("n", "T")
        if factor.start() != end or (name != "1" and name not in powers):
            break
        end = factor.end()
        if name != "1":
            powers[name] += float(factor[2] or 1)
    if end != len(text) or not text:
        raise ValueError(f"a term of a Cost line must be made of {SIZES}, n and 1; got {text!r}")
    return tuple(powers.values())


def lower(power: float) -> list[float]:
    """Powers of lower order, down to 0, and the power itself."""
    return [power - i for i in range(math.ceil(power))] + [0.0]


def fitted(line: Line, sizes: Sequence[Mapping[str, int]], times: Array) -> Fit:
    """`Fit` of the line to times (n,) at sizes [{"K", "T", "d"}]: nonnegative least squares of
    relative errors, over its terms and all of lower order."""
    powers = {p for t in line.terms for p in itertools.product(*map(lower, t))}
    known = [(s["K"], s["T"], s["d"], math.log(s["T"])) for s in sizes]
    A = np.array([[math.prod(map(math.pow, k, p)) for p in sorted(powers)] for k in known])
    coefficients, _ = nnls(A / times[:, None], np.ones(len(times)))
    line_times = A @ coefficients
    ratio = line_times / times
    return Fit(line_times, float(max(ratio.max(), (1.0 / np.maximum(ratio, 1e-300)).max())))


def highest(line: Line, name: str) -> float:
    """The largest power of K, T or d in the line."""
    return max(t[SIZES.index(name)] for t in line.terms)


def slope(sizes: Any, times: Any) -> float:
    """The exponent in times ~ sizes^exponent, by least squares of logarithms over the last decade
    of sizes."""
    sizes, times = np.asarray(sizes, float), np.asarray(times, float)
    last = sizes >= 0.099 * sizes.max()
    return float(np.polyfit(np.log(sizes[last]), np.log(times[last]), 1)[0])
