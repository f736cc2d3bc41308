"""Curves of regret against a setting."""

import numpy as np

from companion.report import plots, regret
from companion.stats import exponent


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
