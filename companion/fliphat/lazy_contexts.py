"""Autoregressive contexts, drawn on the coordinates that decide first and on the others if needed.

Kernels of `companion.fliphat.shortcuts`.  A stationary AR(1) row is Markov along its coordinates,
so it can be drawn on any set I first and bridged afterwards.
"""

from typing import Any, NamedTuple

import numpy as np

from companion._jit import jit
from companion._types import Array, Ints, Rng
from companion.fliphat.environments import draw_noise
from companion.fliphat.regression import clip


class World(NamedTuple):
    """The environment in kernel form, with work arrays."""

    K: int
    beta: np.ndarray  # (d,)
    phi: float
    uniform: bool
    noise: float
    revealed: np.ndarray  # (d,) the coordinates in I, increasing, in the first entries
    gain: np.ndarray  # (d,) correlation of a revealed coordinate with the previous one
    spread: np.ndarray  # (d,) and its conditional standard deviation
    left: np.ndarray  # (d,) weight of coordinate j - 1 in the law of a filled coordinate j
    right: np.ndarray  # (d,) weight of the next revealed one (left of all: of coordinate j + 1)
    scale: np.ndarray  # (d,) its conditional standard deviation; 0 on I
    rows: np.ndarray  # (K, d) revealed coordinates of the arms
    x: np.ndarray  # (d,)


def world(env: Any) -> World:
    """`World` of an `Autoregressive` environment."""
    d = env.d
    floats = [np.zeros(d) for _ in range(5)]
    return World(  # type: ignore[call-arg]
        env.K,
        env.beta,
        env.phi,
        env.rewards == "uniform",
        env.noise,
        np.zeros(d, np.int64),
        *floats,
        np.zeros((env.K, d)),
        np.zeros(d),
    )


@jit
def plan(w: World, theta: Array) -> int:
    """Precompute the laws for I = supp(beta) + supp(theta); returns |I|."""
    d, m, phi = theta.shape[0], 0, w.phi
    for j in range(d):
        if w.beta[j] != 0.0 or theta[j] != 0.0:
            g = phi ** (j - w.revealed[m - 1]) if m > 0 else 0.0
            w.gain[m], w.spread[m] = g, np.sqrt(1.0 - g * g)
            w.revealed[m] = j
            m += 1
    innovation = np.sqrt(1.0 - phi * phi)
    nxt = m - 1
    for j in range(d - 1, -1, -1):
        if nxt >= 0 and w.revealed[nxt] == j:
            w.left[j], w.right[j], w.scale[j] = 0.0, 0.0, 0.0
            nxt -= 1
        elif nxt == m - 1:  # right of all revealed ones: forwards (m = 0: the whole row)
            w.left[j], w.right[j], w.scale[j] = (
                (phi if j > 0 else 0.0),
                0.0,
                (innovation if j > 0 else 1.0),
            )
        elif nxt < 0:  # left of all: backwards
            w.left[j], w.right[j], w.scale[j] = 0.0, phi, innovation
        else:  # a bridge to the next revealed coordinate, r steps away
            r = w.revealed[nxt + 1] - j
            below = 1.0 - phi ** (2 * (r + 1))
            w.left[j] = phi * (1.0 - phi ** (2 * r)) / below
            w.right[j] = phi**r * (1.0 - phi * phi) / below
            w.scale[j] = np.sqrt((1.0 - phi * phi) * (1.0 - phi ** (2 * r)) / below)
    return m


@jit
def fill(w: World, m: int, innovations: float, rng: Rng, x: Array) -> None:
    """x (d,), given on I, <- its law on the other coordinates; innovations multiplies the standard
    deviations.
    """
    first = w.revealed[0] if m > 0 else 0
    for j in range(first - 1, -1, -1):
        x[j] = w.right[j] * x[j + 1] + innovations * w.scale[j] * rng.standard_normal()
    nxt = 0
    for j in range(first, x.shape[0]):
        if nxt < m and w.revealed[nxt] == j:
            nxt += 1
        else:
            z = w.right[j] * x[w.revealed[nxt]] if nxt < m else 0.0
            if j > 0:
                z += w.left[j] * x[j - 1]
            x[j] = z + innovations * w.scale[j] * rng.standard_normal()


@jit
def draw_round(w: World, m: int, theta: Array, zero: bool, rng: Rng) -> tuple[Any, float, Any]:
    """Draw the arms on I and play greedily for theta (zero: at random); (arm, its mean reward,
    regret).
    """
    best, arm, top, played = -np.inf, 0, -np.inf, 0.0
    guess = rng.integers(0, w.K) if zero else -1
    for k in range(w.K):
        row, z, mu = w.rows[k], 0.0, 0.0
        for i in range(m):
            j = w.revealed[i]
            row[i] = w.spread[i] * rng.standard_normal()
            if i > 0:
                row[i] += w.gain[i] * row[i - 1]
            z += row[i] * theta[j]
            mu += row[i] * w.beta[j]
        top = max(top, mu)
        if k == guess or (not zero and z > best):
            best, arm, played = z, k, mu
    return arm, played, top - played


@jit
def episode_moment(
    w: World,
    theta: Array,
    zero: bool,
    first: int,
    last: int,
    reward_clip: float,
    needed: bool,
    rng: Rng,
    total: float,
    grid: Ints,
    regret: Array,
    moment: Array,
) -> float:
    """Rounds first..last with one estimate; moment (d,) <- moment + sum clip(y) x if needed;
    returns the total regret.

    Size: 12 arguments; the inputs of an episode, and the curve that it continues.
    """
    m = plan(w, theta)
    at, weight = 0, 0.0
    while at < grid.shape[0] and grid[at] < first:
        at += 1
    w.x[:] = 0.0
    for t in range(first, last + 1):
        arm, mu, loss = draw_round(w, m, theta, zero, rng)
        y = clip(mu + draw_noise(rng, w.uniform, w.noise), reward_clip)
        for i in range(m):
            w.x[w.revealed[i]] += y * w.rows[arm, i]
        weight += y * y
        total += loss
        if at < grid.shape[0] and t == grid[at]:
            regret[at] = total
            at += 1
    if needed:
        fill(w, m, np.sqrt(weight), rng, w.x)
        for j in range(moment.shape[0]):
            moment[j] += w.x[j]
    return total
