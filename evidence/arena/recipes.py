"""Recipes of the arena: what each factory is told in a world, and where it does not play.

An argument that has the name of something known (`known`) is told it; a recipe holds what
is left. A policy without a recipe is refused everywhere, and the page says so.  All are
built for one true guarantee: calibration "corrected" at (epsilon, delta = 1/T).  Each
policy has at most one number that is tuned; everything else is its default, or follows
from the world.
"""

import inspect
import math
from typing import Any, NamedTuple

from companion import policies
from companion.fliphat.fliphat import rows_in_release

MULTIPLES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of a default, the same for every policy
NO_RECIPE = "has no recipe: write one in evidence/arena/recipes.py to let it play"
# why what is made for one kind of world plays no other
CLICKS = "its rewards are clicks with a logistic mean"
COMMON = "takes one context per round and learns a parameter for each arm"


class Text(NamedTuple):
    """An argument with the text that a reader would write for it."""

    value: Any
    text: str


class Call(NamedTuple):
    """A factory, or the name of one of the package's, with its arguments; as text, what a
    reader would write."""

    factory: Any
    arguments: dict

    def policy(self):
        """The policy that the call makes."""
        plain = {
            k: v.value if isinstance(v, Text) else v for k, v in self.arguments.items()
        }
        make = self.factory if callable(self.factory) else policies.factory(self.factory)
        return make(**plain)

    def __str__(self):
        told = []
        for name, value in self.arguments.items():
            text = f"{value:.4g}" if isinstance(value, float) else repr(value)
            told.append(f"{name}={value.text if isinstance(value, Text) else text}")
        name = getattr(self.factory, "__name__", self.factory)
        inside = ",\n    ".join(told)
        return f"{name}(\n    {inside},\n)" if told else f"{name}()"


def _nothing(*_):
    return {}


class Recipe(NamedTuple):
    """How a policy takes part.

    A multiple of the number `tuned` is passed unless it is 1; its unit is the factory's
    default, or what `given` says.
    """

    tuned: str = ""  # an argument, or in words what is tuned; nothing if empty
    # (world, T, epsilon, multiple) -> arguments not known by name
    given: Any = _nothing
    only: str = ""  # the kind of world it is made for: CLICKS or COMMON
    longest: int = 10**9  # rounds up to which the page's budget of time lets it play
    widest: int = 10**9  # largest dimension, but for games of `short` rounds
    short: int = 0


def _online(w, T, e, m):
    told = {}
    if w.d > DENSE:
        told["learner"] = "ogd"
    if m != 1.0:
        make = policies.factory("online_linucb")
        own = make(w.d, T, epsilon=e, delta=1.0 / T, universe=w.universe)
        told["width"] = m * own.params.width
    return told


def _anytime(w, T, e, m):
    if m == 1.0:
        return {}

    def wide(sigma, T):
        return 10.0 * m * sigma * math.sqrt(math.log(T))

    text = f"lambda sigma, T: {10 * m:g} * sigma * math.sqrt(math.log(T))"
    return {"width": Text(wide, text)}


def _fliphat(w, T, e, m):
    """With the default rate, or the least at which the last release takes a step."""
    make = policies.factory("fliphat")
    last = rows_in_release(T)[-1]
    least = 1.0 / math.log1p(last * w.l1_bound**2)
    told = {"x_max": m * w.largest}
    if least > inspect.signature(make).parameters["iteration_rate"].default:
        told["iteration_rate"] = math.ceil(1e4 * least) / 1e4
    return told


def _combiner(w, T, e, m):
    """Two learners by gradient descent: each would be slow with 19 experts."""
    calls = []
    for multiple in (m, 0.1 * m):
        base = call("online_linucb", w, T, e, multiple)
        base.arguments["learner"] = "ogd"
        calls.append(base)
    text = f"[{', '.join(map(str, calls))}]"
    return {"bases": Text([c.policy() for c in calls], text)}


DENSE = 20  # largest dimension for what inverts or multiplies matrices in every round
_RIDGE = Recipe("width", widest=DENSE)
_BINS = Recipe("z", lambda w, T, e, m: {"z": 3.0 * m}, widest=2, longest=5_000)

