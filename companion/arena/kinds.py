"""Kinds of worlds, of any size: what the arena plays, and what `choose` asks for."""

import math

import numpy as np

from companion.arena.worlds import Expanded, World
from companion.environments import sphere
from companion.fliphat.environments import autoregressive, pad
from companion.private_glm.environments import world as glm_world
from companion.streaming_sco.environments import one_context
from companion.validate import need_choice, need_int

BALL = {"universe": "ball", "noise": 0.1}
SPARSE = (0.2, -0.2, 0.2, -0.2, 0.2)  # the coordinates that matter


def dense(d: int, K: int, **options) -> World:
    """Clicks with mean <x, theta>, d >= 2; options of `sphere`."""
    return World(sphere(K, d, **options), d, K, l1_bound=math.sqrt(d))


def sparse(d: int, K: int) -> World:
    """Gaussian contexts of dimension d >= 5, of which five coordinates matter."""
    env = autoregressive(K, pad(np.array(SPARSE), d))
    return World(
        env, d, K, theta_bound=5.0, l1_bound=1.0, largest=3.0, sparsity=len(SPARSE), **BALL
    )


def clicks(d: int, K: int, bound=3.0) -> World:
    """Clicks with a logistic mean; the parameter has norm at most `bound`."""
    env, l1_bound = glm_world("ball", d, bound, K=K), bound * math.sqrt(d)
    return World(env, d, K, "ball", "logistic", theta_bound=bound, l1_bound=l1_bound)


def common(d: int, K: int) -> World:
    """One context in R^d, d >= 2, that all K >= 2 arms share, each with a parameter of its own."""
    env, scale = one_context(K, d, 2), 1.0 / math.sqrt(d)
    return World(
        Expanded(env, scale), K * d, K, theta_bound=math.sqrt(K) / scale, l1_bound=K / scale,
        common=env, p=d, **BALL,
    )  # fmt: skip


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
