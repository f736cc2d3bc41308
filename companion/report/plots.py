"""Figures of the book: one look, alternative text, and the data behind every picture.

`show` displays a figure as a self-contained HTML `<figure>`: SVG picture with alternative text (and
a second one for narrow pages, see `phone`), number, caption, and a link that downloads the plotted
numbers as CSV.  A policy has one colour and dash in the whole book (`look`).
"""

import base64
import html

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt

from companion.report import markup, phone, vector
from companion.report.looks import (
    COLOURS,
    DASHES,
    MARKERS,
    MODELS,
    POLICIES,
    STYLE,
    ink,
    look,
    looks,
)
from companion.stats import band

__all__ = ["COLOURS", "DASHES", "MARKERS", "MODELS", "POLICIES", "curve", "figure_html", "ink",
           "label_ends", "look", "looks", "marks", "number", "panels", "published_points",
           "regret_figure", "regret_panel", "show", "tick_label", "ticks", "use_style"]  # fmt: skip
CROWDED = 5  # labels that an axis of powers of ten takes
_numbers = {}  # name -> number of the figures shown since `use_style`


def use_style() -> None:
    """Set the house style and count figures from 1; call it once, in the import cell."""
    _numbers.clear()
    mpl.rcParams.update(
        STYLE
        | {
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


def panels(n: int, *, stacked: bool = False, height: float = 3.6, width: float = 4.2, **options):
    """(figure, array of n axes) side by side, or stacked; they share nothing unless told so."""
    rows, columns = (n, 1) if stacked else (1, n)
    size = width * columns, height * rows
    fig, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **options)
    return fig, axes.ravel()


def curve(
    ax,
    x,
    samples: np.ndarray,
    label: str,
    style=0,
    *,
    marker: bool = False,
    level: float = 0.95,
) -> None:
    """Mean of samples (n_reps, len(x)) with its confidence band.

    style: name of a policy, number of a style, or what `look` gives.
    """
    mean, low, high = band(samples, level)
    own = dict(style) if isinstance(style, dict) else look(style)
    if not marker:
        own.pop("marker")
    ax.plot(x, mean, label=label, linewidth=1.8, **own)
    ax.fill_between(x, low, high, color=own["color"], alpha=0.18, linewidth=0)


def published_points(
    ax,
    x,
    y,
    style: int = 0,
    *,
    error=None,
    label: str | None = None,
) -> None:
    """Published values over our curves: hollow circles in the curve's colour, error bars if known.

    error: standard errors, shown as 95 % intervals; label: said at the last point, if given.
    """
    own = dict(style) if isinstance(style, dict) else look(style)
    if error is not None:
        bar = 1.96 * np.asarray(error, float)
        ax.errorbar(x, y, yerr=bar, fmt="none", ecolor=own["color"], elinewidth=1, capsize=2)
    ax.plot(x, y, "o", color=own["color"], markerfacecolor="white", markersize=5.5,
            markeredgewidth=1.4, zorder=4, label=label or "_published")  # fmt: skip


def marks(ax, places) -> None:
    """Vertical reference lines with labels above the axes, one row each: none meets another.

    places: label -> x.  Call it when limits, scale and title are set.
    """
    low, high = ax.get_xlim()
    to_unit = ax.transLimits.transform
    scale = ax.transScale.transform
    unit = {name: to_unit(scale((x, ax.get_ylim()[0])))[0] for name, x in places.items()}
    right = sorted((n for n in places if unit[n] <= 0.5), key=unit.get, reverse=True)
    left = sorted((n for n in places if unit[n] > 0.5), key=unit.get)
    for i, name in enumerate(right + left):
        ax.axvline(places[name], color="0.35", linewidth=0.9, linestyle=DASHES[(i + 1) % 4])
        align, shift = ("left", 3) if name in right else ("right", -3)
        lift = 6 + 13 * i
        ax.annotate("", (places[name], 1), (0, lift + 9), xycoords=("data", "axes fraction"),
                    textcoords="offset points", annotation_clip=False,
                    arrowprops={"arrowstyle": "-", "color": "0.35", "lw": 0.9,
                                "shrinkA": 0, "shrinkB": 0})  # fmt: skip
        ax.annotate(name, (places[name], 1), (shift, lift), xycoords=("data", "axes fraction"),
                    textcoords="offset points", ha=align, va="bottom", fontsize="small",
                    color="0.25", annotation_clip=False)  # fmt: skip
    ax.set_xlim(low, high)
    ax.set_title(ax.get_title(), pad=8 + 13 * len(places))


def tick_label(value: float, *, powers: bool) -> str:
    """A number at a tick: with commas, or (powers) as a multiple of a power of ten."""
    if not powers:
        return f"{value:,g}"
    factor, exponent = f"{value:.2e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    times = "" if float(factor) == 1.0 else rf"{float(factor):g}\times"
    return f"${times}{power}$"


def ticks(axis, values) -> None:
    """Ticks of an axis (`ax.xaxis`, `ax.yaxis`) at these values only: for logarithmic scales.

    Where values reach a million they are written as powers of ten, and beyond `CROWDED` of them
    every second one has a label.
    """
    values = list(values)
    powers = max(values) >= 1e6
    silent = values[1::2] if powers and len(values) > CROWDED else []
    axis.set_major_locator(mpl.ticker.FixedLocator(values))
    axis.set_major_formatter(
        mpl.ticker.FuncFormatter(lambda v, _: "" if v in silent else tick_label(v, powers=powers))
    )
    axis.set_minor_locator(mpl.ticker.NullLocator())


def label_ends(ax) -> None:
    """Write every line's label at its right end, pushed apart where they would overlap."""
    gap = 11.5 / (72 * ax.get_position().height * ax.figure.get_figheight())  # a line of text
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
        style = {"color": ink(lines[i].get_color()), "va": "center", "fontsize": "small"}
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
            gid=phone.END,
            **style,
        )
    ax.set_ylim(low, high)