RECIPES = {
    "random": Recipe(),
    "linucb": _RIDGE._replace(short=5_000),
    "ldp_linucb": _RIDGE,
    "jdp_linucb": _RIDGE,
    "corrected_ridge": _RIDGE,
    "sdp_linucb": _RIDGE._replace(
        given=lambda w, T, *_: {"batch": round(math.sqrt(T))},
        short=5_000,
        widest=50,  # it inverts once a batch
    ),
    "online_linucb": Recipe(
        "width",
        _online,
        longest=50_000,
        widest=DENSE,
        short=5_000,
    ),
    "anytime_linucb": Recipe("width", _anytime, widest=DENSE, longest=5_000),
    "combiner": Recipe(
        "widths of the two base learners",
        _combiner,
        widest=DENSE,
        longest=5_000,
    ),
    "lplr": _BINS,
    "suffstats": _BINS,
    "fliphat": Recipe("x_max", _fliphat, longest=50_000),
    "residual_fliphat": Recipe("residual_clip", longest=50_000),
    "lasso_bandit": Recipe("penalty", lambda *_: {"every": 50}, longest=5_000),
    "forced_lasso": Recipe("gap", only=COMMON),
    "sco_bandit": Recipe(
        "gap",
        lambda w, T, *_: {"clip": 1.0, "t0": T // (20 * w.K)},
        COMMON,
    ),
    "ecolog": Recipe(only=CLICKS, longest=50_000),
    "gloc": Recipe(only=CLICKS),
    "glm_ucb": Recipe(only=CLICKS, longest=5_000),
    "rs_glinucb": Recipe(only=CLICKS, longest=50_000),
    "joint_glm": Recipe(
        "width",
        lambda w, T, e, m: {"width": 0.5 * m},
        CLICKS,
        longest=50_000,
    ),
    "shuffle_glm": Recipe(
        "gamma",
        lambda w, T, e, m: {"gamma": m * max(1.0, e**-0.5)},
        CLICKS,
        longest=50_000,
    ),
}


def known(world, T: int, epsilon: float, only: str = ""):
    """What a factory may be told by the name of its argument."""
    told = {
        "d": world.p if only == COMMON else world.d,
        "K": world.K,
        "T": T,
        "epsilon": epsilon,
        "delta": Text(1.0 / T, f"1/{T}"),
        "universe": world.universe,
        "noise": world.noise,
        "theta_bound": world.theta_bound,
        "ball": world.theta_bound,
        "b_max": world.l1_bound,
        "l1_radius": world.l1_bound,
        "sparsity": world.sparsity or world.d,
    }
    if world.link != "linear":
        told["link"] = world.link
    return told


def refused(name: str, world, T: int) -> str:
    """Why a policy does not play T rounds of a world; an empty text if it does."""
    if name not in RECIPES:
        return NO_RECIPE
    r = RECIPES[name]
    fits = {"": True, CLICKS: world.link == "logistic", COMMON: world.common}
    if not fits[r.only]:
        return r.only
    if world.d > r.widest and r.short < T:
        beyond = f" beyond T = {r.short:,}" if r.short else ""
        return f"too slow here with d = {world.d}{beyond}"
    if r.longest < T:
        return f"too slow here beyond T = {r.longest:,}"
    return ""


def call(name: str, world, T: int, epsilon: float, multiple: float = 1.0) -> Call:
    """The `Call` of a policy for T rounds of a world, with a multiple of its one
    number."""
    r = RECIPES[name]
    takes = inspect.signature(policies.factory(name)).parameters
    told = {k: v for k, v in known(world, T, epsilon, r.only).items() if k in takes}
    given = r.given(world, T, epsilon, multiple)
    if r.tuned in takes and r.tuned not in given and multiple != 1.0:
        told[r.tuned] = multiple * takes[r.tuned].default
    return Call(name, told | given)


def stream(world, name: str):
    """The environment that a policy plays in a world: one context, or one for each
    arm."""
    return world.common if RECIPES[name].only == COMMON else world.env


def lineup(world, T: int, epsilon: float) -> tuple[list[Call], dict[str, str]]:
    """(calls, {name: why it does not play}) of every policy of the package in a world.

    Raises ValueError if a private policy would give another guarantee than (epsilon, 1/T)
    or less.
    """
    calls = []
    why = {}
    for name in policies.TABLE:
        reason = refused(name, world, T)
        if reason:
            why[name] = reason
        else:
            calls.append(call(name, world, T, epsilon))
            need_guarantee(calls[-1].policy(), T, epsilon)
    return calls, why


def need_guarantee(policy, T: int, epsilon: float) -> None:
    """ValueError unless the policy keeps nothing private, or is truly (epsilon,
    1/T)-private."""
    g = policy.guarantee
    if g.model != "none" and not (
        g.epsilon <= epsilon * (1 + 1e-9) and g.delta <= 1.0 / T
    ):
        raise ValueError(
            f"policy must be ({epsilon:g}, 1/T)-private; {policy.name} is {g}"
        )
