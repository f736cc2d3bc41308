"""The same policies in several worlds, on the same rows.

Worlds of one dimension and correlation differ in their arms and rewards; what is left of a stored
row once its two scores are known has one law in all of them (`two_scores`), and is drawn once.
"""

from companion.fliphat.shortcuts import lazily, need_sparse_run
from companion.fliphat.two_scores import scored
from companion.simulate import Result, as_result, over
from companion.validate import need_members


def simulate_worlds(
    worlds,
    policies,
    T: int,
    seeds,
    executor=None,
    *,
    grid=None,
) -> dict[str, Result]:
    """{name: `simulate_sparse` by the path "lazy" in this world}, for worlds {name: environment}.

    What is drawn for a policy is the same in every world, so that worlds are compared in pairs.
    T, seeds, executor and grid as in `simulate`.  Raises ValueError as `simulate_sparse`, and if
    the worlds have not one correlation of neighbouring coordinates.
    """
    envs = [worlds[name] for name in need_members("worlds", worlds)]
    for env in envs:
        policies, T, seeds, rounds = need_sparse_run(env, policies, T, seeds, grid)
    correlations = {scored(env).phi for env in envs}
    if len(correlations) > 1:
        raise ValueError(f"worlds must have one correlation; got {sorted(correlations)}")
    places, lineup = [env for env in envs for _ in policies], list(policies) * len(envs)
    found = over(lazily, [(places, lineup, rounds, seed) for seed in seeds], executor)
    count, results = len(policies), {}
    for i, name in enumerate(worlds):
        part = slice(i * count, (i + 1) * count)
        results[name] = as_result(policies, rounds, [(y[part], t[part]) for y, t in found])
    return results
