"""How regret grows over long games, for the policies that are fast enough to play them.

Default constants, corrected calibration, delta = 1/T; the streams are used by nothing else.
"""

import numpy as np

from companion.arena import worlds
from companion.report import plots
from companion.simulate import repetitions, simulate
from companion.stats import exponent

LONG = 1_000_000  # rounds that a policy must be fast enough for, whatever is played


def long_game(world, T: int, epsilon: float, n_reps: int, seed: int):
    """Regret in T >= 100 rounds of a world, four times per decade of the last three: every policy
    whose recipe lets it play `LONG` rounds."""
    fast = [c.factory for c in worlds.lineup(world, LONG, epsilon)[0]]
    calls = [c for c in worlds.lineup(world, T, epsilon)[0] if c.factory in fast]
    grid = np.unique(np.geomspace(max(T / 1000, 10), T, 13).round().astype(int))
    policies = [c.policy() for c in calls]
    return simulate(world.env, policies, T, repetitions(seed, n_reps, 4), grid=grid)


def slopes(games):
    """A row for every policy and world: regret, its share of random play's, the exponent over the
    last decade of rounds, nanoseconds of a round in `play`."""
    rows = []
    for title, game in games.items():
        late = game.rounds >= 0.099 * game.rounds[-1]
        random = game.of("Random")[:, -1].mean()
        for i, name in enumerate(game.names):
            regret = game.of(name)
            rows.append(
                {
                    "world": title,
                    "policy": name,
                    "regret": regret[:, -1].mean(),
                    "of random play's": regret[:, -1].mean() / random,
                    "slope": exponent(game.rounds[late], regret[:, late]),
                    "ns a round": 1e9 * game.seconds[:, i].mean() / game.rounds[-1],
                }
            )
    return rows


def picture(games):
    """(figure, rows for the data below it): regret against rounds, a panel for every world."""
    fig, axes = plots.panels(len(games), sharey=True)
    data = []
    for ax, (title, game) in zip(axes, games.items(), strict=True):
        own = plots.looks(list(game.names))
        for name in game.names:
            plots.curve(ax, game.rounds, game.of(name), name, own[name])
            mean, std = game.of(name).mean(axis=0), game.of(name).std(axis=0, ddof=1)
            data += [
                {"world": title, "policy": name, "round": int(t), "mean": m, "std": s}
                for t, m, s in zip(game.rounds, mean, std, strict=True)
            ]
        ax.set(xscale="log", yscale="log", xlabel="round", title=title)
    for ax in axes:  # when all limits are known
        plots.label_ends(ax)
    axes[0].set_ylabel("cumulative regret")
    return fig, data
