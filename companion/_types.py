"""Names for what functions take and give, as checkers of types know them.

Shapes and units stand in docstrings.  No digest depends on this module: what it says is not run.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]  # numbers
Ints = npt.NDArray[np.int64]  # arms, counts, seeds
Bools = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
ArrayLike = npt.ArrayLike  # what NumPy makes an array of: lists, too
Rng = np.random.Generator
SeedSequence = np.random.SeedSequence
Function = TypeVar("Function", bound=Callable[..., Any])


class Environment(Protocol):
    """A world to play in."""

    def blocks(self, T: int, rng: Rng) -> Iterator[tuple[Array, Array, Array]]:
        """Yield (X (n, K, d), R (n, K), mu (n, K)) for T rounds."""
