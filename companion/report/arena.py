"""The arena's rules: which policy may play which world, and with which arguments.

Every policy of `catalogue` has a recipe here, or `lineup` fails: none can be forgotten.  A recipe
gives the arguments of a factory for a world, or a `Refusal` with the reason.  All are built for one
true guarantee: calibration "corrected" at (epsilon, delta = 1/T).  Each policy has at most one
number that is tuned; everything else is its default, or follows from the world.
"""

import math
from typing import NamedTuple

import numpy as np

from companion import catalogue
from companion.checks import need_positive
from companion.core import Policy
from companion.report.recipes import LONGEST, NUMBERS, RECIPES, Call

MULTIPLES = (0.1, 0.3, 1.0)


class World(NamedTuple):
    """A world and what a user would know of it; all contexts and rewards lie in the universe."""

    env: object  # contexts (K, d)
    d: int
    K: int
    universe: str = "offset_sphere"  # or "ball"
    link: str = "linear"  # or "logistic"
    theta_bound: float = 1.0  # S, norm of theta
    l1_bound: float = math.sqrt(2.0)  # of theta
    largest: float = 1.0  # coordinate of a context
    noise: float = 0.5  # sub-Gaussian scale of rewards
    sparsity: int | None = None  # None: dense
    common: object = None  # the same stream as one context (p,) per round, a theta for each arm
    p: int = 0  # dimension of that context


class Refusal(NamedTuple):
    """Why a policy cannot play a world."""

    factory: str
    reason: str


def call(name, world, T, epsilon, multiple=1.0):
    """The `Call` of a factory for T rounds of a world at this budget, or a `Refusal`.

    epsilon in (0, inf]; multiple > 0 of the policy's one number (`NUMBERS`).  Raises ValueError for
    a policy without a recipe.
    """
    epsilon = need_positive("epsilon", epsilon, allow_inf=True)
    if name not in RECIPES:
        raise ValueError(f"name must be a policy with a recipe; got {name!r}")
    found = RECIPES[name](world, T, epsilon, need_positive("multiple", multiple))
    if not isinstance(found, str) and LONGEST.get(name, T) < T:
        found = f"too slow here beyond T = {LONGEST[name]:,}"
    return Refusal(name, found) if isinstance(found, str) else Call(name, found)


class Group(NamedTuple):
    """A policy with its one number free: make(T, multiple) -> Call, for the multiples of grid."""

    make: object
    grid: tuple


def tunable(name, world, epsilon):
    """The `Group` of a policy in a world: grid (1.0,) where it has no number to tune."""
    grid = MULTIPLES if name in NUMBERS else (1.0,)
    return Group(lambda T, m: call(name, world, T, epsilon, m), grid)


def lineup(world, T, epsilon):
    """(calls, refusals) of every policy of the package in a world.

    Raises ValueError if a private policy would give another guarantee than (epsilon, 1/T) or less.
    """
    all_of_them = [call(name, world, T, epsilon) for name in catalogue.policies()]
    calls = [c for c in all_of_them if isinstance(c, Call)]
    for c in calls:
        need_guarantee(c.policy(), T, epsilon)
    return calls, [c for c in all_of_them if isinstance(c, Refusal)]


def need_guarantee(policy: Policy, T, epsilon):
    """ValueError unless the policy keeps nothing private, or is truly (epsilon, 1/T)-private."""
    g = policy.guarantee
    if g.model != "none" and not (g.epsilon <= epsilon * (1 + 1e-9) and g.delta <= 1.0 / T):
        raise ValueError(f"policy must be ({epsilon:g}, 1/T)-private; {policy.name} is {g}")


class Expanded(NamedTuple):
    """A stream of one context per round as contexts of arms: row k holds it in block k, halved."""

    env: object
    scale: float

    def blocks(self, T, rng):
        """Yield (X (n, K, K p), R, mu) for T rounds."""
        for X, R, mu in self.env.blocks(T, rng):
            n, K, p = X.shape
            wide = np.zeros((n, K, K, p))
            for k in range(K):
                wide[:, k, k] = self.scale * X[:, 0]
            yield wide.reshape(n, K, K * p), R, mu
