"""A self-test of seconds: `python -m companion`.

One policy of each trust model plays a fixed world; its arms are compared with recorded ones, bit by
bit, and its guarantee is printed.  Exit code 1 if the arms differ: then this machine rounds a
logarithm differently, or the installation is broken.
"""

import hashlib
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from companion import catalogue
from companion.environments import sphere

if TYPE_CHECKING:
    from companion.core import Policy

ROUNDS = 400
RECORDED = {  # first 12 digits of SHA-256 of the arms
    "linucb": "2cd3b1b75ea8",
    "online_linucb": "7975ce7b837e",
    "sdp_linucb": "772c3469843d",
    "jdp_linucb": "8a7b57e6d33e",
}


def arms_of(policy: "Policy") -> tuple[Any, Any]:
    """(digest of the arms that a policy plays in the fixed world, its mean regret)."""
    rng, state, arms, regret = np.random.default_rng(1), policy.init(policy.params), [], 0.0
    for X, R, mu in sphere(5, policy.params.d).blocks(ROUNDS, np.random.default_rng(2)):
        played = np.empty(len(X), dtype=np.int64)
        state = policy.play(policy.params, state, X, R, rng, played)
        arms += played.tolist()
        regret += float((mu.max(axis=1) - mu[np.arange(len(X)), played]).sum())
    return hashlib.sha256(repr(arms).encode()).hexdigest()[:12], regret / ROUNDS


def main() -> int:
    """Print what was found; the exit code."""
    try:
        installed = version("private-bandits")
    except PackageNotFoundError:
        installed = "not installed as a distribution"
    print(f"private-bandits {installed}, Python {platform.python_version()}")
    different = []
    for name, recorded in RECORDED.items():
        policy, begin = catalogue.policies()[name].example(), time.perf_counter()
        digest, regret = arms_of(policy)
        same = "as recorded" if digest == recorded else f"NOT as recorded ({digest})"
        took = time.perf_counter() - begin
        print(f"{name:14} {policy.guarantee}: arms {same}; regret {regret:.3f}; {took:.1f} s")
        different += [name] if digest != recorded else []
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
