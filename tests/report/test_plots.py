"""Figures are reproducible to the byte, described, and carry their data."""

import base64
import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.environments import sphere
from companion.report import plots
from companion.simulate import simulate

DATA = {"x": [1, 2, 3], "y": [0.5, 1 / 3, 1e-9]}
TEXT = {"alt": "a rising line", "caption": "Figure", "data": DATA, "name": "rise"}


@pytest.fixture(autouse=True)
def closed():
    """A clean style and no open figure before and after."""
    with plt.rc_context():
        plots.use_style()
        yield
    plt.close("all")


def draw():
    fig, axes = plots.panels(2)
    samples = np.random.default_rng(1).random((5, 3))
    plots.curve(axes[0], [1, 2, 3], samples, "first", 0)
    plots.curve(axes[0], [1, 2, 3], samples, "second", 1, marker=True)
    plots.label_ends(axes[0])
    return fig


def test_the_same_figure_gives_the_same_bytes():
    first, second = (plots.figure_html(draw(), **TEXT) for _ in range(2))
    assert first == second


def test_the_data_can_be_downloaded():
    page = plots.figure_html(draw(), **TEXT)
    table = base64.b64decode(re.search(r"data:text/csv;base64,([^\"]+)", page)[1]).decode()
    np.testing.assert_allclose(pd.read_csv(io.StringIO(table)), pd.DataFrame(DATA), rtol=1e-5)
    assert 'download="rise.csv"' in page


def test_the_picture_is_described_and_self_contained():
    page = plots.figure_html(draw(), **(TEXT | {"alt": 'a "rising" line <'}))
    assert 'alt="a &quot;rising&quot; line &lt;"' in page
    svg = base64.b64decode(re.search(r"image/svg\+xml;base64,([^\"]+)", page)[1]).decode()
    assert svg.rstrip().endswith("</svg>")
    assert not re.search(r'(href|src)="https?:', svg)


@pytest.mark.parametrize("missing", ["alt", "caption", "name"])
@pytest.mark.parametrize("empty", ["", "  "])
def test_a_figure_without_words_is_refused(missing, empty):
    with pytest.raises(ValueError, match=missing):
        plots.show(draw(), **(TEXT | {missing: empty}))


def test_show_displays_once_and_closes(capsys):
    plots.show(draw(), **TEXT)
    assert not plt.get_fignums()


def test_band_is_drawn_where_it_belongs():
    _, (ax,) = plots.panels(1)
    samples = np.array([[1.0, 2.0], [3.0, 4.0]])
    plots.curve(ax, [1, 2], samples, "label")
    assert ax.get_lines()[0].get_ydata().tolist() == [2.0, 3.0]
    assert len(ax.collections) == 1


def test_labels_do_not_overlap():
    _, (ax,) = plots.panels(1)
    for i in range(6):
        ax.plot([0, 1], [0, 1 + 1e-3 * i], label=f"line {i}")
    plots.label_ends(ax)
    heights = sorted(text.xyann[1] for text in ax.texts)
    assert len(heights) == 6
    assert np.diff(heights).min() > 0.05


def test_regret_panel_labels_every_policy():
    result = simulate(sphere(4, 3), [linucb(3), random()], 100, [1, 2])
    _, (ax,) = plots.panels(1)
    plots.regret_panel(ax, result, "title")
    assert {t.get_text() for t in ax.texts} == {"LinUCB", "Random"}


@pytest.mark.parametrize("top", [12, 18])
def test_tick_labels_of_many_users_do_not_touch(top):
    """As `lplr-constants` at the paper's scale: two panels, T from 10^4 in steps of 100."""
    values = 10.0 ** np.arange(4, top + 1, 2)
    fig, axes = plots.panels(2, width=5.2, height=3.7)
    for ax in axes:
        ax.plot(values, values, label="error (MAD), calibrated")
        ax.set(xscale="log", yscale="log")
        plots.ticks(ax.xaxis, values)
        plots.label_ends(ax)
    fig.draw_without_rendering()
    for ax in axes:
        boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
        assert len(boxes) >= 4
        assert all(a.x1 + 5 < b.x0 for a, b in itertools.pairwise(boxes))
    plt.close(fig)


def test_a_tick_is_a_number_with_commas_or_a_power_of_ten():
    assert plots.tick_label(20_000, powers=False) == "20,000"
    said = [plots.tick_label(v, powers=True) for v in (1e6, 2e4, 1.25e7, 9.999e5)]
    assert said == ["$10^{6}$", r"$2\times10^{4}$", r"$1.25\times10^{7}$", "$10^{6}$"]
