"""The baselines as their program ran them, beside the paper's table."""

import numpy as np
import pytest
from scipy import optimize, stats

from companion.baselines.rs_glinucb import rs_glinucb
from companion.private_glm import as_run
from companion.private_glm.environments import paper_world
from companion.private_glm.joint import joint_glm
from companion.simulate import repetitions, simulate


def test_table_2_within_four_standard_errors():
    """`table2` at epsilon = 8, S = 2 of the prototype: 388 (5) in 20 runs; here 10 runs."""
    env = paper_world(5000, 3, 2.0, "probit")
    kw = {"link": "probit", "theta_bound": 2.0, "kappa": env.kappa[0]}
    policies = [joint_glm(3, 5000, epsilon=8.0, preset="table2", **kw), rs_glinucb(3, 5000, **kw)]
    policies.append(as_run.aliased(policies[1]))
    found = simulate(env, policies, 5000, repetitions(3, 10), grid=[2500, 5000])
    regret = found.final.mean(axis=0)
    assert abs(regret[0] - 388) < 4 * np.hypot(5, 5 * np.sqrt(2))
    assert 120 < regret[1] < 450
    late = found.regret[:, 2, 1] - found.regret[:, 2, 0]
    assert late.mean() > 0.3 * found.final[:, 2].mean()  # still linear in the second half


@pytest.mark.parametrize("how", [lambda policy: policy, as_run.aliased], ids=["mended", "as run"])
def test_both_fit_the_warm_up_rounds_and_one_fits_all_rows_again(how):
    """theta_warm is SciPy's fit of the warm-up rounds; as run theta_hat is fitted once."""
    env = paper_world(5000, 3, 2.5, "probit")
    policy = how(rs_glinucb(3, 600, link="probit", theta_bound=2.5, kappa=env.kappa[0]))
    X, R, _ = next(env.blocks(5000, np.random.default_rng(1)))
    state, arms, thetas = policy.init(policy.params), np.empty(300, np.int64), []
    for part in (slice(0, 300), slice(300, 600)):
        rng = np.random.default_rng(0)
        state = policy.play(policy.params, state, X[part], R[part], rng, arms)
        thetas.append(state.theta_hat.copy())
    assert np.array_equal(*thetas) == (policy.name == "RS-GLinUCB, as run")
    assert 10 < state.n_warm < 100
    x, sign = state.X_warm[: state.n_warm], 2.0 * state.y_warm[: state.n_warm] - 1.0

    def loss(theta):
        return 0.25 * theta @ theta - stats.norm.logcdf(sign * (x @ theta)).sum()

    wanted = optimize.minimize(loss, np.zeros(3)).x
    assert np.linalg.norm(wanted) > 0.5
    np.testing.assert_allclose(state.theta_warm, wanted, atol=1e-3)
    assert state.warm.tolist() == [0, 0]
