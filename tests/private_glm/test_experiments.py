"""What the chapters measure of whole runs."""

import numpy as np
import pytest

from companion.baselines.ecolog import ecolog
from companion.baselines.gloc import gloc
from companion.private_glm import experiments
from companion.private_glm.environments import fixed_world, idle_regret, paper_world, world
from companion.private_glm.experiments import covered
from companion.private_glm.joint import joint_glm
from companion.private_glm.presets import PRESETS
from companion.private_glm.shuffle import shuffle_glm
from companion.report.published import published
from companion.simulate import repetitions, simulate

TIGHT = PRESETS["tight"]


def test_fits_never_exceed_what_is_paid_for():
    env = world("ball", 3, 2.0)
    for preset in (TIGHT, PRESETS["explore"]):
        preset = preset._replace(cutoff_tau=2, cutoff_o=1, a_v=0.0, a_h=0.0)
        policy = joint_glm(3, 600, epsilon=1.0, delta=0.02, preset=preset)
        run = experiments.counted(env, policy, 600, repetitions(1, 3))
        assert run.fits[:, 1].max() == 2
        assert run.fits[:, 0].max() <= 1
        same = simulate(env, [policy], 600, repetitions(1, 3)).of(policy.name)
        np.testing.assert_allclose(run.regret, same)


def test_the_first_fit_is_dated_by_its_block():
    """e_1 has doubled its entry of H after six rounds: 0.5 + 6 slope(0)/e > 1."""
    for T, expected in ((120, 1), (6, 7)):
        env = fixed_world(np.tile(np.eye(2), (T, 1, 1)), [1.0, 0.0], "logistic")
        policy = joint_glm(
            2, T, epsilon=np.inf, delta=0.02, preset=TIGHT._replace(gamma=0.05, width=0.5)
        )
        run = experiments.counted(env, policy, T, repetitions(1, 2))
        assert run.first_fit.tolist() == [expected] * 2
        assert (run.fits[:, 1] > 0).all() == (T > 6)


def test_a_panel_of_figure_1():
    """Factories get what they take; names say preset and budget; random play is exact."""
    panel = published("private_glm")["figure1a"]
    choices = [("fig1", 2.0), ("tight", np.inf)]
    found, play = experiments.figure1(panel, 60, 0.02, choices, (ecolog, gloc), repetitions(1, 2))
    assert list(found.names) == ["ECOLog", "GLOC", "fig1, ε = 2", "tight, no noise"]
    env = paper_world(60, 5, 3.5, "logistic")
    assert play == pytest.approx(idle_regret(env, 60, "random"))
    assert found.rounds[-1] == 60
    assert (found.final > 0).all()
    assert (found.final < 2 * play[-1]).all()


class Watched:
    """A world that notes in which state it finds the streams that it is handed."""

    def __init__(self, world):
        self.world, self.seen = world, []

    def __getattr__(self, name):
        def call(*args):
            (rng,) = (a for a in args if isinstance(a, np.random.Generator))
            self.seen.append((name, rng.bit_generator.state["state"]["state"]))
            return getattr(self.world, name)(*args)

        return call


def test_what_widths_cover():
    """`covered` plays the run of `simulate`, and counts what a wide width covers."""
    env, seeds = world("ball", 2, 1.5, K=5), repetitions(3, 4)
    wide = covered(
        env,
        shuffle_glm(2, 5, 600, epsilon=4.0, delta=0.01, theta_bound=1.5, gamma=50.0),
        600,
        seeds,
    )
    assert wide.inside.min() == 1.0
    assert wide.too_heavy.max() == wide.lost.max() == 0.0
    assert wide.alive.min() == 5.0
    assert wide.excess.min() > 0.0
    narrow = covered(
        env,
        shuffle_glm(2, 5, 600, epsilon=4.0, delta=0.01, theta_bound=1.5, gamma=0.05),
        600,
        seeds,
    )
    assert narrow.inside.mean() < 0.5
    assert narrow.alive.max() < 3.0
    assert narrow.too_heavy.mean() > 0.05
    assert narrow.lost.mean() > 0.0
    mixed = shuffle_glm(2, 5, 600, epsilon=4.0, delta=0.01, theta_bound=1.5, kappa=1e6, gamma=0.05)
    found = covered(env, mixed, 600, seeds)  # a wide first batch and a narrow second one
    assert found.inside[:, 0].min() == 1.0
    assert found.inside[:, 1].mean() < 0.5


def test_coverage_is_measured_on_fresh_contexts_of_the_world_that_was_played():
    env = Watched(world("ball", 2, 1.5, K=5))
    covered(
        env,
        shuffle_glm(2, 5, 600, epsilon=4.0, delta=0.01, theta_bound=1.5),
        600,
        repetitions(3, 1),
    )
    seen = dict(env.seen)
    assert seen["theta"] == seen["blocks"] != seen["arms"]
