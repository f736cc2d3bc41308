"""Figures of the arena: regret against the budget, the price of trust, growth over rounds.

Each gives (figure, rows for the data below it) from `contest.Setting`s.
"""

import numpy as np
import pandas as pd

from companion.report import plots, regret

PRIVATE = ("local", "shuffle", "joint")


def budget(settings):
    """Regret as a share of random play's against epsilon, in settings of one world and horizon."""
    epsilons, first = [s.epsilon for s in settings], settings[0]
    fig, axes = plots.panels(2, sharey=True)
    data = []
    for ax, models in zip(axes, (PRIVATE[:1], PRIVATE[1:]), strict=True):
        names = {n: first.runs[n].title for m in models for n in first.of(m)}
        looks = plots.looks(names.values())
        for name, title in names.items():
            y = np.array([s.runs[name].tuned / s.random.mean() for s in settings]).T
            plots.curve(ax, epsilons, y, title, looks[title], marker=True)
            data += [{"policy": name, "epsilon": s.epsilon} | s.share(name)._asdict()
                     for s in settings]  # fmt: skip
        ax.axhline(first.share("linucb").value, color="0.35", linestyle=":")
        ax.axhline(1.0, color="0.6", linewidth=0.8)
        ax.set(xscale="log", xlabel="ε", title=" and ".join(models), ylim=(0, 1.25))
        plots.ticks(ax.xaxis, epsilons)
        plots.label_ends(ax)
    axes[0].set_ylabel("regret / random play")
    return fig, data


def trust(settings):
    """Regret of the best policy of each trust model over that of the best without privacy."""
    fig, (ax,) = plots.panels(1, height=0.4 * len(settings) + 0.9)
    data = []
    for y, s in enumerate(settings):
        for i, model in enumerate(PRIVATE):
            if price := s.prices.get((model, "none")):
                value, low, high = price
                ax.errorbar(value, y + 0.22 * (i - 1), xerr=[[value - low], [high - value]],
                            capsize=2, marker=plots.MARKERS[i],
                            color=plots.COLOURS[plots.MODELS[model]])  # fmt: skip
                told = {"world": s.world, "T": s.T, "model": model, "policy": s.winners[model][0]}
                data.append(told | price._asdict())
    ax.set(xscale="log", xlabel="regret / best without privacy", ylim=(len(settings) - 0.5, -0.5))
    titles = [f"{s.world} · {s.T:,}" for s in settings]
    ax.set_yticks(range(len(titles)), titles, fontsize="small")
    regret.round_ticks(ax)
    for i, model in enumerate(PRIVATE):
        ax.plot([], [], plots.MARKERS[i], color=plots.COLOURS[plots.MODELS[model]], label=model)
    fig.legend(frameon=False, loc="outside upper center", ncols=3, columnspacing=1.0)
    return fig, data


def growth(games):
    """Regret against rounds, a panel for every world."""
    fig, axes = plots.panels(len(games))
    for ax, (title, game) in zip(axes, games.items(), strict=True):
        samples = {name: game.of(name) for name in game.names}
        how = {"xlabel": "round", "ylabel": "cumulative regret", "styles": plots.looks(game.names)}
        regret.against(game.rounds, samples, ax=ax, log="xy", marker=False, title=title, **how)
    data = pd.concat({title: game.to_frame() for title, game in games.items()}, names=["world"])
    data = data.groupby(["world", "policy", "round"], sort=False)
    return fig, data.regret.agg(["mean", "std"]).reset_index()
