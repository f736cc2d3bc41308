"""What a policy is worth on a log of rounds that another one played.

A log holds the reward of one arm per round, and says with which probabilities the arms were drawn.
Source: Li, Chu, Langford and Wang (2011) for replay; Horvitz and Thompson (1952), Hajek (1971) and
Dudik, Langford and Li (2011) for the weighted estimators.

Privacy: an estimate is an exact function of the log, so it gives **no guarantee by itself**, not
even if the policy that it values is private: that policy's guarantee covers what the policy lets
out, not what is computed beside it from the same records.  `private_value` and `private_mean` add
noise and say what it promises.
"""

from typing import Any, NamedTuple

import numpy as np

from companion.accounting import privacy
from companion.accounting.privacy import NO_PRIVACY, Guarantee
from companion.core import Policy, need_contexts, need_moderate, need_rounds
from companion.kernels.mechanisms import laplace
from companion.stats import Interval, mean_interval
from companion.validate import (
    need_array,
    need_float,
    need_generator,
    need_indices,
    need_int,
    need_members,
    need_positive,
    need_probability,
    shown,
)

REPLACE_VALUE = "replace one person's row"


class Log(NamedTuple):
    """A log of n rounds, one person each; make one with `log_of`, which checks it."""

    X: np.ndarray  # (n, K, d) contexts
    arms: np.ndarray  # (n,) arms played, 0..K-1
    rewards: np.ndarray  # (n,)
    propensities: Any  # (n, K) probabilities with which the arms were drawn, or None


class Estimate(NamedTuple):
    """A mean reward per round with its interval, and what to know about it."""

    interval: Interval
    rounds: int  # that the estimate is made of
    bias: str
    guarantee: Guarantee  # for the people in the log


def log_of(X: np.ndarray, arms: np.ndarray, rewards: np.ndarray, propensities=None) -> Log:
    """A `Log`: contexts X (n, K, d), arms (n,) in 0..K-1, their rewards (n,), and propensities.

    propensities: "uniform" if every arm was as likely as every other; an array (n, K), rows in
    (0, 1] that sum to 1, of the probabilities with which arms were drawn; None if nobody knows.
    Raises ValueError on anything else.
    """
    X = need_array("X", X, ("n", "K", "d"))
    need_moderate("X", X)
    n, K, _ = X.shape
    arms = need_indices("arms", arms, (n,), K)
    rewards = need_array("rewards", rewards, (n,))
    need_moderate("rewards", rewards)
    if isinstance(propensities, str) and propensities == "uniform":
        propensities = np.full((n, K), 1.0 / K)
    elif propensities is not None:
        propensities = _need_shares("propensities", propensities, n, K)
        if not propensities.min() > 0.0:
            raise ValueError("propensities must be in (0, 1]; got one of 0: that arm is never seen")
    return Log(X, arms, rewards, propensities)


def replay_value(
    policy: Policy, log: Log, seed: int | None = None, level: float = 0.95
) -> Estimate:
    """`Estimate` of what `policy` earns while it learns, from a log with uniform arms.

    The policy sees the rounds in order, learns from those in which it chooses the logged arm, and
    skips the others; the mean over them is unbiased for its first rounds of life.  The interval is
    Student's for the mean over those rounds; rewards that rise while it learns make it wider than
    needed.  It has no ends if fewer than 2 rounds agree.  Raises ValueError on anything else.
    """
    (policy,), log = need_members("policy", [policy], Policy), _need_log(log, weighted=True)
    level = need_probability("level", level)
    if not np.allclose(log.propensities, 1.0 / log.X.shape[1], rtol=1e-9):
        raise ValueError("log must have uniform propensities for replay; weigh it instead")
    need_contexts((policy,), log.X)
    need_rounds(policy, len(log.X))
    rng, state, kept = need_generator("seed", seed), policy.init(policy.params), []
    for x, arm, r in zip(log.X, log.arms, log.rewards, strict=True):
        if policy.select(policy.params, state, x, rng) == arm:
            state = policy.update(policy.params, state, arm, x[arm], r, rng) or state
            kept.append(r)
    bias = "unbiased for the first rounds of the policy, as many as are kept"
    if len(kept) < 2:
        interval = Interval(kept[0] if kept else np.nan, -np.inf, np.inf)
    else:
        interval = mean_interval(kept, level)
    return Estimate(interval, len(kept), bias, NO_PRIVACY)


