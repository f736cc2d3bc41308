"""No algorithm does half as much again as it did: counts, which a slow machine cannot change.

`operations.json` has what `counted.py` counted when an algorithm was last changed for a reason.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import counted
import numpy as np
import pytest

from benchmarks.floors import STEEPER
from companion.core import Optimiser
from companion.timing import cost_line
from companion.timing.roster import ROSTER

HERE = Path(__file__).parent
TABLE = json.loads((HERE / "operations.json").read_text("utf8"))
FACTOR = 1.5  # at which the table no longer holds; a loss of 2 is far beyond


def moved(table, now):
    """[what is FACTOR times what the table says, or less than the inverse of that], in words."""
    found = []
    for what in sorted(table.keys() | now.keys()):
        was, is_now = table.get(what, 0), now.get(what, 0)
        if not (was + 5) / FACTOR < is_now + 5 < FACTOR * (was + 5):  # a few more are no loss
            found.append(f"{what}: {is_now}; the table says {was}")
    return found


@pytest.fixture(scope="module")
def counts():
    """{name: counts} of the whole roster, from kernels that are not compiled."""
    return json.loads(in_python())


def in_python(*names):
    """What `counted.py` prints, run without compiling."""
    home = str(Path(counted.HOME).parent)
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": home}
    command = [sys.executable, str(HERE / "counted.py"), *names]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def test_the_table_has_the_whole_roster():
    assert set(TABLE) == set(ROSTER)


def test_no_algorithm_does_more_than_it_did(counts):
    lost = {name: moved(TABLE[name], now) for name, now in counts.items()}
    assert {name: what for name, what in lost.items() if what} == {}


def test_a_loss_of_two_is_seen_and_so_is_a_gain():
    was = {"lines": 40_000, "fit": 100, "numbers": 0}
    assert moved(was, was | {"lines": 44_000, "fit": 104, "numbers": 2}) == []
    for what, number in {"lines": 80_000, "fit": 200, "numbers": 100, "inverse": 100}.items():
        (said,) = moved(was, was | {what: number})
        assert said.startswith(f"{what}: {number}")
    assert len(moved(was, {"lines": 20_000, "numbers": 0})) == 2


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 12_345])
def test_numbers_are_counted_from_the_state_of_the_generator(n):
    bits = np.random.PCG64(3)
    before = bits.state
    bits.random_raw(n)
    assert counted.outputs(before, bits.state) == n


def test_noise_is_drawn_as_often_as_the_floor_says(counts):
    """Where noise comes with every round or record.  About 2 of 100 normals take more than one
    output, an integer takes half of one, and before a forced round a policy may draw nothing."""
    for name, entry in ROSTER.items():
        algorithm = entry.make(min(entry.d, 3), counted.ARMS, counted.ROUNDS)
        draws = entry.draws(algorithm)
        per_run = (
            draws[1] + draws[2] / 2
            if isinstance(algorithm, Optimiser)
            else draws[0] * counted.ROUNDS
        )
        if per_run:
            assert 0.9 < counts[name]["numbers"] / per_run < 1.1, name


def too_steep(exponents, line):
    """Sizes with which a round's lines grow faster than its Cost line allows."""
    found = {n: (e, cost_line.highest(line, n)) for n, e in exponents.items()}
    return {
        n: f"{e:.2f}; the line says {most:g}"
        for n, (e, most) in found.items()
        if e > most + STEEPER
    }


@pytest.fixture(scope="module")
def grown():
    """{name: exponents} of all whose Cost line has terms."""
    return json.loads(in_python("--growth"))


@pytest.mark.slow
def test_rounds_grow_as_their_cost_lines_say(grown):
    assert grown.keys() == ROSTER.keys() - cost_line.UNREAD.keys()
    found = {name: too_steep(e, cost_line.of(name)) for name, e in grown.items()}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "false", "size"),
    [
        ("shuffle_glm", "d^3", "K"),
        ("jdp_linucb", "K d", "d"),
        ("linucb", "K d", "d"),
        ("noisy_sgd", "T", "d"),
    ],
)
def test_a_line_without_a_power_is_refuted(grown, name, false, size):
    line = cost_line.read(f"Cost: O({false}) time per round.")
    assert list(too_steep(grown[name], line)) == [size]


def test_a_pass_over_all_rounds_is_refuted():
    line = cost_line.read("Cost: O(K d^2) time per round.")
    assert list(too_steep({"T": 0.9, "K": 0.3, "d": 1.8}, line)) == ["T"]
