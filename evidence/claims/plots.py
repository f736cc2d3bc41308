"""Figures of the book: one look and one layout, alternative text, and the plotted data.

A figure is a column of panels (`panels`) that is WIDTH wide, so that its text can be read
on a phone; a wide page shows the same panels in rows.  Seaborn sets the style
and colours that the colour-blind tell apart; dashes and markers do so without colours.  A
policy has one colour and dash in the whole book (`look`).  `show` displays a figure with
its caption, and a link that downloads the plotted numbers as CSV.  "Figure 1" is always a
paper's.
"""

import base64
import io
import textwrap
from itertools import cycle

import numpy as np
import pandas as pd
import seaborn as sns
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import AutoLocator, LogLocator, MaxNLocator

from evidence.claims import markup

WIDTH = 4.4  # inches
WORDS = 17  # letters in a line beside the panels
COLOURS = (*sns.color_palette("colorblind", 6).as_hex(), "#4d4d4d", "#7a5195", "#882255")
_DOTS = (5, 1), (3, 1, 1, 1), (1, 1), (8, 2), (6, 1, 1, 1)  # ink and gaps
DASHES = ("-", "--", "-.", ":", *((0, dots) for dots in _DOTS))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")
# the number of the look of each, so that those that meet have different colours
POLICIES = {
    "OnlineLinUCB": 0,
    "LDP": 1,
    "SDP": 2,
    "JDP": 3,
    "Combiner": 4,
    "Corrected ridge": 5,
    "Random": 6,
    "LinUCB": 7,
    "FLIPHAT": 8,
    "SSP": 10,
    "LPLR": 11,
    "OnlineLinUCB, anytime": 12,
    "Lasso bandit": 13,
    "Residual FLIPHAT": 15,
}


def use_style() -> None:
    """Set the style of all figures; `Page` calls it."""
    own = {
        "axes.grid": True,
        "axes.prop_cycle": cycler(color=COLOURS) + cycler(linestyle=DASHES),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "figure.constrained_layout.h_pad": 0.08,
        "figure.constrained_layout.use": True,
        "figure.figsize": (WIDTH, 2.7),
        "grid.alpha": 0.3,
        "savefig.transparent": True,  # the page's own ground, light or dark
        "svg.hashsalt": "companion",  # the same figure gives the same bytes
    }
    sns.set_theme(context="paper", style="ticks", rc=own)


def panels(n: int, *, height: float = 2.5, **options):
    """(figure, array of n axes), one below the other; they share nothing unless told
    so."""
    fig, axes = plt.subplots(n, figsize=(WIDTH, height * n), squeeze=False, **options)
    return fig, axes.ravel()


def look(name: str) -> dict[str, str]:
    """{color, linestyle, marker} of a policy, by its name."""
    return looks([name])[name]


def looks(names) -> dict[str, dict[str, str]]:
    """Name -> look of policies in one panel: names that begin with one of `POLICIES` have
    its colour, others get a free one, and a second variant of a policy another dash.
    """
    known = {}
    for name in names:
        policies = [policy for policy in POLICIES if name.startswith(policy)]
        if policies:
            known[name] = POLICIES[max(policies, key=len)]
    colours = {n % len(COLOURS) for n in known.values()}
    spare = cycle([i for i in range(len(COLOURS)) if i not in colours] or [0])
    taken = set()
    styles = {}
    for name in sorted(names, key=lambda n: n not in POLICIES):  # full names choose first
        number = known[name] if name in known else next(spare)
        while number in taken:
            number += len(COLOURS)  # the same colour with another dash
        taken.add(number)
        variant, colour = divmod(number, len(COLOURS))
        dash = (number + variant) % len(DASHES)
        styles[name] = {
            "color": COLOURS[colour],
            "linestyle": DASHES[dash],
            "marker": MARKERS[dash],
        }
    return styles


def ticks(axis, values) -> None:
    """Ticks of an axis (`ax.xaxis`, `ax.yaxis`) at these values only, as `markup.powers`
    writes them: for logarithmic scales."""
    labels = [markup.powers(f"{v:,g}") for v in values]
    axis.set_ticks(list(values), labels)
    axis.set_ticks([], minor=True)