def inverse_weighted(log: Log, target, level: float = 0.95) -> Estimate:
    """`Estimate` of a fixed rule: mean of w r, with w = target / propensity of the arm played.

    target: what the rule does in each round of the log, arms (n,) or an array of probabilities
    (n, K); it must not have learned from this log.  Unbiased if the propensities are true.

    >>> log = log_of(np.zeros((2, 2, 1)), [0, 1], [1.0, 0.0], "uniform")
    >>> inverse_weighted(log, [0, 0]).interval.value  # had arm 0 been played twice
    1.0
    """
    log, target = _need_log(log, weighted=True), _need_target(target, log)
    terms = _weights(log, target) * log.rewards
    bias = "unbiased if the propensities are true"
    return _estimate(mean_interval(terms, need_probability("level", level)), log, bias)


def self_normalised(log: Log, target, level: float = 0.95) -> Estimate:
    """`Estimate` of a fixed rule: sum of w r over sum of w, arguments as in `inverse_weighted`.

    Biased by (v Var(w) - Cov(w, w r)) / n up to smaller terms, v the value; its spread does not
    depend on a constant added to the rewards.  ValueError if the rule never does what was done.
    """
    log, target = _need_log(log, weighted=True), _need_target(target, log)
    w = _weights(log, target)
    if not w.sum() > 0.0:
        raise ValueError("target must play the logged arm in some round; got none")
    value = float(w @ log.rewards / w.sum())
    spread = mean_interval(
        w * (log.rewards - value) / w.mean(), need_probability("level", level)
    )  # by the delta method; its mean is 0
    half = spread.high - spread.value
    bias = "biased by (v Var(w) - Cov(w, w r)) / n, if the propensities are true"
    return _estimate(Interval(value, value - half, value + half), log, bias)


def doubly_robust(log: Log, target, model: str | None = None, level: float = 0.95) -> Estimate:
    """`Estimate` of a fixed rule: the model's value, plus the weighted error of the model.

    Arguments as in `inverse_weighted`; model (n, K): predicted mean rewards, each row made without
    that row's reward (None: `fitted`).  Unbiased if the propensities are true, whatever the model.
    """
    log, target = _need_log(log, weighted=True), _need_target(target, log)
    model = fitted(log) if model is None else need_array("model", model, log.X.shape[:2])
    need_moderate("model", model)
    played = model[np.arange(len(model)), log.arms]
    terms = (target * model).sum(axis=1) + _weights(log, target) * (log.rewards - played)
    bias = "unbiased if the propensities are true, whatever the model"
    return _estimate(mean_interval(terms, need_probability("level", level)), log, bias)


def fitted(log: Log, folds: int = 2, ridge: float = 1.0) -> np.ndarray:
    """Predicted mean rewards (n, K): ridge regression on the context of the arm played.

    Row i is predicted from the rows of the other folds, i modulo `folds` >= 2; ridge > 0.
    """
    log, folds = _need_log(log), need_int("folds", folds, 2, len(_need_log(log).arms))
    ridge, n = need_positive("ridge", ridge), len(log.arms)
    Z, model = log.X[np.arange(n), log.arms], np.empty(log.X.shape[:2])
    for k in range(folds):
        here = np.arange(n) % folds == k
        A = Z[~here].T @ Z[~here] + ridge * np.eye(Z.shape[1])
        model[here] = log.X[here] @ np.linalg.solve(A, Z[~here].T @ log.rewards[~here])
    return model


