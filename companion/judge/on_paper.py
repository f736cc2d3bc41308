"""Points of the contract that can be seen without a long run: parts, guarantee, refusals.

A point is a function of `make`, which maps a number of arms to an instance.
"""

import inspect
import pickle

import numpy as np

from companion import core
from companion.audits.faults import uncompiled
from companion.judge import streams
from companion.judge.streams import same_state
from companion.judge.subject import GUESSES

MODELS = {"none", "local", "shuffle", "joint", "central"}
ARGUMENTS = {"select": 4, "update": 6, "play": 6}


class Broken(Exception):
    """A point of the contract does not hold; the text says what was found."""


class Untested(Exception):
    """A point that this policy gives no hold for; the text says why."""


def need(holds: bool, said) -> None:
    """Raise `Broken` with this text unless it holds."""
    if not holds:
        raise Broken(said)


def complete(make) -> None:
    """All parts are there, with the arguments of the protocol, for 400 rounds at least."""
    policy = make(4)
    need(isinstance(policy, core.Policy), f"it is {type(policy).__name__}, not a Policy")
    for name, wanted in ARGUMENTS.items():
        if name == "play" and policy.play is None:  # the plain loop
            continue
        taken = list(inspect.signature(uncompiled(getattr(policy, name))).parameters)
        need(len(taken) == wanted, f"{name} takes {taken}, {wanted} arguments are handed over")
    T = core.horizon(policy)
    need(T is None or T >= streams.ROUNDS, f"the example is built for T = {T} rounds")


def fresh(make) -> None:
    """A fresh state has no entry that nobody wrote."""
    policy = make(4)
    for _ in range(3):  # memory is handed out again with what was left in it
        streams.spoil(policy.init(policy.params))
    for part in streams.flat(policy.init(policy.params)):
        need(not np.isin(part, streams.SPOILED).any(), "init hands out memory as it was left")


def guarantee(make) -> None:
    """The guarantee is complete."""
    g = make(4).guarantee
    need(g.model in MODELS, f"its model is {g.model!r}, not one of {sorted(MODELS)}")
    need(g.neighbours and g.unit, "it does not say what neighbours are, or whose data it protects")
    need(g.epsilon > 0 and 0 <= g.delta <= 1, f"epsilon = {g.epsilon}, delta = {g.delta}")
    free = (g.epsilon, g.delta) == (np.inf, 1.0)
    need(free or g.model != "none", "a policy without privacy has the guarantee NO_PRIVACY")
    need(g.claimed is None or len(g.claimed) == 2, "claimed must be (epsilon, delta) or None")


def pickles(make) -> None:
    """It travels to other processes."""
    policy = make(4)
    again = pickle.loads(pickle.dumps(policy))
    same = again._replace(params=None) == policy._replace(params=None)
    need(same and again.play is policy.play, "another policy comes out of pickle")
    need(same_state(policy.params, again.params), "other parameters come out of pickle")


def refusals(make, factory=None) -> None:
    """The factory refuses budgets that make no sense, by name."""
    taken = inspect.signature(factory).parameters if factory else {}
    budgets = {"epsilon": (-1.0, 0.0, np.nan), "delta": (-1.0, 2.0, np.nan)}
    wrong = [(n, v) for n, values in budgets.items() if n in taken for v in values]
    if not wrong:
        raise Untested("its factory takes no budget" if factory else "there is no factory")
    good = {n: v for n, v in GUESSES.items() if n in taken}
    try:
        factory(**good)
    except (TypeError, ValueError) as error:
        raise Untested(f"its factory wants more than the judge knows: {error}") from None
    for name, value in wrong:
        try:
            factory(**good | {name: value})
        except ValueError as refusal:
            need(name in str(refusal), f"the refusal of {name}={value} does not name it: {refusal}")
        else:
            raise Broken(f"{name}={value} is accepted")
