"""What is described of samplers: a kernel that draws is in it, and noise follows sensitivity."""

import ast
import inspect

import numpy as np
import pytest

from companion.audits import samplers
from companion.kernels import mechanisms
from companion.kernels import mechanisms as selection

EVERY = {s.name: s for s in samplers.everything(1.0, 0.1)}


@pytest.mark.parametrize("name", [n for n, s in EVERY.items() if s.seen is not None])
def test_noise_is_twice_as_large_at_twice_the_sensitivity(name):
    """To rounding, by the same random numbers; the binomial is centred at -s."""
    s, out = EVERY[name], []
    for size in (1.0, 2.0):
        a = np.zeros((8, 20) if s.count > 1e6 else s.table.shape)
        s.draw(size, a, np.random.default_rng(3))
        out.append(a)
    assert np.abs(out[0]).max() > 0.5
    np.testing.assert_allclose(out[1], 2.0 * out[0], rtol=1e-9, atol=1e-9)


def test_no_sampler_of_the_ground_is_forgotten():
    drawn = set()
    for module in (mechanisms, selection):
        for name, f in vars(module).items():
            if hasattr(f, "py_func") and f.__module__ == module.__name__:
                drawn |= {name} if "rng" in inspect.signature(f.py_func).parameters else set()
    used = {n.attr for n in ast.walk(ast.parse(inspect.getsource(samplers))) if hasattr(n, "attr")}
    parts = {
        "random_integer",
        "laplace",
        "gumbel",
        "noisy_largest",
        "round_at_random",
        "shuffle_messages",
        "shuffle_add",
    }
    assert drawn - used == parts  # what the others are made of, and a message before it is noisy
