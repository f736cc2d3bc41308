"""Repeated runs: seeds in parts, over any executor, and the world of one repetition."""

import numpy as np

from companion.lplr.crowd import law
from companion.simulate import need_seeds, over, stream, threads


def powers(first: int, step: int, last: int):
    """first, first * step, ... up to last, as integers."""
    return [first, *(powers(first * step, step, last) if first * step <= last else [])]


def in_parts(task, args, seeds, executor) -> np.ndarray:
    """Rows of task(*args, part) over parts of the seeds (one per repetition), in their order.

    A part for each thread, or eight for an executor: every part makes its memory anew.
    """
    seeds = need_seeds(seeds)
    size = -(-len(seeds) // (8 if executor else threads()))
    parts = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    return np.concatenate(over(task, [(*args, part) for part in parts], executor))


def drawn(design, seed: int, signs: np.ndarray):
    """The law of one repetition: a function draws its design from the environment's stream."""
    return law(design(stream(seed, "environment")) if callable(design) else design, signs)
