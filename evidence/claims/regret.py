"""Pictures of regret against a setting: curves, their data and their words, alike in
every chapter.

Samples are {label: (n_reps, m)}, in the order of their colours.
"""

import numpy as np
import pandas as pd

from companion.simulate import simulate
from companion.stats import band, exponent
from evidence.claims import plots

MARKED = 20  # points of a curve that have a marker, at most


def against(
    x,
    samples,
    *,
    points=(),
    ticked=False,
    log="",
    ax=None,
    **axes,
):
    """(figure, axes) with a curve and band for every label, labelled at their ends.

    The mean of samples (n_reps, len(x)) with its 95 % confidence band.  (Seaborn's own
    lines would average logarithms on logarithmic axes.)  points: label -> rows (x, mean,
    standard error) of published values: hollow circles over its curve, with 95 %
    intervals; ticked: the values of x are the ticks; log: which of "xy" are logarithmic;
    axes: as for `Axes.set`.  Labels that begin with the name of a policy have its
    look (`plots.looks`); up to MARKED values of x have a marker.
    """
    if ax is None:
        _, (ax,) = plots.panels(1, height=2.7)
    looks = plots.looks(samples)
    for label, y in samples.items():
        own = looks[label]
        mean, low, high = band(y)
        (line,) = ax.plot(x, mean, label=label, **own)
        if len(x) > MARKED:
            line.set_marker("")
        ax.fill_between(x, low, high, color=own["color"], alpha=0.18, linewidth=0)
        if label in points:
            at, printed, error = np.transpose(points[label])
            ax.errorbar(
                at,
                printed,
                yerr=1.96 * error,
                fmt="o",
                color=own["color"],
                markerfacecolor="white",
                capsize=2,
                elinewidth=1,
                zorder=4,
            )
    ax.set(**{f"{which}scale": "log" for which in log}, **axes)
    if ticked:
        plots.ticks(ax.xaxis, x)
    plots.label_ends(ax)
    return ax.figure, ax


def growth(x: np.ndarray, samples, **axes):
    """{label: exponent} fitted to every curve, which `against` draws on logarithmic axes.

    Every curve's label is followed by its exponent; the rest as for `against`.
    """
    fits = {}
    named = {}
    for label, y in samples.items():
        fits[label] = exponent(x, y)
        named[f"{label}: {fits[label].value:.2f}"] = y
    against(x, named, log="xy", **axes)
    return fits


def picture(
    x,
    samples,
    *,
    name: str,
    alt: str,
    caption: str,
    data=None,
    lines=(),
    **how,
) -> None:
    """Show `against` as a figure of its own: how, as there; the ends of the curves follow
    alt.

    data: as for `plots.show` (None: `moments`); lines: (y, dash) of grey reference lines
    over x.
    """
    fig, ax = against(x, samples, **how)
    for y, dash in lines:
        ax.plot(x, y, color="0.5", linestyle=dash, linewidth=1)
    data = moments(x, samples) if data is None else data
    plots.show(fig, alt=f"{alt} {ends(samples)}", caption=caption, data=data, name=name)


def figure(result, title: str, **words) -> None:
    """Show the cumulative regret of a `simulate.Result` over its rounds.

    words: name, alt and caption, as for `picture`.
    """
    samples = {policy: result.of(policy) for policy in result.names}
    picture(
        result.rounds,
        samples,
        title=title,
        xlim=(0, result.rounds[-1]),
        ylim=(0, None),
        xlabel="round",
        ylabel="cumulative regret",
        **words,
    )


def finals(points, seeds) -> dict[str, np.ndarray]:
    """{name: (n_reps, m)}: final regrets of policies at m points (env, policies, T).

    The names are the same at every point, and all points see the same seeds.
    """
    runs = [simulate(env, policies, T, seeds, grid=[T]) for env, policies, T in points]
    return {n: np.stack([r.of(n)[:, -1] for r in runs], axis=1) for n in runs[0].names}


def over_rounds(rounds, samples, play, ax, title: str) -> None:
    """Draw a curve of cumulative regret for every label, and random play.

    play (len(rounds),) is a grey line, which leaves the picture 30 % above the highest
    end of a curve; the title says where it ends.
    """
    ax.plot(rounds, play, color="grey", linestyle="--", linewidth=1, label="_random")
    title = f"{title}; dashed: random, to {play[-1]:,.0f}"
    highest = max(y[:, -1].mean() for y in samples.values())
    against(
        rounds,
        samples,
        ax=ax,
        title=title,
        xlim=(0, rounds[-1]),
        ylim=(0, 1.3 * highest),
        xlabel="round",
        ylabel="cumulative regret",
    )


def ends(samples) -> str:
    """The means at the right ends of the curves, for the text that stands for a
    picture."""
    last = ", ".join(f"{name}: {np.mean(y[:, -1]):.3g}" for name, y in samples.items())
    return f"Means at the right end: {last}."


def moments(x, samples, x_name: str = "x"):
    """The plotted numbers as a frame: x, then mean and standard deviation of every
    curve."""
    frame = {x_name: x}
    for name, y in samples.items():
        frame[f"mean at {name}"] = y.mean(axis=0)
        frame[f"std at {name}"] = y.std(axis=0, ddof=1)
    return pd.DataFrame(frame)
