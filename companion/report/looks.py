"""Colours, dashes and markers: one look for a policy through the whole book."""

import colorsys
from typing import Any

import matplotlib as mpl

# Seaborn's colour-blind-safe palette; its pink and grey, too pale for text, are replaced.
COLOURS = ("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#4d4d4d", "#7a5195")
DASHES: tuple[Any, ...]
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
STYLE = {  # Seaborn's "ticks" for a notebook; without it pages begin half a second sooner
    "axes.axisbelow": True, "axes.edgecolor": ".15", "axes.labelcolor": ".15",
    "axes.labelsize": 12, "axes.linewidth": 1.25, "axes.titlesize": 12, "font.size": 12,
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans",
                        "sans-serif"],
    "grid.color": ".8", "grid.linewidth": 1, "legend.fontsize": 11, "legend.title_fontsize": 12,
    "lines.solid_capstyle": "round", "patch.edgecolor": "w", "patch.force_edgecolor": True,
    "text.color": ".15", "xtick.color": ".15", "xtick.labelsize": 11, "xtick.major.size": 6,
    "xtick.major.width": 1.25, "xtick.minor.size": 4, "xtick.minor.width": 1,
    "ytick.color": ".15", "ytick.labelsize": 11, "ytick.major.size": 6,
    "ytick.major.width": 1.25, "ytick.minor.size": 4, "ytick.minor.width": 1,
}  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Policies by name: colour and dash (and marker).  No two share both; those that meet, neither.
POLICIES = {
    "OnlineLinUCB": (0, 0),
    "OnlineLinUCB, anytime": (0, 4),
    "Combiner": (4, 4),
    "Corrected ridge": (5, 2),
    "LDP-LinUCB": (1, 1),
    "SDP-LinUCB": (2, 2),
    "JDP-LinUCB": (3, 5),
    "LinUCB": (7, 0),
    "Random": (6, 3),
    "FLIPHAT": (0, 1),
    "Residual FLIPHAT": (2, 0),
    "Lasso bandit": (5, 5),
    "LPLR": (0, 2),
    "SSP": (1, 0),
    "RS-GLinUCB": (0, 5),
    "GLOC": (1, 2),
    "GLM-UCB": (2, 4),
    "ECOLog": (3, 0),
    "Joint-DP GLM": (4, 1),
    "ShuffleGLM": (7, 1),
    "Algorithm 3": (5, 3),
    "Forced lasso": (7, 2),
}
# Trust models, by the colour of the LinUCB that keeps each.
MODELS = {"local": 1, "shuffle": 2, "joint": 3}


def look(which) -> dict[str, str]:
    """{color, linestyle, marker} of a policy, by its name, or of style number `which`.

    A name that begins with a registered one has its look; of any other there is none.
    Raises ValueError for an unknown policy.
    """
    if isinstance(which, str):
        known = [name for name in POLICIES if which.startswith(name)]
        if not known:
            raise ValueError(f"which must begin with one of {', '.join(POLICIES)}; got {which!r}")
        colour, dash = POLICIES[max(known, key=len)]
    else:
        colour, dash = which, which
    return {
        "color": COLOURS[colour % len(COLOURS)],
        "linestyle": DASHES[dash % len(DASHES)],
        "marker": MARKERS[dash % len(MARKERS)],
    }


def looks(names) -> dict[str, dict[str, str]]:
    """Name -> look of policies in one panel: registered ones keep theirs, others get a free one.

    A second variant of a policy keeps its colour and gets another dash.
    """
    found = {}
    spare = iter(range(len(COLOURS)))
    for name in sorted(names, key=lambda n: n not in POLICIES):  # full names choose first
        taken = [(v["color"], v["linestyle"]) for v in found.values()]
        try:
            own = look(name)
        except ValueError:
            colours = {c for c, _ in taken} | {look(n)["color"] for n in names if n in POLICIES}
            free = next((i for i in spare if COLOURS[i] not in colours), len(found))
            own = look(free)
        dashes = [d for d in DASHES if (own["color"], d) not in taken]
        if own["linestyle"] not in dashes and dashes:
            own = own | {"linestyle": dashes[0], "marker": MARKERS[DASHES.index(dashes[0])]}
        found[name] = own
    return {name: found[name] for name in names}


def ink(colour) -> str:
    """The colour, darkened until text in it is legible on white (contrast 4.5 to 1)."""
    red, green, blue = mpl.colors.to_rgb(colour)
    hue, light, satiety = colorsys.rgb_to_hls(red, green, blue)

    def contrast(rgb):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)

    while contrast((red, green, blue)) < 4.5:
        light *= 0.95
        red, green, blue = colorsys.hls_to_rgb(hue, light, satiety)
    return mpl.colors.to_hex((red, green, blue))
