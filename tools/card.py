"""The picture beside a shared link: how many sentences were tested, and how they came out.

1200 x 630 pixels, drawn from the counted verdicts of the executed chapters; equal counts give equal
bytes.
"""

import io

from matplotlib.figure import Figure

from companion.report.looks import SHADES

PLACE = "book/_static/card.png"
SHOWN = "_static/card.png"  # in the site
TITLE = "Private Bandits, Reproduced"
ABOUT = "Five papers on differentially private bandits,\nrun again and tested sentence by sentence"


def draw(given, note=""):
    """The figure for {verdict: number}; note: what the banner of the site says, if anything."""
    fig = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, 1200), ylim=(630, 0))
    ax.axis("off")
    ax.text(70, 110, TITLE, size=46, weight="bold", va="center")
    ax.text(70, 215, ABOUT, size=26, va="center", color="0.25", linespacing=1.4)
    total, left = sum(given.values()), 70.0
    said = f"{total} sentences tested" if total else "No sentence tested yet"
    ax.text(70, 335, said, size=30, weight="bold", va="center")
    for i, (verdict, n) in enumerate(given.items()):
        ax.barh(405, 1060 * n / total, 60, left, color=SHADES[verdict], edgecolor="white", lw=2)
        left += 1060 * n / total
        x, y = 70 + 530 * (i % 2), 480 + 40 * (i // 2)
        ax.barh(y, 22, 22, x, color=SHADES[verdict], edgecolor="0.4", lw=1)
        ax.text(x + 36, y, f"{n} {verdict}", size=19, va="center")
    ax.text(1130, 602, note.split(":")[0], size=14, va="center", ha="right", color="0.35")
    return fig


def png(given, note=""):
    """The bytes of the picture."""
    held = io.BytesIO()
    draw(given, note).savefig(held, format="png", metadata={"Software": None})
    return held.getvalue()
