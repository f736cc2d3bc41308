"""Policies at several privacy budgets in one `simulate` call, named "name | budget"."""

import pandas as pd

from companion.stats import ratio
from evidence.claims import plots, regret, tables


def at(name: str, epsilon: float) -> str:
    """The name of a policy at one budget."""
    return f"{name} | {epsilon:g}"


def table(cells, epsilons):
    """{name or "name | budget": text} as a table: a row per name, a column per budget."""
    frame = pd.DataFrame(columns=[f"ε = {e:g}" for e in epsilons], dtype=object)
    for label, text in cells.items():
        name, _, budget = label.partition(" | ")
        frame.loc[name, f"ε = {budget}" if budget else slice(None)] = text
    return frame


def finals(result, epsilons):
    """Mean final regret with its 95 % interval, a row per policy, a column per budget,
    folded."""
    cells = dict(zip(result.names, map(tables.mean, result.final.T), strict=True))
    return tables.numbers(
        table(cells, epsilons),
        fold="Final regrets, mean and 95 % interval",
    )


def over_best(result, epsilon: float, ours: str, baselines, level: float = 0.95):
    """(baseline of least mean regret, interval of our final regret over its) at one
    budget."""
    finals = {}
    for name in (ours, *baselines):
        finals[name] = result.of(at(name, epsilon))[:, -1]
    best = min(baselines, key=lambda name: finals[name].mean())
    return best, ratio(finals[ours], finals[best], level)


def panels(result, epsilons, shared):
    """(figure, data): regret over the rounds, a panel per budget; shared: names in every
    panel, "Random" among them."""
    fig, axes = plots.panels(len(epsilons), sharex=True)
    for ax, epsilon in zip(axes, epsilons, strict=True):
        shown = {}
        for name in result.names:
            if name in shared or name.endswith(f"| {epsilon:g}"):
                shown[name.split(" |")[0]] = result.of(name)
        play = shown.pop("Random").mean(axis=0)
        regret.over_rounds(
            result.rounds,
            shown,
            play,
            ax=ax,
            title=f"ε = {epsilon:g}",
        )
        ax.label_outer()
    grouped = result.to_frame().groupby(["policy", "round"], sort=False).regret
    return fig, grouped.agg(["mean", "std"]).reset_index()
