"""The rows of Tables 2 to 4, the best of a grid, and what each repair gains."""

import numpy as np
import pytest

from companion.simulate import repetitions
from companion.streaming_sco import first, methods, regression, streaming_fw
from companion.streaming_sco.excess import excess_risk


def test_rows_of_the_tables_are_what_they_say():
    grids = {"Algorithm 1, p=1.5": [0.4, 1.0], "NoisySFW": [0.1]}
    made = {
        r: methods.candidates("Algorithm 1", r, 5, 100, 1.5, grids, {})[1.0].params
        for r in methods.ROWS[1:]
    }
    sigma = {r: p.sigma for r, p in made.items()}
    assert sigma["as printed"] > sigma["corrected"] > sigma["square root"] > sigma["clipped at 3"]
    assert sigma["no privacy"] == 0.0
    assert made["clipped at 3"].clip == 3.0
    assert made["square root"].clip == made["corrected"].clip == pytest.approx(6.4 * 5 ** (1 / 6))
    assert methods.scales("NoisySFW", "as run", 1.5, grids) == [0.1]
    assert methods.scales("NoisySFW", "corrected", 1.5, grids) == [0.1, 0.15, 0.2, 1.0]
    weak = methods.candidates("NoisySGD", "as run", 5, 100, np.inf, {}, {})[1.0].params
    fair = methods.candidates("NoisySGD", "as printed", 5, 100, np.inf, {}, {})[1.0].params
    assert (weak.radius, fair.radius) == (1.0, 2.0)
    assert weak.sigma / fair.sigma == pytest.approx(4.0 / 6.4)


def test_the_best_scale_and_who_wins():
    found = {
        ("A", r, (9, 1)): {0.5: np.array([1.0, 3.0, 2.0]), 1.0: np.array([1.0, 1.5, 1.2])}
        for r in methods.ROWS
    } | {
        ("B", r, (9, 1)): {1.0: np.array([4.0, 4.2])} for r in methods.ROWS if r not in methods.OURS
    }
    assert methods.best(found["A", "as run", (9, 1)])[0] == 1.0
    gap = methods.gaps(found, "A", "B", [(9, 1)], 0.95, factor=2.0)["square root"][0]
    assert gap.value == pytest.approx(1.25 - 8.2)
    rows = methods.shown(found, [(9, 1)])
    assert rows[0]["T = 9, d = 1"] == "1.2 ± 0.3 (×1)"
    assert len(rows) == 2 * len(methods.ROWS) - len(methods.OURS)


def test_the_waterfall_of_the_specification():
    """d = 5, n = 2000, epsilon = 1: seven variants within three combined standard errors."""
    common = {"p": 1.5, "radius": 2.0, "label_bound": 1.2}
    steps = [
        ({"calibration": "paper"}, 1.02), ({"calibration": "zcdp"}, 0.65), ({"clip": np.inf}, 0.62),
        ({}, 0.31), ({"factorisation": "sqrt"}, 0.106),
        ({"factorisation": "sqrt", "clip": 3.0}, 0.045), ({"epsilon": np.inf}, 0.0060),
    ]  # fmt: skip
    made = [
        streaming_fw(5, 2000, **({"epsilon": 1.0} | common | options)).renamed(str(i))
        for i, (options, _) in enumerate(steps)
    ]
    runs = excess_risk(regression(1.5, first(5, 1.5, 5)), made, 2000, repetitions(2, 20)).final
    for samples, (options, expected) in zip(runs.T, steps, strict=True):
        error = samples.std(ddof=1) * np.sqrt(1 / 20 + 1 / 10)  # theirs are means of ten
        assert abs(samples.mean() - expected) < 3 * error, options
