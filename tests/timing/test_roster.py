"""The roster: every algorithm of the catalogue, and the numbers that it draws."""

import numpy as np
import pytest

from companion import catalogue
from companion.timing.roster import ROSTER


def test_every_algorithm_of_the_catalogue_has_an_entry():
    there = catalogue.policies().keys() | catalogue.optimisers().keys()
    assert {name for name in ROSTER if " " not in name} == there
    assert {name.split()[0] for name in ROSTER} == there  # variants


@pytest.mark.parametrize(
    ("name", "draws"),
    [
        ("linucb", (0,)),
        ("jdp_linucb", (15 + 5,)),
        ("online_linucb", (6,)),
        ("anytime_linucb", (11,)),
        ("combiner", (6,)),
        ("joint_glm", (30,)),
        ("sco_bandit", (7 * 5,)),
        ("streaming_fw", (900, 900 * 5, 0)),
        ("vertex_fw", (900, 900, 900)),
        ("noisy_sfw", (900, 30 * 5, 0)),
        ("noisy_sgd", (900**2, 900**2 * 5, 900**2)),
    ],
)
def test_numbers_drawn_at_d_5(name, draws):
    """At K = 7 and T = n = 900, where NoisySFW has isqrt(n) - 1 = 29 batches after the first."""
    entry = ROSTER[name]
    assert entry.draws(entry.make(5, 7, 900)) == draws


def test_integers_of_random_orders_are_counted():
    """A new order of a phase's n records takes n - 1 integers, and n // b steps use it up."""
    o = ROSTER["local_md"].make(5, 1, 900)
    p, reads, integers = o.params, 0, 0
    for n, b, steps in zip(p.records, p.batch, p.steps, strict=True):
        at = n
        for _ in range(steps):
            if at + b > n:
                integers, at = integers + n - 1, 0
            at, reads = at + b, reads + b
    assert ROSTER["local_md"].draws(o) == (reads, int(np.sum(p.steps)) * 5, integers)
