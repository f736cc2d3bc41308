"""Pictures of regret against a setting: curves, their data and their words, alike in every chapter.

Samples are {label: (n_reps, m)}, in the order of their colours.
"""

import numpy as np
import pandas as pd

from companion.report import plots
from companion.simulate import simulate
from companion.stats import exponent

ROUND = tuple(m * 10.0**k for k in range(-2, 8) for m in (1, 2, 5))


def against(x, samples, *, points=(), ticked=False, styles=(), marker=True, ax=None,
            size=(7.0, 2.8), log="", **axes):  # fmt: skip
    """(figure, axes) with a curve and band for every label, labelled at their ends.

    points: label -> (x, mean, standard error) of published values, over its curve; styles: label ->
    style as for `plots.curve` (others: their number); log: which axes are logarithmic, of "xy";
    axes: as for `Axes.set`; ticked: the values of x are the ticks, else logarithmic axes get round
    numbers.
    """
    fig, ax = plots.plt.subplots(figsize=size) if ax is None else (ax.figure, ax)
    for i, (label, y) in enumerate(samples.items()):
        style = dict(styles).get(label, i)
        plots.curve(ax, x, y, label, style, marker=marker)
        if label in points:
            at, mean, error = points[label]
            plots.published_points(ax, at, mean, style, error=error)
    ax.set(**{f"{which}scale": "log" for which in log}, **axes)
    if ticked:
        plots.ticks(ax.xaxis, x)
    else:
        round_ticks(ax)
    plots.label_ends(ax)
    return fig, ax


def growth(x, samples, *, styles=(), **axes):
    """{label: exponent} fitted to every curve, which `against` draws on logarithmic axes.

    Every curve's label is followed by its exponent; the rest as for `against`.
    """
    fits = {label: exponent(x, y) for label, y in samples.items()}
    named = {label: f"{label}: {fit.value:.2f}" for label, fit in fits.items()}
    styles = {named[label]: style for label, style in dict(styles).items()}
    shown = {named[label]: y for label, y in samples.items()}
    against(x, shown, styles=styles, xscale="log", yscale="log", **axes)
    return fits


def picture(x, samples, *, name, alt, caption, data=None, lines=(), **how):
    """Show `against` as a figure of its own: how, as there; the ends of the curves follow alt.

    data: as for `plots.show` (None: `moments`); lines: (y, dash) of grey reference lines over x.
    """
    fig, ax = against(x, samples, **how)
    for y, dash in lines:
        ax.plot(x, y, color="0.5", linestyle=dash, linewidth=1, label="_reference")
    data = moments(x, samples) if data is None else data
    plots.show(fig, alt=f"{alt} {ends(samples)}", caption=caption, data=data, name=name)


def finals(points, seeds):
    """{name: (n_reps, m)}: final regrets of policies at m points (env, policies, T).

    The names are the same at every point, and all points see the same seeds.
    """
    runs = [simulate(env, policies, T, seeds, grid=[T]) for env, policies, T in points]
    return {n: np.stack([r.of(n)[:, -1] for r in runs], axis=1) for n in runs[0].names}


def over_rounds(rounds, samples, play, *, ax, **how):
    """(figure, axes) with a curve of cumulative regret for every label, and random play.

    play (len(rounds),) is a grey line, which leaves the picture 30 % above the first curve's end;
    how: as for `against`.
    """
    top = 1.3 * next(iter(samples.values()))[:, -1].mean()
    ax.plot(rounds, play, color="grey", linestyle="--", linewidth=1, label="_random")
    at = min(np.searchsorted(play, 0.93 * top), len(rounds) - 1)
    text, place = f"random play: {play[-1]:.0f} at T", (rounds[at], play[at])
    ax.annotate(text, place, xytext=(8, 0), textcoords="offset points")
    return against(rounds, samples, marker=False, ax=ax, xlabel="round", **how,
                   ylabel="cumulative regret", xlim=(0, rounds[-1]), ylim=(0, top))  # fmt: skip


def round_ticks(ax):
    """Ticks 1, 2, 5, 10, ... on logarithmic axes, wherever that gives at least two of them."""
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        inside = [v for v in ROUND if low <= v <= high]
        if axis.get_scale() == "log" and 2 <= len(inside) <= 8:
            plots.ticks(axis, inside)


def ends(samples):
    """The means at the right ends of the curves, for the text that stands for a picture."""
    last = ", ".join(f"{name}: {np.mean(y[:, -1]):.3g}" for name, y in samples.items())
    return f"Means at the right end: {last}."


def moments(x, samples, x_name="x", label="{}"):
    """The plotted numbers as a frame: x, then mean and standard deviation of every curve."""
    frame = {x_name: x}
    for name, y in samples.items():
        frame[f"mean at {label.format(name)}"] = y.mean(axis=0)
        frame[f"std at {label.format(name)}"] = y.std(axis=0, ddof=1)
    return pd.DataFrame(frame)


def means(*results):
    """Mean and standard deviation of every policy at every round of `simulate.Result`s."""
    frames = [
        r.to_frame()
        .groupby(["policy", "round"], sort=False)["regret"]
        .agg(["mean", "std"])
        .reset_index()
        for r in results
    ]
    return pd.concat(frames)
