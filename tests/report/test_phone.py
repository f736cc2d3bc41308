"""Figures on a narrow page: panels below each other, legends instead of labels at the ends."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest

from companion.report import phone, plots


@pytest.fixture
def figure():
    """Two panels side by side, with a labelled curve in each."""
    with plt.rc_context():
        plots.use_style()
        fig, axes = plots.panels(2)
        for ax, name in zip(axes, ("LinUCB", "Random"), strict=True):
            plots.curve(ax, [1, 2, 3], np.random.default_rng(1).random((5, 3)), name, name)
            plots.label_ends(ax)
        yield fig
    plt.close("all")


def test_panels_stand_below_each_other_on_a_page_of_that_width(figure):
    before = [ax.lines[0].get_xydata().copy() for ax in figure.axes]
    phone.stack(figure)
    assert figure.get_figwidth() == phone.WIDTH
    top, bottom = (ax.get_position() for ax in figure.axes)
    assert bottom.y1 < top.y0
    for ax, data in zip(figure.axes, before, strict=True):
        assert np.array_equal(ax.lines[0].get_xydata(), data)


def test_a_legend_says_what_the_labels_said(figure):
    phone.stack(figure)
    for ax, name in zip(figure.axes, ("LinUCB", "Random"), strict=True):
        assert [t for t in ax.texts if t.get_gid() == phone.END] == []
        assert name in [t.get_text() for t in ax.get_legend().get_texts()]


def test_text_keeps_a_size_that_can_be_read(figure):
    phone.stack(figure)
    sizes = [t.get_fontsize() for ax in figure.axes for t in (ax.title, ax.xaxis.label)]
    assert min(sizes) >= phone.SMALLEST
    assert max(sizes) <= phone.LARGEST


def test_tick_labels_that_would_touch_are_left_out_on_a_wide_page_too():
    fig, axes = plots.panels(2, width=2.0)
    for ax in axes:
        ax.set(xscale="log", xlim=(1_000, 64_000))
        plots.ticks(ax.xaxis, [1_000, 2_000, 5_000, 10_000, 20_000, 50_000])
    fig.draw_without_rendering()
    for ax in axes:
        phone.thin(ax.xaxis)
        shown = [t.get_window_extent() for t in ax.get_xticklabels() if t.get_visible()]
        assert 2 <= len(shown) < 6
        assert all(a.x1 < b.x0 for a, b in pairwise(shown))
    plots.plt.close(fig)


def test_names_of_two_lines_have_room_for_both():
    heights = []
    for name in ("a name", "a name\nof two lines"):
        fig, (ax,) = plots.panels(1, height=3.0)
        ax.barh(range(9), range(9))
        ax.set_yticks(range(9), [f"{name} {i}" for i in range(9)])
        phone.stack(fig)
        heights.append(fig.get_figheight())
        boxes = sorted((t.get_window_extent() for t in ax.get_yticklabels()), key=lambda b: b.y0)
        assert all(a.y1 < b.y0 for a, b in pairwise(boxes))
        plots.plt.close(fig)
    assert heights[0] < heights[1]


def test_a_legend_hangs_below_names_that_were_turned():
    with plt.rc_context():
        plots.use_style()
        fig, (ax,) = plots.panels(1, width=9.0)
        names = ["as printed", "exact Gaussian", "half the size", "clipped at 3", "no privacy"]
        ax.bar(names, 1.0, label="bars")
        ax.legend(loc="upper right")
        phone.stack(fig)
    boxes = [t.get_window_extent() for t in ax.get_xticklabels()]
    assert all(box.height > box.width for box in boxes)
    legend = ax.get_legend().get_window_extent()
    assert 0 < legend.y0 < legend.y1 < min(box.y0 for box in boxes)
    plots.plt.close(fig)
