"""Algorithm 1: what it refuses, and that it learns."""

from itertools import pairwise

import numpy as np
import pytest
from streams import learn

from companion.accounting import privacy as pr
from companion.streaming_sco import first, regression, streaming_fw, vertex_fw

BAD = {
    "d": 0, "n": 0, "epsilon": 0.0, "delta": 1.0, "p": 0.5, "radius": 0.0, "label_bound": -1.0,
    "loss": "hinge", "calibration": "exact", "factorisation": "dft", "clip": 0.0, "step_scale": 1.1,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    options = {"d": 3, "n": 50, "epsilon": 1.0, "delta": 1e-2, "p": 1.5} | {name: BAD[name]}
    with pytest.raises(ValueError, match=f"{name}.* must be .*got"):
        streaming_fw(**options)
    options = {k: v for k, v in options.items() if k not in ("p", "factorisation")}
    if name in options:
        with pytest.raises(ValueError, match=f"{name}.* must be .*got"):
            vertex_fw(**options)


def test_combinations_that_mean_nothing_are_refused():
    printed = "must go with one of .'tree', 'argmin'. and clip=None"
    with pytest.raises(ValueError, match=f"{printed}; got 'tree', clip=3.0"):
        streaming_fw(3, 50, epsilon=1.0, calibration="paper", clip=3.0)
    with pytest.raises(ValueError, match=f"{printed}; got 'sqrt'"):
        streaming_fw(3, 50, epsilon=1.0, calibration="paper", factorisation="sqrt")
    with pytest.raises(ValueError, match="needs calibration='corrected'"):
        streaming_fw(3, 50, epsilon=1.0, calibration="zcdp", factorisation="sqrt")
    with pytest.raises(ValueError, match=f"{printed}; got 'gumbel'"):
        vertex_fw(3, 50, epsilon=1.0, calibration="paper")
    with pytest.raises(ValueError, match="n must be at least 2"):
        vertex_fw(3, 1, epsilon=1.0, delta=1e-2, calibration="paper", selector="argmin")
    assert streaming_fw(3, 50, epsilon=np.inf).guarantee == pr.NO_PRIVACY


def test_more_records_help():
    world = regression(1.5, first(5, 1.5, 5))
    o = streaming_fw(
        5, 2000, epsilon=4.0, delta=1e-3, p=1.5, radius=2.0, label_bound=1.2, factorisation="sqrt"
    )
    X, Y = world.records(2000, np.random.default_rng(1))
    out, _ = learn(o, X, Y, seed=0)
    risk = world.excess(out[[200, 600, 1999]])
    assert all(later < 0.7 * early for early, later in pairwise(risk))
    assert risk[-1] < 0.1
