"""Pictures of a report: the newcomer among the others."""

import base64
import io

from companion.report import plots


def standing(rows, title: str) -> str:
    """A row per policy, best on top, its share of random play's regret with the 95 % interval; the
    newcomer is marked.  A picture as a `data:` address."""
    fig, (ax,) = plots.panels(1, height=0.3 * len(rows) + 1.0)
    for y, r in enumerate(rows):
        new = r["verdict"] is None
        ends = [[r["share"] - (r["low"] or 0.0)], [max((r["high"] or 2.0) - r["share"], 0.0)]]
        ax.errorbar([r["share"]], [y], xerr=ends, capsize=2, fmt="D" if new else "o",
                    markersize=9 if new else 5, color=plots.COLOURS[3 if new else 0])  # fmt: skip
    ax.axvline(1.0, color="0.6", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [f"{r['policy']} ({r['model']})" for r in rows])
    for label, r in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if r["verdict"] is None else "normal")
    high = min(max(1.1, *(r["high"] or 2.0 for r in rows)), 2.0)
    ax.set(xlabel="regret / random play", title=title, xlim=(0, 1.05 * high))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    out = io.BytesIO()
    fig.savefig(out, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plots.plt.close(fig)
    return f"data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}"
