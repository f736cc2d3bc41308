"""Figures of the arena: regret against the budget, the price of trust.

Each gives (figure, rows for the data below it) from `contest.Setting`s.
"""

import numpy as np

from evidence.claims import plots, regret

PRIVATE = ("local", "shuffle", "joint")


def budget(settings):
    """Regret as a share of random play's against epsilon, in settings of one world and
    horizon."""
    epsilons = [s.epsilon for s in settings]
    first = settings[0]
    fig, axes = plots.panels(2, sharey=True)
    data = []
    for ax, models in zip(axes, (PRIVATE[:1], PRIVATE[1:]), strict=True):
        shares = {}
        for name in (n for m in models for n in first.of(m)):
            samples = [s.runs[name].tuned / s.random.mean() for s in settings]
            shares[first.runs[name].title] = np.array(samples).T
            data += [
                {"policy": name, "epsilon": s.epsilon} | s.share(name)._asdict()
                for s in settings
            ]
        ax.axhline(first.share("linucb").value, color="0.35", linestyle=":")
        ax.axhline(1.0, color="0.6", linewidth=0.8)
        how = {
            "xlabel": "ε",
            "ylabel": "regret / random play",
            "ylim": (0, 1.25),
            "log": "x",
        }
        how |= {
            "title": " and ".join(models),
            "styles": plots.looks(shares),
            "ticked": True,
        }
        regret.against(epsilons, shares, ax=ax, **how)
    return fig, data


def trust(settings):
    """Regret of the best policy of each trust model over that of the best without
    privacy."""
    fig, (ax,) = plots.panels(1, height=0.4 * len(settings) + 0.9)
    data = []
    for y, s in enumerate(settings):
        for i, model in enumerate(PRIVATE):
            if price := s.prices.get((model, "none")):
                value, low, high = price
                ax.errorbar(
                    value,
                    y + 0.22 * (i - 1),
                    xerr=[[value - low], [high - value]],
                    capsize=2,
                    marker=plots.MARKERS[i],
                    color=plots.COLOURS[plots.MODELS[model]],
                )
                told = {
                    "world": s.world,
                    "T": s.T,
                    "model": model,
                    "policy": s.winners[model][0],
                }
                data.append(told | price._asdict())
    ax.set(
        xscale="log",
        xlabel="regret / best without privacy",
        ylim=(len(settings) - 0.5, -0.5),
    )
    titles = [f"{s.world} · {s.T:,}" for s in settings]
    ax.set_yticks(range(len(titles)), titles, fontsize="small")
    for i, model in enumerate(PRIVATE):
        ax.plot(
            [],
            [],
            plots.MARKERS[i],
            color=plots.COLOURS[plots.MODELS[model]],
            label=model,
        )
    fig.legend(frameon=False, loc="outside upper center", ncols=3, columnspacing=1.0)
    return fig, data
