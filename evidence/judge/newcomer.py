"""A policy that need not be of this package among all others of the arena.

The arena's own rules: one true guarantee (epsilon, 1/T), the same streams, constants that
nobody tuned; half of the repetitions choose the leader, the other half judge.
"""

import inspect

from companion import policies
from companion.contract import one_context
from evidence.arena import contest, recipes
from evidence.judge.load import load


def played(subject, world, T: int, epsilon: float, n_reps: int, seed: int):
    """The `contest.Run` of the newcomer with its own constants; raises ValueError, or
    what its factory raises, where it cannot play."""
    if subject.name in policies.TABLE:
        raise ValueError(
            f"what must have a name of its own; {subject.name} plays already"
        )
    needs = ""
    env = world.env
    if one_context(subject.policy):
        needs = recipes.COMMON
        env = world.common
        if not env:
            raise ValueError(needs)
    told = recipes.known(world, T, epsilon, needs)
    takes = inspect.signature(subject.factory).parameters
    told = {name: value for name, value in told.items() if name in takes}
    call = recipes.Call(subject.factory, told)
    recipes.need_guarantee(call.policy(), T, epsilon)
    return contest.played(call, subject.name, env, T, n_reps, seed)


def entered(setting, what, seed: int):
    """The arena's `contest.Setting` with one policy more: judge a policy first, here
    nothing is checked but its guarantee.

    what: as `judge` takes it; seed: that which the setting was played with.  Raises
    ValueError, or what its factory raises, where the policy cannot play.
    """
    subject = load(what)
    n_reps = len(setting.random)
    run = played(subject, setting.place, setting.T, setting.epsilon, n_reps, seed)
    return setting._replace(runs=setting.runs | {subject.name: run})
