"""Worlds of the arena, of any size: an environment with what a user would know of it."""

import math
from typing import Any, NamedTuple

import numpy as np

from companion.environments import sphere
from companion.fliphat.environments import autoregressive, pad
from companion.private_glm.environments import world as glm_world
from companion.streaming_sco.environments import one_context
from companion.validate import need_choice, need_int

BALL = {"universe": "ball", "noise": 0.1}
SPARSE = (0.2, -0.2, 0.2, -0.2, 0.2)  # the coordinates that matter


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


class Expanded(NamedTuple):
    """A stream of one context per round as contexts of arms: row k holds it in block k, scaled."""

    env: Any
    scale: float

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X (n, K, K p), R, mu) for T rounds."""
        for X, R, mu in self.env.blocks(T, rng):
            yield in_blocks(self.scale * X[:, 0], X.shape[1]), R, mu


def in_blocks(x, K: int) -> np.ndarray:
    """One context x (n, p) a round as contexts of K arms (n, K, K p): row k holds it in block k."""
    n, p = x.shape
    X = np.zeros((n, K, K, p))
    for k in range(K):
        X[:, k, k] = x
    return X.reshape(n, K, K * p)


def dense(d: int, K: int, **options) -> World:
    """Clicks with mean <x, theta>, d >= 2; options of `sphere`."""
    return World(sphere(K, d, **options), d, K, l1_bound=math.sqrt(d))


def sparse(d: int, K: int) -> World:
    """Gaussian contexts of dimension d >= 5, of which five coordinates matter."""
    env, s = autoregressive(K, pad(np.array(SPARSE), d)), len(SPARSE)
    return World(env, d, K, theta_bound=5.0, l1_bound=1.0, largest=3.0, sparsity=s, **BALL)


def clicks(d: int, K: int, bound=3.0) -> World:
    """Clicks with a logistic mean; the parameter has norm at most `bound`."""
    env, l1_bound = glm_world("ball", d, bound, K=K), bound * math.sqrt(d)
    return World(env, d, K, "ball", "logistic", theta_bound=bound, l1_bound=l1_bound)


def common(d: int, K: int) -> World:
    """One context in R^d, d >= 2, that all K >= 2 arms share, each with a parameter of its own."""
    env, scale = one_context(K, d, 2), 1.0 / math.sqrt(d)
    bounds = {"theta_bound": math.sqrt(K) / scale, "l1_bound": K / scale}
    return World(Expanded(env, scale), K * d, K, common=env, p=d, **bounds, **BALL)


KINDS = {  # name: (what makes it, least dimension)
    "dense": (dense, 2),
    "sparse": (sparse, len(SPARSE)),
    "clicks": (clicks, 2),
    "one context": (common, 2),
}


def world_of(kind: str, d: int, K: int) -> World:
    """A `World` of this kind for contexts in R^d and K >= 2 arms.  ValueError on anything else."""
    make, least = KINDS[need_choice("world", kind, tuple(KINDS))]
    return make(need_int("d", d, least), need_int("K", K, 2))
