"""The layout of a figure on a narrow page: panels below each other, legends instead of labels.

A picture drawn for a wide page shrinks to a third on a phone, and its text with it.  `stack` gives
the same axes, with the same data, the width of a phone, on which text keeps its size.
"""

import textwrap
from itertools import pairwise

from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import ScaledTranslation

WIDTH = 3.55  # inches: 341 pixels of CSS, the text of a page 375 wide
SMALLEST, LARGEST = 7.5, 10.0  # points; a point is 4/3 of a pixel
GAP = 1.44  # points between the labels of two ticks
END = "end-label"  # what `plots.label_ends` writes; on a phone a legend says it


def stack(fig) -> None:
    """Lay out `fig`, in place, for a page that is WIDTH wide."""
    places = {ax.get_subplotspec() for ax in fig.axes} - {None}
    ordered = sorted(places, key=lambda spec: (spec.rowspan.start, spec.colspan.start))
    grid = fig.add_gridspec(len(ordered), 1)
    row = {spec: grid[i] for i, spec in enumerate(ordered)}
    first = fig.axes[0]
    for text in fig.findobj(Text):
        text.set_fontsize(min(max(0.8 * text.get_fontsize(), SMALLEST), LARGEST))
    heights = dict.fromkeys(ordered, 0.0)
    for ax in fig.axes:
        spec = ax.get_subplotspec()
        if spec is None:
            continue
        box = ax.get_position()
        tall = box.height * fig.get_figheight() / (box.width * fig.get_figwidth())
        entries = _unlabel(ax)
        entries += _below(ax)
        heights[spec] = max(heights[spec], min(max(0.8 * tall, 0.75), 1.0) * 2.9 + 0.18 * entries)
        if isinstance(ax.yaxis.get_major_locator(), FixedLocator):  # names, a line for each
            names = [label.get_text() for label in ax.get_yticklabels()]
            lines = max((name.count("\n") + 1 for name in names), default=1)
            heights[spec] = max(heights[spec], 0.16 * lines * len(names) + 0.8)
        _own_labels(ax, first)
    for ax in fig.axes:
        if ax.get_subplotspec() is not None:
            ax.set_subplotspec(row[ax.get_subplotspec()])
    rows = sum(_narrow(fig, legend) for legend in list(fig.legends))
    fig.set_size_inches(WIDTH, sum(heights.values()) + 0.35 + 0.18 * rows)
    for ax in fig.axes:
        _legend(ax)
    arrange(fig)
    if any([_turn(ax.xaxis) for ax in fig.axes]):
        for ax in fig.axes:
            _hang(ax)
        arrange(fig)
    for ax in fig.axes:
        thin(ax.xaxis)


def arrange(fig) -> None:
    """Find the places of all that is in `fig`: layout without drawing, where there is a layout."""
    engine = fig.get_layout_engine()
    if engine is None:
        fig.draw_without_rendering()
    else:
        engine.execute(fig)


def _below(ax):
    """Have the legend that stands in the axes, if any, written below them; its number of lines.

    What fits between curves on a wide page covers them on a narrow one.
    """
    old = ax.get_legend()
    if old is None or ax._stacked_legend:
        return 0
    ax._stacked_legend = True
    ax._legend_of = old.legend_handles, [text.get_text() for text in old.get_texts()]
    old.remove()
    return len(ax._legend_of[1])


def _narrow(fig, legend):
    """Lay out a legend of the figure in as many columns as fit; its number of lines."""
    words = [text.get_text() for text in legend.get_texts()]
    if (columns := legend._ncols) > 1:
        need = max(map(len, words)) * 0.075 + 0.45  # inches of the longest word with its handle
        columns = max(1, min(columns, int(WIDTH / need)))
        place, handles = legend._outside_loc, legend.legend_handles
        legend.remove()
        side = {"upper": "outside upper center", "lower": "outside lower center"}[place]
        fig.legend(handles, words, loc=side, ncols=columns, frameon=False, fontsize=8.5)
    return -(-len(words) // columns)


def _turn(axis):
    """Write names below ticks upwards where they would run into each other: none may vanish.
    Whether it did so."""
    texts = [label.get_text() for label in axis.get_majorticklabels()]
    if not any("$" not in text and any(map(str.isalpha, text)) for text in texts):
        return False  # numbers: some of them may
    labels = [label for label in axis.get_majorticklabels() if label.get_text()]
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
    gap = GAP * axis.figure.dpi / 72
    meet = any(left.x1 + gap > right.x0 for left, right in pairwise(boxes))
    if meet:
        names = [text.replace("\n", " ") for text in texts]
        axis.set_ticks(axis.get_majorticklocs(), names, rotation=90)
    return meet


def _unlabel(ax):
    """Take away the labels at the ends of curves; their number."""
    labels = [text for text in ax.texts if text.get_gid() == END]
    for text in labels:
        text.remove()
    ax._stacked_legend = bool(labels)
    return len(labels)


def _own_labels(ax, first):
    """Panels that stood side by side shared labels; now each needs its own."""
    for which in ("x", "y"):
        if getattr(ax, f"get_shared_{which}_axes")().joined(ax, first):
            if not getattr(ax, f"get_{which}label")():
                getattr(ax, f"set_{which}label")(getattr(first, f"get_{which}label")())
            if getattr(ax, f"{which}axis").get_visible():
                side = "labelbottom" if which == "x" else "labelleft"
                ax.tick_params(axis=which, which="major", **{side: True})
    for text, room in ((ax.title, 44), (ax.xaxis.label, 44), (ax.yaxis.label, 30)):
        if "$" not in text.get_text():  # a line break inside a formula breaks it
            text.set_text("\n".join(textwrap.wrap(text.get_text(), room)))


def _legend(ax):
    """Below the axes and what is written there, say which line is which."""
    if not ax._stacked_legend:
        return
    old = ax.get_legend()
    ax.legend(*getattr(ax, "_legend_of", ()), loc="upper left", frameon=False, fontsize=8.5,
              handlelength=2.4, borderaxespad=0.0, labelspacing=0.3)  # fmt: skip
    if old is not None:
        ax.add_artist(old)
    _hang(ax)


def _hang(ax):
    """Put the legend that `_legend` wrote, if any, below what the axis below the axes takes."""
    if not ax._stacked_legend:
        return
    fig = ax.figure
    bottom = ax.xaxis.get_tightbbox(fig.canvas.get_renderer())
    below = (ax.get_window_extent().y0 - bottom.y0) / fig.dpi if bottom else 0.0
    anchor = ax.transAxes + ScaledTranslation(0, -below - 0.03, fig.dpi_scale_trans)
    ax.get_legend().set_bbox_to_anchor((0, 0), anchor)


def thin(axis) -> None:
    """Hide tick labels that run into others; those of major ticks stay first."""
    kept, gap = [], GAP * axis.figure.dpi / 72
    for label in [*axis.get_majorticklabels(), *axis.get_minorticklabels()]:
        box = label.get_window_extent()
        if label.get_text() and label.get_visible():
            if any(box.x0 < other.x1 + gap and other.x0 < box.x1 + gap for other in kept):
                label.set_visible(False)
            else:
                kept.append(box)
