"""Policies at several privacy budgets in one `simulate` call, named "name | budget"."""

import pandas as pd

from companion.report import plots
from companion.stats import mean_interval


def at(name, epsilon):
    """The name of a policy at one budget."""
    return f"{name} | {epsilon:g}"


def lineup(make, epsilons, shared=()):
    """The policies `shared`, then those of make(epsilon) for every budget, renamed after it."""
    return [*shared, *(p.renamed(at(p.name, e)) for e in epsilons for p in make(e))]


def table(cells, epsilons):
    """{name or "name | budget": text} as a table: a row per name, a column per budget."""
    rows = {}
    for label, text in cells.items():
        name, _, budget = label.partition(" | ")
        for column in [budget] if budget else [f"{e:g}" for e in epsilons]:
            rows.setdefault(name, {})[f"ε = {column}"] = text
    return pd.DataFrame(rows).T


def finals(result, epsilons):
    """Mean final regret with its 95 % interval, a row per policy, a column per budget."""
    parts = zip(result.names, result.final.T, strict=True)
    return table({name: f"{mean_interval(f):.0f}" for name, f in parts}, epsilons)


def panels(result, epsilons, shared, title):
    """(figure, data): regret over the rounds, a panel per budget; shared: names in every panel."""
    fig, axes = plots.panels(len(epsilons), stacked=True, width=7.2, height=3.4, sharex=True)
    for ax, epsilon in zip(axes, epsilons, strict=True):
        names = [n for n in result.names if n.endswith(f"| {epsilon:g}")]
        for i, name in enumerate([*shared, *names]):
            plots.curve(ax, result.rounds, result.of(name), name.split(" |")[0], i)
        ax.set(title=f"{title}, ε = {epsilon:g}", ylabel="cumulative regret")
        ax.set(xlim=(0, result.rounds[-1]))
        ax.set_ylim(bottom=0)
        plots.label_ends(ax)
    axes[-1].set_xlabel("round")
    grouped = result.to_frame().groupby(["policy", "round"], sort=False).regret
    return fig, grouped.agg(["mean", "std"]).reset_index()