def _round_ticks(axis) -> None:
    """Ticks 1, 2, 5, 10, ... on a logarithmic axis, or powers of ten on a long one;
    thousands with a comma on every axis."""
    low, high = axis.get_view_interval()
    if isinstance(axis.get_major_locator(), LogLocator):
        locator = LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,), numticks=6)
        if high < 2 * low:
            locator = MaxNLocator(4)
        ticks(axis, [v for v in locator.tick_values(low, high) if low <= v <= high])
    elif high >= 1000:
        axis.set_major_formatter("{x:,.0f}")


def label_ends(ax) -> None:
    """Write every line's label at its right end, pushed apart where they would
    overlap."""
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    height = 72 * ax.get_position().height * ax.figure.get_figheight()  # in points
    labels = []
    top = -np.inf
    ax.set_ylim(ax.get_ylim())
    for line in sorted(lines, key=lambda line: line.get_ydata()[-1]):
        end = line.get_xydata()[-1]
        colour = line.get_color()
        text = _wrapped(line.get_label(), WORDS)
        tall = (1.15 * text.count("\n") + 1.35) * 8.8 / height
        at = (ax.transScale + ax.transLimits).transform(end)[1]
        centre = max(at, top + tall / 2)
        top = centre + tall / 2
        label = ax.annotate(
            text,
            end,
            (1.05, centre),
            textcoords="axes fraction",
            va="center",
            fontsize="small",
            linespacing=1.0,
            color=sns.set_hls_values(colour, l=0.25),
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
        labels.append(label)
    for label in labels:
        label.set_y(label.xyann[1] - max(0.0, top - 1.0))


def _wrapped(text, width):
    text = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def show(fig, *, alt: str, caption: str, data, name: str) -> None:
    """Display a figure: alt (what a reader who cannot see it needs), caption, data
    (columns), name."""
    from IPython.display import HTML, display

    display(HTML(figure_html(fig, alt, caption, data, name)))
    plt.close(fig)


def figure_html(fig, alt: str, caption: str, data, name: str) -> str:
    """The HTML that `show` displays.

    A panel without a label on its vertical axis has that of the first; what is long is
    broken into lines; legends stand beside their panels; logarithmic axes have round
    ticks.
    """
    first = fig.axes[0].get_ylabel()
    for ax in fig.axes:
        ax.set_ylabel(_wrapped(ax.get_ylabel() or first, 30))
        ax.set_title(_wrapped(markup.powers(ax.get_title("left")), 50))
        if isinstance(ax.xaxis.get_major_locator(), AutoLocator):
            ax.locator_params("x", nbins=5 if len(fig.axes) < 3 else 3)
        for axis in (ax.xaxis, ax.yaxis):
            _round_ticks(axis)
        legend = ax.get_legend()
        if legend:
            for text in legend.get_texts():
                text.set_text(_wrapped(markup.powers(text.get_text()), WORDS))
            sns.move_legend(ax, "upper left", bbox_to_anchor=(1.02, 1), frameon=False)
    tall = _picture(fig)
    wide = None
    if len(fig.axes) > 1:
        _in_rows(fig)
        wide = _picture(fig)
    frame = pd.DataFrame(data)
    csv = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    table = base64.b64encode(csv.encode()).decode()
    return markup.site.figure(name, alt, tall, wide, caption, table)


def _picture(fig):
    """(SVG as text in base64, width, height in pixels): the picture keeps its place while
    it loads."""
    out = io.BytesIO()
    fig.savefig(out, format="svg", metadata={"Date": None})
    width, height = 96 * fig.get_size_inches()
    return base64.b64encode(out.getvalue()).decode(), width, height


def _in_rows(fig) -> None:
    """Lay a column of panels out in rows of two or three, for wide pages."""
    n = len(fig.axes)
    columns = 2 if n in (2, 4) else 3
    rows = -(-n // columns)
    grid = GridSpec(rows, columns, figure=fig)
    shared = fig.axes[-1].get_xlabel()
    for place, ax in enumerate(fig.axes):
        ax.set_subplotspec(grid[place])
        ax.tick_params(labelbottom=True)
        ax.set_xlabel(ax.get_xlabel() or shared)
        ax.set_title(_wrapped(ax.get_title("left"), 68 // columns))
    fig.set_size_inches((1.3 + columns / 4) * WIDTH, fig.get_figheight() / n * rows)
