"""The picture of the README, drawn again from the data of an executed chapter.

    python -m tools.figure book/_static/figure1.svg

takes the chapter's latest execution.  Regret is shown as a share of random play's, on a logarithmic
axis: so no budget hides another.  The picture has a white ground, as dark pages show it, too, and
is no wider than a phone.
"""

import base64
import io
import json
import re
import sys
from pathlib import Path

import pandas as pd

from companion.report import phone, plots
from tools import cache
from tools.errors import Failure

BUILD = Path("_build")
CHAPTER, FIGURE = "online_linucb", "online-figure1-corrected"
TICKS = (0.01, 0.03, 0.1, 0.3, 1.0)


def extract(notebook, name):
    """The data of the figure `name` in an executed notebook.  Raises Failure if it has none."""
    pattern = rf'id="fig-{re.escape(name)}">.*?href="data:text/csv;base64,([A-Za-z0-9+/=]+)"'
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", ""))
            if found := re.search(pattern, text, re.DOTALL):
                return pd.read_csv(io.BytesIO(base64.b64decode(found[1])))
    raise Failure(f"the latest execution shows no figure named {name}")


def draw(data):
    """A figure with a panel per budget; data: mean regret by policy ("name | budget") and round."""
    curves = data.pivot_table(index="round", columns="policy", values="mean", sort=False)
    shares = curves.div(curves.pop("Random"), axis=0)
    budgets = dict.fromkeys(n.partition(" | ")[2] for n in shares if " | " in n)
    fig, axes = plots.panels(len(budgets), stacked=True, width=4.4, height=1.95, sharex=True)
    for ax, budget in zip(axes, budgets, strict=True):
        for name in shares:
            policy, _, at = name.partition(" | ")
            if at in ("", budget):
                style = plots.look(policy) | {"marker": "", "lw": 1.8}
                ax.plot(shares.index, shares[name], label=policy, **style)
        ax.set(yscale="log", ylim=(0.8 * TICKS[0], 1.3), xlim=(0, shares.index[-1]))
        ax.set_title(f"ε = {budget}: share of random play's regret", loc="left")
        ax.axhline(1.0, color="0.35", lw=1)
        plots.ticks(ax.yaxis, TICKS)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        plots.label_ends(ax)
    axes[-1].set_xlabel("round")
    axes[-1].xaxis.set_major_locator(plots.plt.MaxNLocator(4))
    for text in fig.findobj(phone.Text):
        text.set_fontsize(10)
    return fig


def main(target):
    """Write the figure to `target`."""
    runs = sorted((BUILD / "executed" / CHAPTER).glob("*.ipynb"), key=lambda p: p.stat().st_mtime)
    if not runs:
        raise Failure(f"{CHAPTER} has not been executed: run `make book`")
    cache.put(Path(target), svg(extract(json.loads(runs[-1].read_text("utf8")), FIGURE)))


def svg(data):
    """The bytes of the picture."""
    plots.use_style()
    out = io.BytesIO()
    style = {"metadata": {"Date": None}, "bbox_inches": "tight", "facecolor": "white"}
    draw(data).savefig(out, format="svg", **style)
    return out.getvalue().replace(b"<svg ", b'<svg style="background: white" ', 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
