"""Pictures of the arena: regret against the budget, the price of trust, who wins where.

Each gives (figure, rows for the data below it) from `contest.Setting`s.
"""

import numpy as np

from companion.report import plots
from companion.report.regret import round_ticks

PRIVATE = ("local", "shuffle", "joint")


def budget(settings):
    """Regret as a share of random play's against epsilon, in settings of one world and horizon."""
    epsilons, first = [s.epsilon for s in settings], settings[0]
    fig, axes = plots.panels(2, sharey=True)
    data = []
    for ax, models in zip(axes, (PRIVATE[:1], PRIVATE[1:]), strict=True):
        names = [n for m in models for n in first.of(m)]
        title = {n: first.runs[n].title for n in names}
        own = plots.looks(list(title.values()))
        for name in names:
            y = np.array([s.shares(name) for s in settings]).T
            plots.curve(ax, epsilons, y, title[name], own[title[name]], marker=True)
            data += [
                {"policy": name, "epsilon": s.epsilon} | s.share(name)._asdict() for s in settings
            ]
        ax.axhline(first.share("linucb").value, color="0.35", linestyle=":")
        ax.axhline(1.0, color="0.6", linewidth=0.8)
        ax.set(xscale="log", xlabel="ε", title=" and ".join(models), ylim=(0, 1.25))
        plots.ticks(ax.xaxis, epsilons)
        plots.label_ends(ax)
    axes[0].set_ylabel("regret / random play")
    return fig, data


def _places(ax, settings):
    """Worlds and their rounds from top to bottom on the vertical axis."""
    titles = [f"{s.world} · {s.T:,}" for s in settings]
    ax.set_yticks(range(len(titles)), titles, fontsize="small")
    ax.set_ylim(len(titles) - 0.5, -0.5)


def trust(settings):
    """Regret of the best policy of each trust model over that of the best without privacy."""
    fig, (ax,) = plots.panels(1, height=0.45 * len(settings) + 0.8)
    data = []
    for i, model in enumerate(PRIVATE):
        for y, s in enumerate(settings):
            if (price := s.prices.get((model, "none"))) is None:
                continue
            label = None if any(row["model"] == model for row in data) else model
            ends = [[price.value - price.low], [price.high - price.value]]
            ax.errorbar([price.value], [y + 0.22 * (i - 1)], xerr=ends, label=label, capsize=2,
                        fmt=plots.MARKERS[i], color=plots.COLOURS[plots.MODELS[model]])  # fmt: skip
            first = s.winners[model][0]
            data.append({"world": s.world, "T": s.T, "model": model, "policy": first}
                        | price._asdict())  # fmt: skip
    ax.set(xscale="log", xlabel="regret / best without privacy")
    _places(ax, settings)
    round_ticks(ax)
    fig.legend(frameon=False, loc="outside upper center", ncols=3, columnspacing=1.0)
    return fig, data


def winners(settings):
    """The policy of least regret in each trust model: full marks are decided, hollow ones not,
    and small ones have no rival.
    """
    epsilons = sorted({s.epsilon for s in settings})
    rows = list({(s.world, s.T): s for s in settings}.values())
    data = [
        {"world": s.world, "T": s.T, "epsilon": s.epsilon, "model": model,
         "first": s.winners[model][0], "rivals": len(s.of(model)) - 1,
         "undecided with": ", ".join(s.winners[model][1])}
        for s in settings for model in PRIVATE if model in s.winners
    ]  # fmt: skip
    names = sorted({row["first"] for row in data})
    titles = {n: s.runs[n].title for s in settings for n in names if n in s.runs}
    own = plots.looks([titles[n] for n in names])
    look = {n: (own[titles[n]]["color"], own[titles[n]]["marker"]) for n in names}
    fig, axes = plots.panels(3, sharey=True, height=0.2 * len(rows) + 0.6)
    for ax, model in zip(axes, PRIVATE, strict=True):
        for row in (row for row in data if row["model"] == model):
            y = [(s.world, s.T) for s in rows].index((row["world"], row["T"]))
            colour, marker = look[row["first"]]
            inside = "none" if row["undecided with"] else colour
            ax.plot(epsilons.index(row["epsilon"]), y, marker, color=colour,
                    markersize=9 if row["rivals"] else 4, markerfacecolor=inside)  # fmt: skip
        ax.set_xticks(range(len(epsilons)), [f"{e:g}" for e in epsilons])
        ax.set(title=model, xlabel="ε", xlim=(-0.6, len(epsilons) - 0.4))
    _places(axes[0], rows)
    key = [plots.plt.Line2D([], [], linestyle="", marker=m, color=c) for c, m in look.values()]
    fig.legend(key, names, loc="outside lower center", ncols=2, frameon=False)
    return fig, data
