"""Every algorithm of the package, found by looking: the one discovery that tests and pages use.

A module holds an algorithm if it offers `example()`, a small instance for the common tests.  Its
factory is the one other function whose return annotation is `Policy` or `Optimiser`, and gives the
algorithm its name.
"""

import functools
import importlib
import inspect
from typing import Any, NamedTuple

from companion._jit import PACKAGE
from companion.core import Optimiser, Policy

ABOVE = (
    "report",
    "audits",
    "arena",
    "timing",
    "judge",
    "catalogue",
    "__main__",
)  # they want more than the package
APART = tuple(f"companion.{part}" for part in ABOVE)


class Entry(NamedTuple):
    """One algorithm: factory and module by name, the factory, and what makes a small instance."""

    name: str
    module: str
    factory: Any
    example: Any


@functools.cache
def policies() -> dict[str, Entry]:
    """{factory name: Entry} of every policy of the package, in alphabetical order.

    >>> policies()["linucb"].module
    'companion.baselines.linucb'
    """
    return _found(Policy)


@functools.cache
def optimisers() -> dict[str, Entry]:
    """{factory name: Entry} of every optimiser of the package, in alphabetical order."""
    return _found(Optimiser)


def _found(kind):
    return {name: e for name, e in _everything().items() if _returns(e.factory, kind)}


def _returns(function, kind):
    return inspect.signature(function).return_annotation is kind


@functools.cache
def _everything():
    found = {}
    for name in sorted(PACKAGE.modules()):
        if not name.startswith(APART):
            module = importlib.import_module(name)
            if hasattr(module, "example"):
                entry = _entry(module)
                found[entry.name] = entry
    return dict(sorted(found.items()))


def _entry(module):
    makers = [
        f
        for f in vars(module).values()
        if inspect.isfunction(f)
        and f.__module__ == module.__name__
        and f is not module.example
        and (_returns(f, Policy) or _returns(f, Optimiser))
    ]
    if len(makers) != 1:
        names = [f.__name__ for f in makers]
        raise TypeError(
            f"{module.__name__} must have one function annotated -> Policy or -> Optimiser; "
            f"got {names}"
        )
    return Entry(makers[0].__name__, module.__name__, makers[0], module.example)
