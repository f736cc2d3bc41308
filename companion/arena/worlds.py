"""The arena's rules: which policy may play which world, and with which arguments.

Who has no recipe (`recipes`) is refused, with that reason.  All are built for one true guarantee:
calibration "corrected" at (epsilon, delta = 1/T).  Each policy has at most one number that is
tuned; everything else is its default, or follows from the world.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from companion import policies
from companion.arena import recipes
from companion.arena.recipes import Call
from companion.core import Policy
from companion.validate import need_choice, need_positive

MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of a default, the same for every policy


class World(NamedTuple):
    """A world and what a user would know of it; all contexts and rewards lie in the universe."""

    env: Any  # contexts (K, d)
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


def call(name: str, world: World, T: int, epsilon: float, multiple: float = 1.0) -> Call | Refusal:
    """The `Call` of a factory for T rounds of a world at this budget, or a `Refusal`.

    name: the factory of a policy; epsilon in (0, inf]; multiple > 0 of its one number.
    """
    need_choice("name", name, tuple(policies.TABLE))
    epsilon = need_positive("epsilon", epsilon, allow_inf=True)
    multiple = need_positive("multiple", multiple)
    if reason := recipes.refused(name, world, T):
        return Refusal(name, reason)
    return Call(name, recipes.arguments(name, world, T, epsilon, multiple))


def stream(world: World, name: str):
    """The environment that a policy plays in a world: one context, or one for each arm."""
    return world.common if recipes.recipe(name).only == recipes.COMMON else world.env


class Group(NamedTuple):
    """A policy with its one number free: make(T, multiple) -> Call, for the multiples of grid."""

    make: Any
    grid: tuple


def tunable(name: str, world, epsilon: float) -> Group:
    """The `Group` of a policy in a world: grid (1.0,) where it has no number to tune."""
    grid = MULTIPLES if recipes.recipe(name).tuned else (1.0,)
    return Group(lambda T, m: call(name, world, T, epsilon, m), grid)


def lineup(world: World, T: int, epsilon: float) -> tuple[list[Call], list[Refusal]]:
    """(calls, refusals) of every policy of the package in a world.

    Raises ValueError if a private policy would give another guarantee than (epsilon, 1/T) or less.
    """
    all_of_them = [call(name, world, T, epsilon) for name in policies.TABLE]
    calls = [c for c in all_of_them if isinstance(c, Call)]
    for c in calls:
        need_guarantee(c.policy(), T, epsilon)
    return calls, [c for c in all_of_them if isinstance(c, Refusal)]


def need_guarantee(policy: Policy, T: int, epsilon: float) -> None:
    """ValueError unless the policy keeps nothing private, or is truly (epsilon, 1/T)-private."""
    g = policy.guarantee
    if g.model != "none" and not (g.epsilon <= epsilon * (1 + 1e-9) and g.delta <= 1.0 / T):
        raise ValueError(f"policy must be ({epsilon:g}, 1/T)-private; {policy.name} is {g}")


class Expanded(NamedTuple):
    """A stream of one context per round as contexts of arms: row k holds it in block k, halved."""

    env: Any
    scale: float

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X (n, K, K p), R, mu) for T rounds."""
        for X, R, mu in self.env.blocks(T, rng):
            n, K, p = X.shape
            wide = np.zeros((n, K, K, p))
            for k in range(K):
                wide[:, k, k] = self.scale * X[:, 0]
            yield wide.reshape(n, K, K * p), R, mu