def regret_panel(ax, result, title: str, *, names=None) -> None:
    """Cumulative regret of a `simulate.Result` with 95 % bands, labelled at the curves' ends."""
    for name, own in looks(names or result.names).items():
        curve(ax, result.rounds, result.of(name), name, own)
    ax.set(title=title, xlabel="round", ylabel="cumulative regret", xlim=(0, result.rounds[-1]))
    ax.set_ylim(bottom=0)
    label_ends(ax)


def regret_figure(result, title: str, *, alt: str, caption: str, name: str) -> None:
    """Show `regret_panel` of a whole result in a figure of its own; the data are the means."""
    fig, (ax,) = panels(1, width=6.4)
    regret_panel(ax, result, title)
    means = result.to_frame().groupby(["policy", "round"], as_index=False)["regret"].mean()
    show(fig, alt=alt, caption=caption, data=means, name=name)


def number(name: str) -> int:
    """The number of the figure `name` on this page: they count in the order of first mention."""
    return _numbers.setdefault(name, len(_numbers) + 1)


def show(fig, *, alt: str, caption: str, data, name: str, fold: bool | None = None) -> None:
    """Display a figure: alt (what a reader who cannot see it needs), caption, data (columns), name.

    fold: a line behind which the figure is folded away.  Raises ValueError if alt, caption or name
    is empty: every figure of the book is described.
    """
    from IPython.display import HTML, display

    for key, value in (("alt", alt), ("caption", caption), ("name", name)):
        if not str(value).strip():
            raise ValueError(f"{key} must not be empty; got {key}={value!r}")
    shown = figure_html(fig, alt=alt, caption=caption, data=data, name=name)
    display(HTML(markup.folded(html.escape(fold), shown) if fold else shown))
    plt.close(fig)


def figure_html(fig, *, alt: str, caption: str, data, name: str) -> str:
    """The HTML that `show` displays; leaves the figure in its layout for phones."""
    import pandas as pd

    with vector.measuring(fig):
        phone.arrange(fig)
        for ax in fig.axes:
            phone.thin(ax.xaxis)
        wide = vector.svg(fig)
        phone.stack(fig)
        narrow = vector.svg(fig)
    csv = pd.DataFrame(data).to_csv(index=False, float_format="%.6g", lineterminator="\n")
    table = base64.b64encode(csv.encode()).decode()
    return (
        f'<figure class="plot" id="fig-{html.escape(name)}"><picture>'
        f'<source media="(max-width: 576px)" srcset="data:image/svg+xml;base64,{narrow}">'
        f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{wide}"></picture>'
        f"<figcaption><b>Figure {number(name)}.</b> {html.escape(caption)} "
        f'<a download="{html.escape(name)}.csv" href="data:text/csv;base64,{table}">Data (CSV)</a>'
        "</figcaption></figure>"
    )
