"""What readers may call, with arguments that it takes, and what no argument may be."""

import inspect
import warnings
from typing import NamedTuple

import numpy as np

from companion import environments, logs, optimisers, policies, simulate, stats
from companion.accounting import audit, binomial, privacy
from companion.baselines import private_linucb as noisy_ridge
from companion.baselines.linucb import linucb
from companion.fliphat import environments as fliphat
from companion.lplr import environments as lplr
from companion.online_linucb import online_linucb
from companion.private_glm import environments as glm
from companion.streaming_sco import environments as sco
from companion.streaming_sco.streaming_fw import streaming_fw

# what the parameters of a factory may be
GOOD = {"d": 3, "K": 4, "T": 400, "n": 64, "epsilon": 1.0, "delta": 0.05, "sparsity": 2,
        "b_max": 2.0}  # fmt: skip

HUGE = 10**400
MASKED = np.ma.masked_array([1.0, 2.0], [True, False])
# Values that no argument of anything may have, and others that a few arguments may have.
NEVER = {
    "NaN": np.nan,
    "complex": 1 + 2j,
    "complex array": np.array([1 + 2j, 0]),
    "masked array": MASKED,
    "a masked number": np.ma.masked,
    "timedelta64": np.timedelta64(3),
    "datetime64": np.datetime64("2020-01-01"),
    "bytes": b"abc",
    "an object": object(),
    "ragged": [[1.0, 2.0], [3.0]],
    "a dictionary": {"a": 1},
}
DOUBTFUL = {
    "infinity": np.inf,
    "-infinity": -np.inf,
    "-1": -1,
    "0": 0,
    "1e60": 1e60,
    "1e200": 1e200,
    "huge": HUGE,
    "-huge": -HUGE,
    "half": 0.5,
    "True": True,
    "a word": "abc",
    "None": None,
    "empty": [],
    "no rows": np.empty((0, 3)),
    "4 axes": np.zeros((1, 1, 1, 1)),
    "array of NaN": np.array([[np.nan, 0.0, 0.0]]),
    "numbers as text": "3",
    "array of words": np.array(["a", "b"]),
}


DATA = ("a", "b")  # of an audit: whatever the mechanism takes


class Call(NamedTuple):
    """A public function, and keywords with which it works."""

    function: object
    good: dict


def factories():
    every = policies.TABLE | optimisers.TABLE
    out = {}
    for name in every:
        f = policies.factory(name) if name in policies.TABLE else optimisers.factory(name)
        needed = [p for p, v in inspect.signature(f).parameters.items() if v.default is v.empty]
        out[name] = Call(f, {p: GOOD[p] for p in needed if p in GOOD})
    bases = [
        online_linucb(3, 400, epsilon=1.0, delta=0.1),
        online_linucb(3, 400, epsilon=1.0, delta=0.1, width=0.5),
    ]
    out["combiner"] = Call(policies.factory("combiner"), {"bases": bases, "T": 400})
    out["sco_bandit"].good["t0"] = 2
    return out


def options():
    """Factories that hand keywords on: those keywords, too."""
    calls = factories()
    ridge = inspect.signature(noisy_ridge.make_params).parameters
    layered = {"gamma": 2.0, "M": 2, "rho": 1.0, "failure": 0.05, "z": 3.0, "threshold": 0.0}
    return {
        f"{name}, options": Call(calls[name].function, calls[name].good | dict(more))
        for name, more in [
            *((n, {k: v.default for k, v in ridge.items() if v.default is not v.empty})
              for n in ("jdp_linucb", "ldp_linucb", "sdp_linucb", "corrected_ridge")),
            ("lplr", layered),
        ]
    }  # fmt: skip


X, THETA = np.full((2, 3, 2), 0.5), np.array([0.5, 0.5])
REGRET = np.arange(1.0, 9.0).reshape(2, 2, 2)
SAMPLES = {"samples": np.arange(1.0, 7.0).reshape(3, 2)}


