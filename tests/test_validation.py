"""Whatever a reader passes to a public function is accepted or refused by name, in one
voice."""

import inspect
import warnings

import numpy as np
import pytest
import runs
import streams

from companion import environments, optimisers, policies, simulate, stats
from companion.accounting import binomial, privacy
from companion.core import Optimiser
from companion.private_glm.environments import world
from companion.validate import (
    need_array,
    need_choice,
    need_float,
    need_indices,
    need_int,
    need_members,
    need_probability,
)

NEVER = {  # what no argument of anything may be
    "NaN": np.nan,
    "complex": 1 + 2j,
    "masked array": np.ma.masked_array([1.0, 2.0], [True, False]),
    "timedelta64": np.timedelta64(3),
    "an object": object(),
    "ragged": [[1.0, 2.0], [3.0]],
}
DOUBTFUL = {  # what some arguments may be
    "infinity": np.inf,
    "-1": -1,
    "0": 0,
    "smallest": 5e-324,
    "1e200": 1e200,
    "huge": 10**400,
    "half": 0.5,
    "short": np.float16(3),
    "True": True,
    "a word": "abc",
    "None": None,
    "empty": [],
    "array of NaN": np.array([[np.nan, 0.0, 0.0]]),
}
GOOD = {
    "d": 3,
    "K": 4,
    "T": 400,
    "n": 64,
    "epsilon": 1.0,
    "delta": 0.05,
    "sparsity": 2,
    "b_max": 2.0,
    "t0": 2,
}
SIZES = {"d", "K", "T", "n"}  # of memory: large ones are allowed, and not played here


def factories():
    """{name: (factory, keywords with which it works)}."""
    found = {}
    for table in (policies, optimisers):
        for name in table.TABLE:
            make = table.factory(name)
            needed = {k: v.default for k, v in inspect.signature(make).parameters.items()}
            good = {
                k: GOOD[k] for k, v in needed.items() if k in GOOD and v is inspect._empty
            }
            found[name] = make, good
    found["sco_bandit"][1]["t0"] = 2
    bases = [policies.example("online_linucb"), policies.example("anytime_linucb")]
    found["combiner"] = found["combiner"][0], {"bases": bases, "T": 400}
    return found


