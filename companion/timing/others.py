"""LinUCB of two well-known libraries, `river` and `mabwiser`, on the stream on which ours is timed.

Both keep a ridge estimate for each arm ("disjoint"), ours one estimate for all arms.  A round costs
the same multiplications: a quadratic form of size d for each of K arms, and one update.  They take
one context in a round, which every arm sees: that of the first arm of the stream.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from companion._types import Array


def river(X: Array, R: Array) -> list[Any]:
    """Arms that `river.bandit.LinUCBDisjoint` plays on contexts X (n, K, d), rewards R (n, K)."""
    from river import bandit

    arms: list[Any] = list(range(X.shape[1]))
    played: list[Any] = []
    policy = bandit.LinUCBDisjoint(alpha=1.0, seed=1)
    for row, rewards in zip(X[:, 0], R, strict=True):
        context = dict(enumerate(row.tolist()))
        arm = policy.pull(arms, context=context)
        policy.update(arm, context, float(rewards[arm]))
        played.append(arm)
    return played


def mabwiser(X: Array, R: Array) -> list[int]:
    """Arms that `mabwiser` plays with its LinUCB on contexts X (n, K, d), rewards R (n, K)."""
    from mabwiser.mab import MAB, LearningPolicy

    arms, played = list(range(X.shape[1])), []
    policy = MAB(arms, LearningPolicy.LinUCB(alpha=1.0), seed=1)
    policy.fit([0], [float(R[0, 0])], X[:1, 0])
    for row, rewards in zip(X[:, :1], R, strict=True):
        arm = policy.predict(row)
        policy.partial_fit([arm], [float(rewards[arm])], row)
        played.append(arm)
    return played


LIBRARIES: Mapping[str, Callable[[Array, Array], Any]] = {"river": river, "mabwiser": mabwiser}


def installed() -> dict[str, Callable[[Array, Array], Any]]:
    """{library: what plays it} of those that can be imported."""
    return {name: play for name, play in LIBRARIES.items() if find_spec(name)}
