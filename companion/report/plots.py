"""Figures of the book: one look, alternative text, and the data behind every picture.

The only module that imports matplotlib.  `show` displays a figure as a self-contained HTML
`<figure>`: SVG picture with alternative text, caption, and a link that downloads the plotted
numbers as CSV.
"""

import base64
import html
import io

import matplotlib as mpl
import numpy as np
import seaborn as sns
from cycler import cycler
from matplotlib import pyplot as plt

from companion.stats import band

# Seaborn's colour-blind-safe palette; its pink and grey, too pale for text, are replaced.
COLOURS = (*sns.color_palette("colorblind").as_hex()[:6], "#4d4d4d", "#7a5195")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def use_style():
    """Set the house style for all following figures; call it once, in the import cell."""
    sns.set_theme(context="notebook", style="ticks", palette="colorblind")
    mpl.rcParams.update(
        {
            "figure.figsize": (7.0, 4.2),
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
            "svg.hashsalt": "companion",  # the same figure gives the same bytes
            "svg.fonttype": "path",
            "axes.prop_cycle": cycler(color=COLOURS) + cycler(linestyle=DASHES),
        }
    )


def panels(n, *, stacked=False, height=3.6, width=4.2, **options):
    """(figure, array of n axes) side by side, or stacked; they share nothing unless told so."""
    rows, columns = (n, 1) if stacked else (1, n)
    size = width * columns, height * rows
    fig, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **options)
    return fig, axes.ravel()


def curve(ax, x, samples, label, index=0, *, marker=False, level=0.95):
    """Mean of samples (n_reps, len(x)) with its confidence band, in style number `index`."""
    mean, low, high = band(samples, level)
    colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
    mark = MARKERS[index % len(MARKERS)] if marker else None
    ax.plot(x, mean, color=colour, linestyle=dash, marker=mark, label=label, linewidth=1.8)
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def ticks(axis, values):
    """Ticks of an axis (`ax.xaxis`, `ax.yaxis`) at these values only: for logarithmic scales."""
    axis.set_major_locator(mpl.ticker.FixedLocator(list(values)))
    axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:,g}"))
    axis.set_minor_locator(mpl.ticker.NullLocator())


def label_ends(ax, *, gap=0.055, pad=0.25):
    """Write every line's label at its right end, pushed apart where they would overlap."""
    lines = [ln for ln in ax.get_lines() if not ln.get_label().startswith("_")]
    low, high = ax.get_ylim()
    to_unit = ax.transLimits.transform
    ends = sorted(
        (to_unit(ax.transScale.transform((ln.get_xdata()[-1], ln.get_ydata()[-1])))[1], i)
        for i, ln in enumerate(lines)
    )
    heights, last = {}, -np.inf
    for y, i in ends:
        last = heights[i] = max(y, last + gap)
    over = max(0.0, last - 1.0)
    for _, i in ends:
        style = {"color": lines[i].get_color(), "va": "center", "fontsize": "small"}
        ax.annotate(
            lines[i].get_label(),
            (lines[i].get_xdata()[-1], lines[i].get_ydata()[-1]),
            xytext=(1.04, heights[i] - over),
            textcoords="axes fraction",
            arrowprops={
                "arrowstyle": "-",
                "color": lines[i].get_color(),
                "lw": 0.6,
                "relpos": (0, 0.5),  # from the left edge of the text, so that it crosses no other
                "shrinkA": 0,
                "shrinkB": 0,
            },
            **style,
        )
    ax.set_ylim(low, high)


def regret_panel(ax, result, title, *, names=None):
    """Cumulative regret of a `simulate.Result` with 95 % bands, labelled at the curves' ends."""
    for name in names or result.names:
        curve(ax, result.rounds, result.of(name), name, result.names.index(name))
    ax.set(title=title, xlabel="round", ylabel="cumulative regret", xlim=(0, result.rounds[-1]))
    ax.set_ylim(bottom=0)
    label_ends(ax)


def regret_figure(result, title, *, alt, caption, name):
    """Show `regret_panel` of a whole result in a figure of its own; the data are the means."""
    fig, (ax,) = panels(1, width=6.4)
    regret_panel(ax, result, title)
    means = result.to_frame().groupby(["policy", "round"], as_index=False)["regret"].mean()
    show(fig, alt=alt, caption=caption, data=means, name=name)


def show(fig, *, alt, caption, data, name):
    """Display a figure: alt (what a reader who cannot see it needs), caption, data (columns), name.

    Raises ValueError if alt, caption or name is empty: every figure of the book is described.
    """
    from IPython.display import HTML, display

    for key, value in (("alt", alt), ("caption", caption), ("name", name)):
        if not str(value).strip():
            raise ValueError(f"{key} must not be empty; got {key}={value!r}")
    display(HTML(figure_html(fig, alt=alt, caption=caption, data=data, name=name)))
    plt.close(fig)


def figure_html(fig, *, alt, caption, data, name):
    """The HTML that `show` displays."""
    import pandas as pd

    svg = io.BytesIO()
    fig.savefig(svg, format="svg", metadata={"Date": None}, bbox_inches="tight")
    csv = pd.DataFrame(data).to_csv(index=False, float_format="%.6g", lineterminator="\n")
    picture, table = (base64.b64encode(b).decode() for b in (svg.getvalue(), csv.encode()))
    return (
        f'<figure class="plot" id="fig-{html.escape(name)}">'
        f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{picture}">'
        f"<figcaption>{html.escape(caption)} "
        f'<a download="{html.escape(name)}.csv" href="data:text/csv;base64,{table}">Data (CSV)</a>'
        "</figcaption></figure>"
    )
