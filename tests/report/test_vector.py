"""A picture that is laid out once and drawn once is Matplotlib's own."""

import base64
import io
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from companion.report import phone, plots, vector

NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
NAMES = re.compile(r"[mpC][0-9a-f]{10}")
NEAR = 1.5  # points: texts were measured at the resolution of a screen


@pytest.fixture
def figure():
    """Two panels with formulas at their ticks and labels beside their curves."""
    with plots.plt.rc_context():
        plots.use_style()
        fig, axes = plots.panels(2)
        for ax in axes:
            plots.curve(ax, [1, 10, 100], np.random.default_rng(1).random((5, 3)), "LinUCB", 0)
            ax.set(xscale="log", xlabel=r"$\sqrt{T}$ rounds", title="a title")
            plots.label_ends(ax)
        yield fig
    plots.plt.close(fig)


def ours(fig):
    with vector.measuring(fig):
        phone.arrange(fig)
        return base64.b64decode(vector.svg(fig)).decode()


def theirs(fig):
    """Drawn by Matplotlib, which lays out by itself."""
    out = io.BytesIO()
    fig.savefig(out, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return out.getvalue().decode()


def test_everything_stands_where_matplotlib_puts_it(figure):
    one, other = (NAMES.sub("", draw(figure)) for draw in (ours, theirs))
    assert NUMBER.sub("#", one) == NUMBER.sub("#", other)
    a, b = (np.array(NUMBER.findall(text), float) for text in (one, other))
    assert np.abs(a - b).max() < NEAR


def test_it_is_drawn_once_and_never_laid_out_again(figure, monkeypatch):
    drawn, engine = [], figure.get_layout_engine()
    real, lay = Figure.draw, engine.execute
    monkeypatch.setattr(Figure, "draw", lambda *args: (drawn.append("draw"), real(*args))[1])
    monkeypatch.setattr(engine, "execute", lambda fig: (drawn.append("lay"), lay(fig))[1])
    ours(figure)
    assert drawn == ["lay", "draw"]
    theirs(figure)
    assert drawn[2:] == ["draw", "lay", "draw"]


def test_the_figure_is_left_as_it_was(figure):
    before = figure.canvas, figure.dpi, figure.get_layout_engine()
    size = tuple(figure.get_size_inches())
    ours(figure)
    assert (figure.canvas, figure.dpi, figure.get_layout_engine()) == before
    assert tuple(figure.get_size_inches()) == size
