"""Pictures of regret against a setting: curves, published points, data and words."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from companion.baselines.random import random
from companion.environments import sphere
from companion.private_glm.environments import world
from companion.report import plots, regret
from companion.simulate import repetitions, simulate
from companion.stats import exponent

SAMPLES = {"a": np.array([[1.0, 10.0], [3.0, 30.0]]), "b": np.array([[5.0, 5.0], [7.0, 9.0]])}


@pytest.fixture(autouse=True)
def closed():
    plots.use_style()
    yield
    plt.close("all")


def test_published_points_lie_over_their_own_curve():
    points = {"b": ((1.0, 4.0), (6.0, 7.5), (0.5, 0.25))}
    _, ax = regret.against([1, 4], SAMPLES, points=points, styles={"b": 3}, log="x")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    (circles,) = [line for line in ax.get_lines() if line.get_label() == "_published"]
    assert circles.get_ydata().tolist() == [6.0, 7.5]
    assert circles.get_color() == plots.look(3)["color"]
    (bars,) = [c.get_segments() for c in ax.collections if hasattr(c, "get_segments")]
    np.testing.assert_allclose(bars[0], [[1, 6 - 0.98], [1, 6 + 0.98]])


def test_a_picture_says_where_its_curves_end_and_carries_their_moments(monkeypatch):
    shown = {}
    monkeypatch.setattr(plots, "show", lambda fig, **options: shown.update(options))
    regret.picture([1, 4], SAMPLES, name="n", alt="Two curves.", caption="c", xlabel="x")
    assert shown["alt"] == "Two curves. Means at the right end: a: 20, b: 7."
    expected = {"x": [1, 4], "mean at a": [2.0, 20.0], "std at a": np.sqrt([2.0, 200.0])}
    pd.testing.assert_frame_equal(shown["data"][list(expected)], pd.DataFrame(expected))
    regret.picture([1, 4], SAMPLES, name="n", alt="a", caption="c", data={"own": [1]})
    assert shown["data"] == {"own": [1]}


def test_growth_fits_the_power_of_every_curve_and_says_it_at_the_curve():
    x = np.array([1.0, 10.0, 100.0])
    samples = {"slow": np.outer([1.0, 2.0], x**0.5), "fast": np.outer([1.0, 1.5], x**2)}
    fig, (ax,) = plots.panels(1)
    fits = regret.growth(x, samples, ax=ax, styles={"fast": 4}, xlabel="T")
    assert fits == {name: exponent(x, y) for name, y in samples.items()}
    assert [line.get_label() for line in ax.get_lines()] == ["slow: 0.50", "fast: 2.00"]
    assert ax.get_lines()[1].get_color() == plots.look(4)["color"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    plots.plt.close(fig)


def test_reference_lines_of_a_picture_are_drawn_without_a_label(monkeypatch):
    seen = []
    monkeypatch.setattr(plots, "show", lambda fig, **_: seen.extend(fig.axes[0].get_lines()))
    lines = [(np.array([1.0, 2.0]), ":")]
    regret.picture([1, 4], SAMPLES, name="lines", alt="a", caption="c", lines=lines)
    (line,) = [one for one in seen if one.get_label().startswith("_")]
    assert (line.get_linestyle(), line.get_ydata().tolist()) == (":", [1.0, 2.0])


def test_finals_are_those_of_simulate_at_every_point():
    env, seeds = sphere(2, 3), repetitions(1, 3)
    found = regret.finals([(env, [random()], 50), (env, [random()], 80)], seeds)
    assert list(found) == ["Random"]
    for i, T in enumerate((50, 80)):
        ours = simulate(env, [random()], T, seeds, grid=[T]).final[:, 0]
        assert found["Random"][:, i].tolist() == ours.tolist()


def test_finals_draw_once_what_horizons_share():
    """In the order of the points, whatever their horizons and worlds."""
    seeds, counts = repetitions(1, 3), []
    points = [(world("ball", 3, S, K=4), [random()], T) for S, T in ((2, 90), (1, 50), (2, 60))]
    found = regret.finals(points, seeds)["Random"]
    for i, (env, policies, T) in enumerate(points):
        counts.append(simulate(env, policies, T, seeds, grid=[T]).final[:, 0].tolist())
        assert found[:, i].tolist() == counts[-1]
    assert counts[0] != counts[2]


def test_round_ticks_reach_small_numbers_and_leave_many_decades_to_powers():
    fig, (small, wide) = plots.plt.subplots(1, 2)
    for ax, low in ((small, 2e-4), (wide, 1e-7)):
        ax.set(xscale="log", yscale="log", xlim=(1, 10), ylim=(low, 0.05))
        regret.round_ticks(ax)
    assert [f"{v:g}" for v in small.get_yticks()] == [
        "0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05"
    ]  # fmt: skip
    assert len(wide.get_yticks()) > 2
    assert all(abs(v) < 1e-9 for v in np.log10(wide.get_yticks()) % 1)
    plots.plt.close(fig)