def others():
    def noisy(x, rng, n):
        return x + rng.laplace(0.0, 1.0, n)

    world, log = environments.sphere(3, 3), (X, [0, 1], [0.5, 1.0])
    rated = {"log": logs.log_of(*log, "uniform"), "level": 0.9}
    noisy_mean = {"epsilon": 1.0, "seed": 1}
    counted = {"mechanism": noisy, "a": 0.0, "b": 1.0, "trials": 40, "seed": 1, "level": 0.9}
    bits = {"p": 0.25, "move": 2.0, "entries": 2, "largest": 2}
    worst = {"regret": REGRET, "seed": 1, "level": 0.9}
    two = {"ours": REGRET, "theirs": REGRET + 1.0, "seed": 1, "level": 0.9}
    pair = {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 3.0], "level": 0.9}
    budget = {"epsilon": 1.0, "delta": 0.05}
    T = {"T": [10.0, 20.0]}
    calls = [
        (environments.sphere, {"K": 3, "d": 3}),
        (environments.replay, {"X": X, "R": X[..., 0], "mu": X[..., 0]}),
        (fliphat.autoregressive, {"K": 2, "beta": THETA}),
        (fliphat.pad, {"signal": THETA, "d": 4}),
        (fliphat.margin, {"beta": THETA, "gap": 0.5, "alpha": 1.0}),
        (lplr.design, {"points": X[0], "theta": THETA, "prob": [0.2, 0.2, 0.2]}),
        (lplr.constant, {"r": 0.5}),
        (lplr.split, {"r": 0.5}),
        (lplr.rare, {"share": 0.5}),
        (lplr.family, {"name": "ball", "d": 2, "n": 10, "K": 3}),
        (lplr.contexts, {"X": X, "theta": THETA, "prob": [0.5, 0.5]}),
        (lplr.hard_bandit, {"d": 2, "r": 0.5}),
        (lplr.spread_bandit, {"d": 2, "T": 10, "seed": 1, "C": 3}),
        (lplr.easy_bandit, {"seed": 1}),
        (glm.paper_world, {"T": 3, "d": 2, "theta_bound": 1.0, "link": "logistic", "K": 2}),
        (glm.fixed_world, {"X": X, "theta": THETA, "link": "probit"}),
        (glm.world, {"kind": "ball", "d": 2, "theta_bound": 1.0}),
        (sco.regression, {"p": 1.5, "theta": THETA}),
        (sco.one_context, {"K": 2, "d": 3, "s": 2}),
        (stats.mean_interval, {"samples": [1.0, 2.0, 4.0]}),
        (stats.band, SAMPLES),
        (stats.difference, pair),
        (stats.ratio, pair),
        (stats.exponent, T | {"x": [1.0, 2.0]} | SAMPLES),
        (stats.proportion, {"hits": 2, "trials": 10}),
        (stats.worst_case, {"regret": REGRET}),
        (stats.worst_case_draws, {"regret": REGRET, "seed": 1, "draws": 3}),
        (stats.worst_case_band, worst),
        (stats.worst_case_exponent, T | worst),
        (stats.worst_case_ratio, two),
        (stats.crossing, T | two),
        (privacy.gaussian_delta, {"epsilon": 1.0, "sigma": 1.0}),
        (privacy.gaussian_epsilon, {"delta": 0.1, "sigma": 1.0}),
        (privacy.gaussian_scale, budget),
        (privacy.gaussian_mu, budget),
        (privacy.zcdp_delta, {"rho": 0.5, "epsilon": 1.0}),
        (privacy.zcdp_epsilon, {"rho": 0.5, "delta": 0.1}),
        (privacy.zcdp_rho, budget),
        (privacy.laplace_scale, {"epsilon": 1.0}),
        (privacy.tree_levels, {"T": 8}),
        (privacy.shuffle_epsilon, {"epsilon0": 1.0, "delta": 0.1, "n": 10_000}),
        (binomial.binomial_delta, {"epsilon": 1.0, "bits": 2000} | bits),
        (binomial.binomial_epsilon, {"delta": 0.05, "bits": 2000} | bits),
        (binomial.binomial_bits, budget | {"users": 100} | bits),
        (audit.epsilon_lower_bound, counted | {"delta": 0.0}),
        (audit.delta_lower_bound, counted | {"epsilon": 0.0}),
        (simulate.simulate, {"env": world, "policies": [linucb(3)], "T": 20, "seeds": [1]}),
        (simulate.repetitions, {"seed": 1, "n_reps": 2}),
        (logs.log_of, dict(zip(("X", "arms", "rewards"), log, strict=True))),
        (logs.replay_value, {"policy": linucb(2), "seed": 1} | rated),
        (logs.inverse_weighted, {"target": [0, 1]} | rated),
        (logs.self_normalised, {"target": [0, 1]} | rated),
        (logs.doubly_robust, {"target": [0, 1], "model": X[..., 0]} | rated),
        (logs.fitted, rated),
        (logs.private_mean, {"values": [0.5], "low": 0.0, "high": 1.0} | noisy_mean),
        (logs.private_value, {"target": [0, 1], "low": 0.0, "high": 1.0, "least": 0.1}
         | noisy_mean | rated),
        (linucb(2).start, {"seed": 1}),
        (streaming_fw(3, 64, epsilon=1.0).start, {"seed": 1}),
        (asked, {"X": X[0]}),
        (played, {"arm": 1, "r": 0.5}),
        (streaming_fw(3, 64, epsilon=1.0).start(0).update, {"x": [0.1, 0.2, 0.3], "y": 0.5}),
    ]  # fmt: skip
    named = {"asked": "Live.select", "played": "Live.update", "update": "Stream.update"}
    out = {}
    for function, good in calls:
        good = {k: v for k, v in good.items() if k in inspect.signature(function).parameters}
        name = f"{function.__module__.split('.', 1)[-1]}.{function.__name__}"
        out[named.get(function.__name__, name)] = Call(function, good)
    return out


def asked(X):
    linucb(2).start(0).select(X)


def played(arm, r):
    live = linucb(2).start(0)
    live.select(X[0])
    live.update(arm, r)


def arguments(call):
    """The names of all arguments of a call, but data of any kind."""
    kinds = {n: p.kind for n, p in inspect.signature(call.function).parameters.items()}
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    names = [n for n, kind in kinds.items() if kind not in several]
    free = DATA if call.function.__module__ == audit.__name__ else ()
    return [n for n in dict.fromkeys([*names, *call.good]) if n not in free]


def tried(call, name, value):
    """("accepted" | "refused" | what else happened) for one argument replaced."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*cannot learn as configured", UserWarning)
            call.function(**(call.good | {name: value}))
    except ValueError as refusal:
        return "refused" if name in str(refusal) else f"ValueError: {refusal}"
    except Exception as other:
        return f"{type(other).__name__}: {str(other)[:150]}"
    return "accepted"
