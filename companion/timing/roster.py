"""Every algorithm of the catalogue at the size at which it is timed, and the numbers that it draws.

Source: the factories that it calls.

What follows a name is a variant of it.

The size is T = 20,000 rounds, K = 100 arms, d = 5, but for those that a note in the table names;
optimisers read n = 20,000 records in d = 10.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from companion import catalogue
from companion.core import Optimiser, Policy

T, K, D, N, WIDTH = 20_000, 100, 5, 20_000, 10
GLM = {"theta_bound": 2.0}


class Entry(NamedTuple):
    """How an algorithm is made and timed."""

    make: Callable[[int, int, int], Any]  # of d, K, T
    draws: Callable[[Any], tuple[int, ...]]  # of the algorithm, as its floor takes them
    T: int = T
    K: int = K
    d: int = D
    fewest: int = 400  # rounds with which it makes sense
    d_max: int = 1_000  # beyond which 1,000 rounds are too few to follow its growth


def made(name: str, *order: str, **options: Any) -> Callable[[int, int, int], Any]:
    """(d, K, T) -> the algorithm of this name in the catalogue, with arguments in this order and
    options."""

    def make(d: int, K: int, T: int) -> Any:
        sizes: dict[str, Any] = {"d": d, "K": K, "T": T, "n": T}
        entry = (catalogue.policies() | catalogue.optimisers())[name]
        return entry.factory(*(sizes[o] for o in order), **options)

    return make


def none(_: Any) -> tuple[int, ...]:
    """No normals in a round: no noise, or noise that is drawn once in many rounds."""
    return (0,)


def square(p: Policy) -> int:
    """Entries of a symmetric (d, d) matrix."""
    return p.params.d * (p.params.d + 1) // 2


def statistics(p: Policy) -> tuple[int, ...]:
    """x x' and x r, each with noise."""
    return (square(p) + p.params.d,)


def pair(p: Policy) -> tuple[int, ...]:
    """x and r, each with noise."""
    return (p.params.d + 1,)


def twice_and_reward(p: Policy) -> tuple[int, ...]:
    """x, perturbed and with noise, and r with noise."""
    return (2 * p.params.d + 1,)


def base_pair(p: Policy) -> tuple[int, ...]:
    """The message to one base learner."""
    return (int(np.ravel(p.params.bases.d)[0]) + 1,)


def two_squares(p: Policy) -> tuple[int, ...]:
    """Two matrices."""
    return (2 * square(p),)


def every_arm(p: Policy) -> tuple[int, ...]:
    """A gradient of every arm."""
    return (p.params.K * p.params.d,)


def per_record(o: Optimiser) -> tuple[int, ...]:
    """(records read, normals, integers): a release for each record."""
    return o.params.n, o.params.n * o.params.d, 0


def per_choice(o: Optimiser) -> tuple[int, ...]:
    """A vertex for each record: its place, and an exponential to keep it by."""
    return o.params.n, o.params.n, o.params.n


def in_batches(o: Optimiser) -> tuple[int, ...]:
    """Releases at the ends of batches."""
    return o.params.n, (1 + o.params.steps) * o.params.d, 0


def at_random(o: Optimiser) -> tuple[int, ...]:
    """Steps on random records."""
    return o.params.steps, o.params.steps * o.params.d, o.params.steps


def in_phases(o: Optimiser) -> tuple[int, ...]:
    """Steps on batches from random orders: an integer for each record of an order."""
    p = o.params
    reads, orders = p.steps * p.batch, np.ceil(p.steps / (p.records // p.batch))
    return int(reads.sum()), int(p.steps.sum()) * p.d, int((orders * (p.records - 1)).sum())


def of_two(d: int, K: int, T: int) -> Policy:
    """The combiner of two base learners."""
    bases = [made("online_linucb", "d", "T", epsilon=1.0, width=w)(d, K, T) for w in (0.1, 1.0)]
    factory = catalogue.policies()["combiner"].factory
    return factory(bases, T)


BUDGET, SLOW = ("d", "T"), {"T": 2_000, "K": 100, "d": 5}
SMALL = {"T": 1_000, "K": 10, "d": 2}  # bins of bins: not finished in minutes at d = 5, K = 100
STREAM = {"T": N, "K": 1, "d": WIDTH}

ROSTER = {  # those on the same stream stand together, for it takes longer to draw than to play
    "random": Entry(made("random"), none),
    "linucb": Entry(made("linucb", "d"), none),
    "jdp_linucb": Entry(made("jdp_linucb", *BUDGET, epsilon=1.0), statistics),
    "sdp_linucb": Entry(made("sdp_linucb", *BUDGET, epsilon=1.0), none),
    "ldp_linucb": Entry(made("ldp_linucb", *BUDGET, epsilon=1.0), statistics),
    "corrected_ridge": Entry(made("corrected_ridge", *BUDGET, epsilon=1.0), pair),
    "online_linucb": Entry(made("online_linucb", *BUDGET, epsilon=1.0), pair),
    "online_linucb OGD": Entry(made("online_linucb", *BUDGET, epsilon=1.0, learner="ogd"), pair),
    "anytime_linucb": Entry(made("anytime_linucb", "d", epsilon=1.0), twice_and_reward),
    "combiner": Entry(of_two, base_pair),
    "gloc": Entry(made("gloc", "d", **GLM), none),
    "ecolog": Entry(made("ecolog", "d", **GLM), none),
    "rs_glinucb": Entry(made("rs_glinucb", *BUDGET, **GLM), none, d_max=12),  # then all is warm-up
    "joint_glm": Entry(made("joint_glm", *BUDGET, epsilon=4.0, **GLM), two_squares),
    "shuffle_glm": Entry(made("shuffle_glm", "d", "K", "T", epsilon=4.0, **GLM), none),
    "fliphat": Entry(
        made("fliphat", *BUDGET, sparsity=2, epsilon=1.0, b_max=1.0, iteration_rate=1.0), none
    ),
    "residual_fliphat": Entry(made("residual_fliphat", *BUDGET, sparsity=2, epsilon=1.0), none),
    "forced_lasso": Entry(made("forced_lasso", "d", "K"), none),
    "sco_bandit": Entry(made("sco_bandit", "d", "K", "T", epsilon=1.0, t0=1), every_arm),
    "glm_ucb": Entry(made("glm_ucb", *BUDGET, **GLM), none, **SLOW),
    "lasso_bandit": Entry(made("lasso_bandit", *BUDGET), none, **SLOW),
    "lplr": Entry(made("lplr", "d", "T", "K", epsilon=1.0), none, **SMALL),
    "suffstats": Entry(made("suffstats", "d", "T", "K", epsilon=1.0), none, **SMALL),
    "streaming_fw": Entry(made("streaming_fw", "d", "n", epsilon=1.0), per_record, **STREAM),
    "vertex_fw": Entry(made("vertex_fw", "d", "n", epsilon=1.0), per_choice, **STREAM),
    "noisy_sfw": Entry(made("noisy_sfw", "d", "n", epsilon=1.0), in_batches, **STREAM),
    "noisy_sgd": Entry(made("noisy_sgd", "d", "n", epsilon=1.0), at_random, **STREAM | {"T": 400}),
    "local_md": Entry(made("local_md", "d", "n", epsilon=1.0), in_phases, **STREAM),
}
