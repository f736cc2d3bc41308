"""All optimisers of the package, by name.

    from companion.optimisers import streaming_fw, noisy_sgd

A module is imported when its optimiser is first asked for.  `TABLE` maps each name to the module of its
factory and to a small instance for the common tests: a function of the factory and a number of
arms K, which most ignore.  A new optimiser is a file, and a line here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from companion.core import Entry

if TYPE_CHECKING:  # for editors and type checkers
    from companion.baselines.local_md import local_md as local_md
    from companion.baselines.noisy_sfw import noisy_sfw as noisy_sfw
    from companion.baselines.noisy_sgd import noisy_sgd as noisy_sgd
    from companion.streaming_sco.streaming import streaming_fw as streaming_fw
    from companion.streaming_sco.streaming import vertex_fw as vertex_fw

TABLE = {
    "local_md": Entry(
        "companion.baselines.local_md", lambda f, K: f(3, 400, epsilon=2.0, delta=0.01)
    ),
    "noisy_sfw": Entry(
        "companion.baselines.noisy_sfw",
        lambda f, K: f(3, 400, epsilon=2.0, delta=0.01, step_scale=0.5),
    ),
    "noisy_sgd": Entry(
        "companion.baselines.noisy_sgd", lambda f, K: f(3, 60, epsilon=2.0, delta=0.01)
    ),
    "streaming_fw": Entry(
        "companion.streaming_sco.streaming",
        lambda f, K: f(3, 400, epsilon=4.0, delta=0.001, p=1.5, radius=1.0),
    ),
    "vertex_fw": Entry(
        "companion.streaming_sco.streaming", lambda f, K: f(3, 400, epsilon=4.0, delta=0.001)
    ),
}


def factory(name: str):
    """The factory of an optimiser; ValueError unless `TABLE` has the name."""
    if name not in TABLE:
        raise ValueError(f"name must be one of {', '.join(TABLE)}; got {name!r}")
    return getattr(importlib.import_module(TABLE[name].module), name)


def example(name: str):
    """A small instance of an optimiser."""
    return TABLE[name].example(factory(name), 0)


def __getattr__(name):
    if name in TABLE:
        return factory(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*TABLE, "TABLE", "example", "factory"])
