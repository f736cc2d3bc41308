"""How regret grows over long games, for the policies that are fast enough to play them.

Default constants, corrected calibration, delta = 1/T; the streams are used by nothing else.
"""

import numpy as np
import pandas as pd

from companion.arena import recipes
from companion.report import plots, regret
from companion.simulate import repetitions, simulate
from companion.stats import exponent

LONG = 1_000_000  # rounds that a policy must be fast enough for, whatever is played


def long_game(world, T: int, epsilon: float, n_reps: int, seed: int):
    """Regret in T >= 100 rounds of a world, four times per decade of the last three: every policy
    whose recipe lets it play `LONG` rounds."""
    calls = [c for c in recipes.lineup(world, T, epsilon)[0]
             if not recipes.refused(c.factory, world, LONG)]  # fmt: skip
    grid = np.unique(np.geomspace(max(T / 1000, 10), T, 13).round().astype(int))
    players = [c.policy() for c in calls]
    return simulate(world.env, players, T, repetitions(seed, n_reps, 4), grid=grid)


def slopes(games):
    """A row for every policy and world: regret, its share of random play's, the exponent over the
    last decade of rounds, nanoseconds of a round in `play`."""
    rows = []
    for title, game in games.items():
        late = game.rounds >= 0.099 * game.rounds[-1]
        random = game.of("Random")[:, -1].mean()
        for name, seconds in zip(game.names, game.seconds.mean(axis=0), strict=True):
            paid = game.of(name)
            rows.append({
                "world": title,
                "policy": name,
                "regret": paid[:, -1].mean(),
                "of random play's": paid[:, -1].mean() / random,
                "slope": exponent(game.rounds[late], paid[:, late]),
                "ns a round": 1e9 * seconds / game.rounds[-1],
            })  # fmt: skip
    return rows


def picture(games):
    """(figure, data below it): regret against rounds, a panel for every world."""
    fig, axes = plots.panels(len(games))
    for ax, (title, game) in zip(axes, games.items(), strict=True):
        samples = {name: game.of(name) for name in game.names}
        regret.against(game.rounds, samples, ax=ax, log="xy", styles=plots.looks(game.names),
                       marker=False, title=title, xlabel="round",
                       ylabel="cumulative regret")  # fmt: skip
    frames = {title: game.to_frame() for title, game in games.items()}
    data = pd.concat(frames, names=["world"]).groupby(["world", "policy", "round"], sort=False)
    return fig, data.regret.agg(["mean", "std"]).reset_index()
