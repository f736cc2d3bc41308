"""What a policy or a rule is worth on a log of rounds that somebody else played.

A log holds the reward of one arm per round.
Source: Li, Chu, Langford and Wang (2011) for replay; Horvitz and Thompson (1952) for
weighting.
Privacy: an estimate is an exact function of the log, so it gives no guarantee by itself,
not even if the policy that it values is private.  `private_mean` adds noise and says what
it promises.
"""

import numpy as np

from companion import validate
from companion.accounting.privacy import Guarantee, laplace_scale
from companion.contract import interrupts_wait, need_block, need_contexts, need_nothing
from companion.core import Policy
from companion.kernels.mechanisms import laplace
from companion.stats import Interval, mean_interval


def replay_value(policy, X, arms, rewards, *, seed=None, level: float = 0.95):
    """(Interval of the mean reward, rounds kept) of a policy that learns, from a uniform
    log.

    Parameters: contexts X (n, K, d); arms (n,) in 0..K-1, each drawn uniformly; their
    rewards (n,). The policy sees the rounds in order, learns from those in which it
    chooses the logged arm, and skips the others: unbiased for its first rounds.  The
    interval has no ends if fewer than 2 rounds agree.  Raises ValueError on anything
    else.
    """
    validate.need_members("policy", [policy], Policy)
    X = validate.need_array("X", X, ("n", "K", "d"))
    n, K, _ = X.shape
    arms = validate.need_indices("arms", arms, (n,), K)
    rewards = validate.need_array("rewards", rewards, (n,))
    need_contexts((policy,), X)
    need_block("rewards", rewards, (n,))
    rng = validate.need_generator("seed", seed)
    state = policy.init(policy.params)
    horizon = getattr(policy.params, "T", n)
    kept = []  # rewards of the rounds in which the policy chose the logged arm
    for i in range(0, n, 100):
        part = slice(i, i + 100)
        rounds = X[part], arms[part], rewards[part]
        with interrupts_wait():  # for every single round it takes as long again
            _replay(policy, state, rounds, rng, horizon, kept)
    if len(kept) < 2:
        mean = float(kept[0]) if kept else np.nan
        return Interval(mean, -np.inf, np.inf), len(kept)
    return mean_interval(kept, level), len(kept)


def _replay(policy, state, rounds, rng, horizon, kept):
    """Play logged rounds in order; rewards of those that agree are added to `kept`."""
    p = policy.params
    for x, arm, r in zip(*rounds, strict=True):
        if len(kept) >= horizon:
            return
        if policy.select(p, state, x, rng) == arm:
            returned = policy.update(p, state, arm, x[arm], r, rng)
            need_nothing(policy.name, "update", returned)
            kept.append(r)


def weighted_rewards(target, propensities, rewards) -> np.ndarray:
    """(n,) rewards times the weight target / propensity of the arm played.

    Parameters: target (n,) in [0, 1], the probability that a fixed rule plays the logged
    arm; propensities (n,) in [1e-100, 1], the probability with which it was drawn;
    rewards (n,).  Their mean is unbiased for the rule's value if the propensities are
    true and the rule did not learn from this log: `stats.mean_interval`, or
    `private_mean` to publish it.

    Had arm 0 been played twice:

    >>> weighted_rewards([1, 0], [0.5, 0.5], [1.0, 0.0]).mean()
    1.0
    """
    target = validate.need_array("target", target, ("n",))
    propensities = validate.need_array("propensities", propensities, target.shape)
    rewards = validate.need_array("rewards", rewards, target.shape)
    need_block("rewards", rewards, target.shape)
    _need_chances("target", target, 0.0)
    _need_chances("propensities", propensities, validate.NEAREST)
    return target / propensities * rewards


def _need_chances(name, values, low):
    """Raise ValueError unless all values are in [low, 1]."""
    least = values.min()
    most = values.max()
    if not (least >= low and most <= 1.0):
        raise ValueError(f"{name} must be in [{low:g}, 1]; got {least} to {most}")


def private_mean(values, low, high, *, epsilon, seed=None, level: float = 0.95):
    """(Interval, Guarantee) of a mean, one value (n,) per person, that may be published.

    Values are clipped to the public bounds [low, high].  Sensitivity: n is public, and
    one person's value moves the mean by at most (high - low) / n, so Laplace noise of
    scale (high - low) / (n epsilon) gives (epsilon, 0)-DP in the central model.  The
    interval is made of public numbers: Hoeffding's for the values, plus a quantile of the
    noise, each at half the error.  Raises ValueError unless low < high are finite and
    epsilon > 0.
    """
    values = validate.need_array("values", values, ("n",))
    low = validate.need_float("low", low)
    high = validate.need_float("high", high)
    if not low < high:
        raise ValueError(f"low must be below high; got low={low}, high={high}")
    n = len(values)
    alpha = 1.0 - validate.need_probability("level", level)
    epsilon = validate.need_positive("epsilon", epsilon)
    rng = validate.need_generator("seed", seed)
    width = high - low
    sensitivity = width / n
    scale = laplace_scale(epsilon, sensitivity)
    clipped = np.clip(values, low, high)
    value = float(clipped.mean() + laplace(rng, scale))
    of_values = width * np.sqrt(np.log(4.0 / alpha) / (2 * n))
    of_noise = scale * np.log(2.0 / alpha)
    half = of_values + of_noise
    promise = Guarantee(
        model="central",
        epsilon=sensitivity / scale,
        delta=0.0,
        neighbours="replace one record",
        unit="row of the log",
    )
    return Interval(value, float(value - half), float(value + half)), promise
