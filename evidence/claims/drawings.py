"""Drawings that several pages share: who sees what, and the tree of prefix sums."""

from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

from evidence.claims import plots

NOISE = "#a85400"  # the colour of noise in all drawings: orange, dark enough for words
RECORD = plots.COLOURS[0]  # the colour of one person's record
QUIET = "0.55"
ROUND = "round,pad=0.02"  # corners of boxes, with a word's room inside

BOXES = {  # trust model: (who, what is done there to the record), from left to right
    "local": (("user", "adds noise"), ("server", ""), ("other\nusers", "")),
    "shuffle": (
        ("user", "adds a\nlittle noise"),
        ("shuffler", "mixes\na batch"),
        ("server", ""),
        ("other\nusers", ""),
    ),
    "joint": (("user", ""), ("server", "adds noise"), ("other\nusers", "")),
    "central": (("user", ""), ("server", "adds noise"), ("everybody", "")),
}
SENT = {  # what passes along the arrows
    "local": ("noisy\nmessage", "advice"),
    "shuffle": ("noisy\nbits", "bits of all,\nmixed", "advice"),
    "joint": ("context,\nreward", "advice from\nnoisy sums"),
    "central": ("record", "noisy\nparameter"),
}


def who_sees_what(model: str):
    """Figure of one trust model: who knows the exact record (blue), who adds noise, what
    is sent.

    model: "local", "shuffle", "joint" or "central".
    """
    boxes = BOXES[model]
    fig, ax = plt.subplots(figsize=(plots.WIDTH, 1.7))
    ax.set(xlim=(0, len(boxes)), ylim=(0, 1))
    ax.axis("off")
    colour = RECORD  # up to the box that adds noise
    for i, (name, done) in enumerate(boxes):
        box = FancyBboxPatch(
            (i + 0.24, 0.41),
            0.52,
            0.36,
            ROUND,
            fill=False,
            edgecolor=colour,
            linewidth=1.6,
        )
        ax.add_patch(box)
        if "noise" in done:
            colour = QUIET
        middle = i + 0.5
        ax.text(middle, 0.59, name, ha="center", va="center", fontsize=10)
        ax.text(middle, 0.84, done, ha="center", va="bottom", fontsize=9.5, color=NOISE)
    for i, words in enumerate(SENT[model]):
        arrow = {"arrowstyle": "-|>", "color": "0.3", "linewidth": 1.2}
        ax.annotate("", (i + 1.2, 0.59), (i + 0.8, 0.59), arrowprops=arrow)
        ax.text(i + 1.0, 0.3, words, ha="center", va="top", fontsize=9.5)
    return fig


def prefix_tree(T: int, t: int, record: int):
    """Figure of the tree of T leaves: the nodes that make the sum of t records (filled),
    and those that hold one record (orange).

    T: a power of two, 2 to 16; t, record: in [1, T].
    """
    levels = T.bit_length()
    fig, ax = plt.subplots(figsize=(plots.WIDTH, 0.42 * levels + 0.3))
    ax.set(xlim=(0, T), ylim=(0, levels))
    ax.axis("off")
    for level in range(levels):
        size = 2**level
        for start in range(0, T, size):
            # a bit of t is a node, and the larger bits are the leaves before it
            filled = t & size and start == t - t % (2 * size)
            box = FancyBboxPatch(
                (start + 0.12, level + 0.1),
                size - 0.24,
                0.62,
                ROUND,
                facecolor=(RECORD, 0.35 if filled else 0.0),
                edgecolor=NOISE if start < record <= start + size else QUIET,
                linewidth=1.5,
            )
            ax.add_patch(box)
            words = f"{start + 1}"
            if size > 1:
                words = f"{start + 1}-{start + size}"
            middle = start + size / 2
            ax.text(middle, level + 0.41, words, ha="center", va="center", fontsize=9.5)
    return fig