def private_mean(
    values,
    low: float,
    high: float,
    epsilon: float,
    seed: int | None = None,
    level: float = 0.95,
) -> Estimate:
    """`Estimate` of a mean, one value (n,) per person, that may be published.

    Values are clipped to the public bounds [low, high].  Sensitivity: n is public, and one person's
    value moves the mean by at most (high - low) / n; so Laplace noise of scale (high - low) /
    (n epsilon) gives (epsilon, 0)-DP, central model, and is all that is let out.  The interval
    is made of public numbers: Hoeffding's for the values, plus a quantile of the noise, each at
    half the error.  Noise from `seed` (None: the operating system).
    """
    values = need_array("values", values, ("n",))
    low, high = need_float("low", low), need_float("high", high)
    if not low < high:
        raise ValueError(f"low must be below high; got low={low}, high={high}")
    n, alpha = len(values), 1.0 - need_probability("level", level)
    epsilon = need_positive("epsilon", epsilon)
    scale = privacy.laplace_scale(epsilon, (high - low) / n)
    noise = laplace(need_generator("seed", seed), scale)
    value = float(np.clip(values, low, high).mean() + noise)
    half = (high - low) * np.sqrt(np.log(4.0 / alpha) / (2 * n)) + scale * np.log(2.0 / alpha)
    promise = Guarantee("central", (high - low) / n / scale, 0.0, REPLACE_VALUE, "row of the log")
    bias = "unbiased if no value lies outside the bounds"
    return Estimate(Interval(value, value - half, value + half), n, bias, promise)


def private_value(
    log: Log,
    target,
    low: float,
    high: float,
    least,
    epsilon: float,
    seed: int | None = None,
    level: float = 0.95,
) -> Estimate:
    """`inverse_weighted` with the noise of `private_mean`: may be published.

    low, high: public bounds of rewards; least: public lower bound in (0, 1] of propensities.  A
    person adds w r with w in [0, 1/least], so its bounds are min(0, low)/least and
    max(0, high)/least.  The rule behind target must not have learned from this log, else a person
    moves the terms of others, too, and nothing is promised.
    """
    log, target = _need_log(log, weighted=True), _need_target(target, log)
    least = need_float("least", least, 0.0, 1.0, open_low=True)
    low, high = need_float("low", low), need_float("high", high)
    if not low < high:
        raise ValueError(f"low must be below high; got low={low}, high={high}")
    terms = _weights(log, target) * np.clip(log.rewards, low, high)  # clipped once more below
    ends = min(0.0, low) / least, max(0.0, high) / least
    return private_mean(terms, *ends, epsilon, seed, level)


def _need_log(log, weighted=False):
    if not isinstance(log, Log):
        raise ValueError(f"log must be made by log_of; got log={shown(log)}")
    if weighted and log.propensities is None:
        raise ValueError(
            "log must have propensities: without the probabilities with which its arms were drawn "
            "nothing is known about other arms"
        )
    return log


def _need_target(target, log):
    """Probabilities (n, K) of what a rule does."""
    n, K = log.X.shape[:2]
    if isinstance(target, np.ndarray) and target.ndim == 2:
        return _need_shares("target", target, n, K)
    return np.eye(K)[need_indices("target", target, (n,), K)]


def _need_shares(name, value, n, K):
    value = need_array(name, value, (n, K))
    if value.min() < 0.0 or not np.allclose(value.sum(axis=1), 1.0, atol=1e-9):
        raise ValueError(f"{name} must have rows in [0, 1] that sum to 1; got {shown(value)}")
    return value


def _weights(log, target):
    rows = np.arange(len(log.arms))
    return target[rows, log.arms] / log.propensities[rows, log.arms]


def _estimate(interval, log, bias):
    return Estimate(interval, len(log.arms), bias, NO_PRIVACY)
