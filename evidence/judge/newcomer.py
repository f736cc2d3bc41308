"""A policy that need not be of this package among all others of the arena.

The arena's own rules: one true guarantee (epsilon, 1/T), the same streams, constants that
nobody tuned; half of the repetitions choose the leader, the other half judge.
"""

from companion import policies
from companion.contract import one_context
from evidence.arena import contest, recipes
from evidence.judge.load import load, taken


def entered(setting, what, seed: int):
    """The arena's `contest.Setting` with one policy more, by its own constants: judge a
    policy first, here nothing is checked but its guarantee.

    what: as `judge` takes it; seed: that which the setting was played with.  Raises
    ValueError, or what its factory raises, where the policy cannot play.
    """
    subject = load(what)
    name = subject.name
    if name in policies.TABLE:
        raise ValueError(f"what must have a name of its own; {name} plays already")
    world = setting.place
    T = setting.T
    needs = ""
    env = world.env
    if one_context(subject.policy):
        needs = recipes.COMMON
        env = world.common
        if not env:
            raise ValueError(needs)
    told = recipes.known(world, T, setting.epsilon, needs)
    call = recipes.Call(subject.factory, taken(subject.factory, told))
    recipes.need_guarantee(call.policy(), T, setting.epsilon)
    run = contest.played(call, name, env, T, len(setting.random), seed)
    return setting._replace(runs=setting.runs | {name: run})