X = np.full((2, 3, 2), 0.5)
REGRET = np.arange(1.0, 9.0).reshape(2, 2, 2)
BITS = {"p": 0.25, "move": 2.0, "entries": 2, "largest": 2}
OTHERS = {
    "sphere": (environments.sphere, {"K": 3, "d": 3}),
    "world": (world, {"kind": "spiked", "d": 3, "theta_bound": 1.0}),
    "replay": (environments.replay, {"X": X, "R": X[..., 0], "mu": X[..., 0]}),
    "mean_interval": (stats.mean_interval, {"samples": [1.0, 2.0, 4.0]}),
    "ratio": (stats.ratio, {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 3.0], "level": 0.9}),
    "exponent": (stats.exponent, {"x": [1.0, 2.0], "samples": REGRET[0]}),
    "proportion": (stats.proportion, {"hits": 2, "trials": 10}),
    "worst_case_exponent": (
        stats.worst_case_exponent,
        {"T": [10.0, 20.0], "regret": REGRET, "seed": 1},
    ),
    "gaussian_scale": (privacy.gaussian_scale, {"epsilon": 1.0, "delta": 0.05}),
    "zcdp_epsilon": (privacy.zcdp_epsilon, {"rho": 0.5, "delta": 0.1}),
    "laplace_scale": (privacy.laplace_scale, {"epsilon": 1.0}),
    "shuffle_epsilon": (
        privacy.shuffle_epsilon,
        {"epsilon0": 1.0, "delta": 0.1, "n": 10_000},
    ),
    "binomial_epsilon": (binomial.binomial_epsilon, {"delta": 0.05, "bits": 2000} | BITS),
    "binomial_bits": (
        binomial.binomial_bits,
        {"epsilon": 1.0, "delta": 0.05, "users": 100} | BITS,
    ),
    "repetitions": (simulate.repetitions, {"seed": 1, "n_reps": 2}),
    "start": (policies.example("linucb").start, {"seed": 1}),
}
CALLS = factories() | OTHERS
OUT = {  # of the range of every function that takes it
    "d": [0],
    "K": [0],
    "T": [0],
    "n": [0],
    "epsilon": [0.0],
    "delta": [0.0, 1.0],
}
STATISTICS = {
    "d": [10**6],
    "ridge": [0.0, 5e-324],
    "shift": [-1.0],
    "noise": [-1.0],
    "failure": [0.0],
    "width": [-1.0],
}
BOUNDS = {"theta_bound": [-1.0, 1e-300], "failure": [1.0]}
GLM = BOUNDS | {"kappa": [1.0], "link": ["linear"]}
SQUARES = {
    "n": [1],
    "epsilon": [5e-324],
    "delta": [1e-300],
    "radius": [-1.0, 1e60],
    "label_bound": [0.0],
    "step_scale": [0.0],
}
REFUSED = {  # beside OUT
    "linucb": {"ridge": [5e-324], "d": [10**6]},
    "online_linucb": {"d": [10**6], "ball": [1e78]},
    "fliphat": {
        "T": [10**15],
        "d": [10**10],
        "epsilon": [5e-324],
        "eta": [1e-60],
        "b_max": [1e308],
        "clip_contexts": [False],
    },
    "ldp_linucb": STATISTICS,
    "jdp_linucb": STATISTICS,
    "sdp_linucb": STATISTICS | {"batch": [0, 10**18], "epsilon": [np.inf]},
    "glm_ucb": GLM | {"T": [10**9, 2**62]},
    "gloc": GLM | {"d": [10**6]},
    "rs_glinucb": GLM | {"T": [10**9]},
    "ecolog": BOUNDS,
    "forced_lasso": {
        "forced": [0, 2**30, 2**61],
        "K": [2**31],
        "gap": [0.0],
        "tolerance": [1e-15],
        "penalty_forced": [0.0],
        "penalty_all": [-1.0],
        "d": [10**6],
    },
    "lasso_bandit": {"penalty": [0.0], "every": [0], "T": [10**9]},
    "local_md": SQUARES | {"p": [1.0]},
    "noisy_sfw": SQUARES | {"p": [2.5], "step_scale": [10.0]},
    "noisy_sgd": SQUARES | {"p": [1.5], "lipschitz": [0.0]},
    "joint_glm": {
        "theta_bound": [0.0],
        "kappa": [1.0],
        "link": ["linear"],
        "width": [-1.0],
        "T": [10**9],
    },
    "shuffle_glm": {
        "T": [1, 10**15],
        "theta_bound": [np.inf],
        "kappa": [2.0],
        "kappa_star": [99.0],
        "M": [1],
        "first": [399],
        "gamma": [0.0],
        "steps": [0],
        "penalty": [0.0],
        "tolerance": [1.0],
        "share": [0.0, 1e-100],
    },
    "sphere": {
        "K": [1, 2.5],
        "d": [1],
        "noise": [-1.0],
        "shrink": [0.0, 1.5],
        "fresh": [1],
        "offset": [False],
    },
    "replay": {"X": [X[0]], "R": [X[..., :1]], "mu": [X[:1, :, 0]]},
    "binomial_epsilon": {
        "bits": [0],
        "p": [1.0],
        "move": [0.0],
        "entries": [0],
        "largest": [0],
    },
    "gaussian_scale": {"sensitivity": [0.0, np.inf]},
    "start": {"seed": ["abc", -1, 1.5, True, [1]]},
    "mean_interval": {"samples": [[1.0]], "level": [0.0, 1.0]},
    "exponent": {
        "x": [[0.0, 1.0]],
        "samples": [[[1.0, 2.0]], [[1.0, -2.0]] * 2, np.ones((2, 3))],
    },
    "proportion": {"hits": [11, -1], "trials": [0]},
    "world": {"d": [41], "theta_bound": [0.0], "link": ["linear"]},
}


