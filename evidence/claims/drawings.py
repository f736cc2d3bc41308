"""Drawings that several pages share: who sees what, and the tree of prefix sums."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

from companion.validate import need_choice, need_int
from evidence.claims import plots

NOISE = plots.COLOURS[1]  # the colour of noise in all drawings
RECORD = plots.COLOURS[0]  # the colour of one person's record
QUIET = "0.55"

TRUST = {  # trust model: boxes from left to right
    "local": ("user", "server", "other users"),
    "shuffle": ("user", "shuffler", "server", "other users"),
    "joint": ("user", "server", "other users"),
    "central": ("user", "server", "everybody"),
}
# so many boxes know the exact record
EXACT = {"local": 1, "shuffle": 1, "joint": 2, "central": 2}
DONE = {  # what is done to the record: {number of the box: words}
    "local": {0: "adds noise"},
    "shuffle": {0: "adds a\nlittle noise", 1: "mixes\na batch"},
    "joint": {1: "adds noise"},
    "central": {1: "adds noise"},
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
    need_choice("model", model, TRUST)
    boxes = TRUST[model]
    n = len(boxes)
    fig, ax = plt.subplots(figsize=(plots.WIDTH, 1.5))
    ax.set(xlim=(0, n), ylim=(0, 1))
    ax.axis("off")
    width = 0.5
    for i, name in enumerate(boxes):
        colour = RECORD if i < EXACT[model] else QUIET
        box = FancyBboxPatch(
            (i + 0.5 - width / 2, 0.42),
            width,
            0.34,
            boxstyle="round,pad=0.03",
            facecolor="none",
            edgecolor=colour,
            linewidth=1.6,
        )
        ax.add_patch(box)
        label = name.replace(" ", "\n")
        ax.text(i + 0.5, 0.59, label, ha="center", va="center", fontsize=8.5)
        done = DONE[model].get(i, "")
        ax.text(i + 0.5, 0.84, done, ha="center", va="bottom", fontsize=8, color=NOISE)
    for i, words in enumerate(SENT[model]):
        start = i + 0.5 + width / 2 + 0.05
        end = i + 1.5 - width / 2 - 0.05
        ax.annotate(
            "",
            (end, 0.59),
            (start, 0.59),
            arrowprops={"arrowstyle": "-|>", "color": "0.3", "linewidth": 1.2},
        )
        ax.text((start + end) / 2, 0.3, words, ha="center", va="top", fontsize=7.5)
    return fig


def prefix_tree(T: int = 8, t: int = 6, record: int = 3):
    """Figure of the tree of T leaves: the nodes that make the sum of t records, and those
    that hold one record.

    T: a power of two, 2 to 16; t, record: in [1, T].
    """
    need_int("T", T, 2, 16)
    need_int("t", t, 1, T)
    need_int("record", record, 1, T)
    levels = T.bit_length()
    fig, ax = plt.subplots(figsize=(plots.WIDTH, 0.42 * levels + 0.6))
    ax.set(xlim=(0, T), ylim=(-0.55, levels))
    ax.axis("off")
    shown = _nodes_of_prefix(t)
    for level in range(levels):
        size = 2**level
        for start in range(0, T, size):
            node = (start, size)
            holds = start < record <= start + size
            box = FancyBboxPatch(
                (start + 0.12, level + 0.1),
                size - 0.24,
                0.62,
                boxstyle="round,pad=0.02",
                facecolor=RECORD if node in shown else "none",
                alpha=0.35 if node in shown else 1.0,
                edgecolor="none" if node in shown else QUIET,
                linewidth=1.0,
            )
            ax.add_patch(box)
            if holds:
                edge = FancyBboxPatch(
                    (start + 0.12, level + 0.1),
                    size - 0.24,
                    0.62,
                    boxstyle="round,pad=0.02",
                    facecolor="none",
                    edgecolor=NOISE,
                    linewidth=1.8,
                )
                ax.add_patch(edge)
            words = f"{start + 1}" if size == 1 else f"{start + 1}-{start + size}"
            ax.text(
                start + size / 2,
                level + 0.41,
                words,
                ha="center",
                va="center",
                fontsize=8,
            )
    words = (
        f"filled: the noisy sums that add up to records 1 to {t}; orange: all that hold "
        f"{record}"
    )
    ax.text(0.1, -0.3, words, fontsize=7.5)
    return fig


def _nodes_of_prefix(t):
    """The dyadic nodes (start, size) whose sums add up to the first t records."""
    nodes = []
    start = 0
    for level in reversed(range(int(np.log2(t)) + 1)):
        size = 2**level
        if t & size:
            nodes.append((start, size))
            start += size
    return nodes
