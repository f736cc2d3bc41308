"""Long games: who plays them, and what their slopes say."""

import matplotlib as mpl
import numpy as np
import pytest

from companion.accounting.privacy import NO_PRIVACY
from companion.arena import kinds, rates
from companion.simulate import Result


def planted(powers, n=4, T=1000):
    """A `Result` in which policy i has regret like rounds to the power i, up to a factor."""
    rounds = np.unique(np.geomspace(10, T, 13).round().astype(int))
    factor = 1.0 + 0.1 * np.arange(n)[:, None, None]
    regret = factor * np.stack([rounds**a for a in powers.values()])[None]
    seconds = np.full((n, len(powers)), 1e-6 * T)
    return Result(tuple(powers), rounds, regret, (NO_PRIVACY,) * len(powers), seconds)


def test_slopes_and_shares_are_those_of_the_curves():
    rows = rates.slopes({"w": planted({"LinUCB": 0.5, "Random": 1.0})})
    assert [row["slope"].value for row in rows] == pytest.approx([0.5, 1.0])
    assert [row["of random play's"] for row in rows] == pytest.approx([1000**-0.5, 1.0])
    assert [row["ns a round"] for row in rows] == pytest.approx([1000.0] * 2)


def test_a_slope_is_that_of_the_last_decade():
    game = planted({"LinUCB": 1.0, "Random": 1.0})
    flat = np.minimum(game.regret, game.regret[:, :, game.rounds.searchsorted(100)][:, :, None])
    rows = rates.slopes({"w": game._replace(regret=flat)})
    assert rows[0]["slope"].value == pytest.approx(0.0)


def test_only_who_is_fast_enough_plays_and_a_short_game_has_the_same_players():
    game = rates.long_game(kinds.dense(5, 3), 200, 8.0, 2, 1)
    assert set(game.names) == {
        "Corrected ridge", "JDP-LinUCB", "LDP-LinUCB", "LinUCB", "Random", "SDP-LinUCB",
    }  # fmt: skip
    assert game.regret.shape == (2, 6, len(game.rounds))
    assert (game.rounds[0], game.rounds[-1]) == (10, 200)
    other = rates.long_game(kinds.dense(5, 3), 200, 8.0, 2, 2)
    assert not np.array_equal(game.regret, other.regret)


def test_the_picture_has_a_curve_for_every_policy_and_its_data():
    mpl.use("Agg")
    games = dict.fromkeys("ab", planted({"LinUCB": 0.5, "Random": 1.0}))
    fig, data = rates.picture(games)
    assert [len(ax.get_lines()) for ax in fig.axes] == [2, 2]
    assert len(data) == 2 * 2 * len(games["a"].rounds)
    mean, std = 1.15 * 10**0.5, np.std([1.0, 1.1, 1.2, 1.3], ddof=1) * 10**0.5
    assert (data[0]["world"], data[0]["policy"], data[0]["round"]) == ("a", "LinUCB", 10)
    assert (data[0]["mean"], data[0]["std"]) == (pytest.approx(mean), pytest.approx(std))
