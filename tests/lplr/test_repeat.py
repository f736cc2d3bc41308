"""LPLR: repeated runs in parts."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from companion.lplr import (
    design,
    eliminate_with,
    estimate_lplr,
    estimate_ssp,
    hard_bandit,
    ldp_linucb_regret,
    lplr_params,
)
from companion.simulate import repetitions


def hard_design():
    """Two lengths, one dimension."""
    return design([[0.9], [0.1]], [0.5])


def test_repeated_runs_do_not_depend_on_the_executor_or_on_company():
    seeds = repetitions(3, 5)
    for run in (
        lambda s, e: estimate_lplr(hard_design(), lplr_params(1, 1000, 50.0), 1000, s, e).mad,
        lambda s, e: estimate_ssp(hard_design(), 1000, s, e)[0],
        lambda s, e: eliminate_with("lplr", hard_bandit(1, 0.8), 2000, s, e, epsilon=50.0).regret,
        lambda s, e: ldp_linucb_regret(hard_bandit(1, 0.8), 2000, s, e),
    ):
        together = run(seeds, None)
        with ThreadPoolExecutor(1) as one:
            assert np.array_equal(together, run(seeds, one))
        assert np.array_equal(together[3:4], run(seeds[3:4], None))
        assert len(set(together)) > 1
        assert np.array_equal(run([0, 1], None), run([0, 1], None))