def outcome(function, good, name, value):
    """ "accepted", "refused" by name, or what else happened, for one argument
    replaced."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*cannot learn as configured", UserWarning)
        try:
            made = function(**(good | {name: value}))
            if name not in SIZES and hasattr(made, "params"):
                warnings.simplefilter("ignore")  # clipped records are told
                start_and_play(made)
        except ValueError as refusal:
            return "refused" if name in str(refusal) else f"ValueError: {refusal}"
        except Exception as other:
            return f"{type(other).__name__}: {str(other)[:150]}"
    return "accepted"


def start_and_play(made):
    """Three rounds of a policy that was accepted; its State holds no new NaN."""
    if isinstance(made, Optimiser):
        if made.step is None:
            return
        live = made.start(0)
        for _ in range(3):
            live.update(np.full(made.params.d, 0.2), 0.5)
    else:
        Xs, R = streams.stream_for(made, 3)
        live = made.start(0)
        for t in range(len(Xs)):
            arm = live.select(Xs[t])
            live.update(arm, R[t, arm])
    assert not any(np.isnan(a).any() for a in streams.flat(live.state)), (
        "NaN in the State"
    )


@pytest.mark.parametrize("name", CALLS)
def test_every_bad_argument_is_refused_by_name(name):
    function, good = CALLS[name]
    function(**good)  # what the others are compared with
    taken = inspect.signature(function).parameters
    assert not [n for n, p in taken.items() if p.kind is p.VAR_KEYWORD], (
        "no options are hidden"
    )
    wrong = []
    for argument in [n for n, p in taken.items() if p.kind is not p.VAR_POSITIONAL]:
        for label, value in (NEVER | DOUBTFUL).items():
            found = outcome(function, good, argument, value)
            bad = found not in ("accepted", "refused")
            if bad or (label in NEVER and found == "accepted"):
                wrong.append(f"{argument}={label}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_out_of_range_is_refused_by_name(name):
    function, good = CALLS[name]
    known = {n: v for n, v in OUT.items() if n in good}
    for table in (known, REFUSED.get(name, {})):
        for argument, values in table.items():
            for value in values:
                found = outcome(function, good, argument, value)
                assert found == "refused", f"{argument}={value!r}: {found}"


def test_what_is_swapped_or_missing_is_refused():
    """(1, 4000) as (epsilon, delta) was once accepted as T = 1, epsilon = 4000."""
    for wrong in ((3, 1.0, 4000), (3, 400)):
        with pytest.raises(TypeError, match=r"^jdp_linucb\(\)"):
            policies.jdp_linucb(*wrong)


@pytest.mark.parametrize("door", ["arena", "claims"])
def test_a_door_without_its_extra_says_what_to_install(door):
    program = f"import sys; sys.modules['jinja2'] = None; import evidence.{door}"
    said = runs.python(program).stderr
    assert "jinja2 is missing: pip install 'private-bandits[notebooks]'" in said


def test_helpers_say_name_value_and_range():
    for call, words in (
        (
            lambda: need_float("x", 1.0, 0.0, 1.0, open_high=True),
            r"\[0.0, 1.0\); got x=1",
        ),
        (lambda: need_float("x", -1.0, 0.0), r"\[0.0, inf\);"),
        (lambda: need_float("x", -1.0, 0.0, allow_inf=True), r"\[0.0, inf\];"),
        (lambda: need_int("n", 3.5, 1, 10), r"an integer in \[1, 10\]; got n=3.5"),
        (lambda: need_choice("kind", 1, (True, False)), "must be one of True, False"),
        (lambda: need_array("A", np.ones((2, 3)), ("n", 2)), r"must have shape \(n, 2\)"),
        (lambda: need_array("A", [[1.0, np.inf]], ("n", 2)), r"got 1 .* inf at \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert (need_int("n", 3.0, 1), need_float("x", np.inf, allow_inf=True)) == (3, np.inf)
    assert need_array("A", np.ones((3, 4)).T, ("n", "d")).flags.c_contiguous


@pytest.mark.parametrize(
    ("call", "fits", "beyond"),
    [
        (lambda v: need_float("x", v), 1e100, 1.1e100),
        (lambda v: need_float("x", v), -1e100, -1.1e100),
        (lambda v: need_float("x", v, -1.0, open_low=True), 0.0, -1.0),
        (lambda v: need_float("x", v, 0.0, open_low=True), 1e-100, 0.9e-100),
        (lambda v: need_float("x", v, 0.0), 0.0, -1e-300),
        (lambda v: need_float("x", v), 1.0, np.timedelta64(1, "s")),
        (lambda v: need_int("x", v, 0), 1 << 62, (1 << 62) + 1),
        (lambda v: need_int("x", v, 1, 10), 1, 0),
        (lambda v: need_int("x", v, 1, 10), 10, 11),
        (lambda v: need_probability("x", v), 0.999, 1.0),
        (lambda v: need_probability("x", v), 0.001, 0.0),
        (lambda v: need_indices("x", v, (2,), 3), [0, 2], [0, 3]),
        (lambda v: need_indices("x", v, (2,), 3), [2, 0], [-1, 2]),
        (lambda v: need_indices("x", v, (2,), 3), [0, 1], [0.0, 1.0]),
        (lambda v: need_members("x", v), ["ab"], "ab"),
        (lambda v: need_members("x", v), [b"ab"], b"ab"),
        (lambda v: need_array("x", v, ("n",)), [1.0], []),
    ],
)
def test_a_value_at_the_end_of_what_is_allowed_passes_and_one_beyond_does_not(
    call,
    fits,
    beyond,
):
    call(fits)
    with pytest.raises(ValueError, match="x must"):
        call(beyond)
