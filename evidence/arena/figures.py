"""Figures of the arena: regret against the budget, the price of trust.

Each gives (figure, frame of the data) from `contest.Setting`s.
"""

import numpy as np
import pandas as pd

from companion.stats import Interval
from evidence.arena.contest import MODELS
from evidence.claims import plots, regret

PRIVATE = MODELS[:3]


def budget(settings):
    """Regret as a share of random play's against epsilon, in settings of one world and
    horizon."""
    first = settings[0]
    epsilons = [s.epsilon for s in settings]
    fig, axes = plots.panels(2, sharey=True)
    drawn = {}
    for ax, models in zip(axes, (PRIVATE[:1], PRIVATE[1:]), strict=True):
        shares = {}
        for name in first.of(*models):
            samples = [s.runs[name].tuned / s.random.mean() for s in settings]
            shares[first.runs[name].title] = np.array(samples).T
        free = first.runs["linucb"].tuned.mean() / first.random.mean()
        ax.plot(epsilons, [free] * len(epsilons), label="LinUCB", **plots.look("LinUCB"))
        ax.axhline(1.0, color="0.6", linewidth=0.8)
        regret.against(
            epsilons,
            shares,
            ax=ax,
            ticked=True,
            log="x",
            ylim=(0, 1.25),
            xlabel="ε",
            ylabel="regret / random play",
            title=" and ".join(models),
        )
        drawn |= shares
    return fig, regret.moments(epsilons, drawn, "epsilon")


def trust(settings):
    """Regret of the best policy of each trust model over that of the best without
    privacy."""
    rows = []
    for place, s in enumerate(settings):
        for (model, cheaper), price in s.prices.items():
            if cheaper == "none":
                rows.append((place, s.world, s.T, model, s.winners[model][0], *price))
    columns = ["place", "world", "T", "model", "policy", *Interval._fields]
    data = pd.DataFrame(rows, columns=columns)
    fig, (ax,) = plots.panels(1, height=0.4 * len(settings) + 0.9)
    for i, model in enumerate(PRIVATE):
        own = data[data.model == model]
        ax.errorbar(
            own.value,
            own.place + 0.22 * (i - 1),
            xerr=[own.value - own.low, own.high - own.value],
            fmt=plots.MARKERS[i],
            capsize=2,
            color=plots.COLOURS[i + 1],  # of the LinUCB that keeps each
            label=model,
        )
    ax.axvline(1.0, color="0.6", linewidth=0.8)
    ylim = (len(settings) - 0.5, -0.5)
    ax.set(xscale="log", xlabel="regret / best without privacy", ylim=ylim)
    titles = [f"{s.world} · {s.T:,}" for s in settings]
    ax.set_yticks(range(len(titles)), titles, fontsize="small")
    fig.legend(frameon=False, loc="outside upper center", ncols=3, columnspacing=1.0)
    return fig, data
