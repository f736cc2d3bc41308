"""The mirror step of LocalMD against its definition."""

import numpy as np
import pytest
from scipy.optimize import minimize

from companion.baselines import mirror_maps as maps


def test_mirror_maps_invert_each_other_and_the_step_is_the_minimiser():
    rng, worst = np.random.default_rng(4), 0.0
    for trial in range(100):
        p = rng.choice([1.2, 1.5, 2.0])
        q = p / (p - 1)
        u, g, z = rng.standard_normal((3, 3))
        back, up = np.empty(3), np.empty(3)
        maps.dual(u, p, up)
        size = maps.mirror(up, p, q, back)
        assert back == pytest.approx(u, rel=1e-9)
        assert size == pytest.approx(np.linalg.norm(u, p), rel=1e-9)  # skips a norm of the step
        radius, start, step = rng.choice([0.5, 1e6]), u.copy(), u.copy()
        maps.mirror_step(step, g, p, q, radius, z)

        def h(v, p=p):
            return np.linalg.norm(v, p) ** 2 / (2 * (p - 1))

        def objective(v, up=up, g=g, start=start, h=h):
            return g @ v + h(v) - h(start) - up @ (v - start)

        value = objective(step)
        for _ in range(40):
            w = step + rng.standard_normal(3) * 10.0 ** rng.uniform(-6, 0)
            w *= min(1.0, radius / np.linalg.norm(w, p))
            worst = max(worst, value - objective(w))
        if trial < 10 and radius > 1e5:
            found = minimize(objective, np.full(3, 0.3), tol=1e-12)
            assert step == pytest.approx(found.x, abs=1e-4)
    assert worst <= 1e-12
