"""The minimiser of a likelihood whose rows come one by one, without a pass over all of them.

The sums of the first three derivatives of `likelihood.objective` are kept at an *anchor*, where a
new row enters them in O(d^3).  The minimiser of the cubic model that they make is that of the
objective but for the fourth derivatives, whose share has a bound; where it is above what is
tolerated, a fit over all rows moves the anchor.
With C3 and C4 times the second derivative above the third and the fourth one, m = max |x'move| and
|move|_H^2 = move'H move, the gradient at anchor + move is at most

    C4 exp(2 C3 m) m^2 |move|_H / 6     in the norm of H^-1,

and half its square bounds what the objective has left to fall.
Source: Taylor's theorem; the constants are tested in `tests/kernels/test_anchor.py`.
Cost: O(d^3) per row; the anchor moves less and less often as rows come in.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._borrowed import lean
from companion._types import Array
from companion.kernels.glm import LOGISTIC
from companion.kernels.likelihood import mills, true_derivatives
from companion.kernels.linalg import (
    add_outer,
    axpy,
    cholesky,
    cholesky_solve,
    copy,
    dot,
    norm,
    quad,
)

MOST = 30  # steps to the minimiser of a model
FAR = 0.5  # of C3 m: no model is asked beyond


class Anchor(NamedTuple):
    """Sums over all rows at one point, penalty included, and where the minimiser is from there."""

    at: np.ndarray  # (d,)
    g: np.ndarray  # (d,) gradient
    H: np.ndarray  # (d, d) Hessian
    third: np.ndarray  # (d, d, d) third derivatives; lower triangles of the last two axes
    most: np.ndarray  # (2,) largest norm of a row, largest |score| at the anchor
    move: np.ndarray  # (d,) minimiser of the model less the anchor
    L: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (2, d) scratch


def anchor_for(d: int, penalty: float) -> Anchor:
    """`Anchor` at 0, before the first row."""
    matrices = 2.0 * penalty * np.eye(d), np.zeros((d, d, d)), np.zeros(2)
    return Anchor(
        np.zeros(d), np.zeros(d), *matrices, np.zeros(d), np.zeros((d, d)), np.zeros((2, d))
    )


@lean
def third_of_log(z: float) -> float:
    """Third derivative of -log Phi at z."""
    h = mills(z)
    s = h * (h + z)
    return h * (1.0 - s) - s * (h + z)


@lean
def true_third(link: int, z: float, r: float) -> float:
    """Third derivative in z of `likelihood.true_loss`."""
    if link == LOGISTIC:
        e = math.exp(-abs(z))
        bend = e * (1.0 - e) / ((1.0 + e) * (1.0 + e) * (1.0 + e))
        return -bend if z >= 0.0 else bend
    up = third_of_log(z) if r > 0.0 else 0.0
    down = third_of_log(-z) if r < 1.0 else 0.0
    return r * up - (1.0 - r) * down


@lean
def add(link: int, x: Array, y: float, anchor: Anchor) -> None:
    """A new row x (d,), y enters the sums of the anchor."""
    z = dot(x, anchor.at)
    first, second = true_derivatives(link, z, y)
    third = true_third(link, z, y)
    anchor.most[0], anchor.most[1] = max(anchor.most[0], norm(x)), max(anchor.most[1], abs(z))
    axpy(first, x, anchor.g)
    add_outer(second, x, anchor.H)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            c = third * x[i] * x[j]
            for k in range(j + 1):
                anchor.third[i, j, k] += c * x[k]


@lean
def put(
    link: int, X: Array, y: Array, n: int, penalty: float, theta: Array, anchor: Anchor
) -> None:
    """The anchor moves to theta (d,): sums over the first n rows of X (., d), y."""
    copy(theta, anchor.at)
    anchor.most[0], anchor.most[1] = 0.0, 0.0
    for i in range(theta.shape[0]):
        anchor.move[i], anchor.g[i] = 0.0, 2.0 * penalty * theta[i]
        for j in range(theta.shape[0]):
            anchor.H[i, j] = 2.0 * penalty if i == j else 0.0
            for k in range(j + 1):
                anchor.third[i, j, k] = 0.0
    for s in range(n):
        add(link, X[s], y[s], anchor)


@lean
def reach(link: int, anchor: Anchor) -> tuple[float, float, float]:
    """(m, C3, C4) of the module's docstring at the present move of the anchor."""
    m = anchor.most[0] * norm(anchor.move)
    z = anchor.most[1] + m
    return (m, 1.0, 1.0) if link == LOGISTIC else (m, z + 0.5, z * z + 0.5)


@lean
def model_gradient(anchor: Anchor, out: Array) -> None:
    """out (d,) <- gradient of the cubic model of the anchor at its move."""
    for i in range(out.shape[0]):
        out[i] = (
            anchor.g[i] + dot(anchor.H[i], anchor.move) + 0.5 * quad(anchor.third[i], anchor.move)
        )


@lean
def follow(link: int, tolerance: float, anchor: Anchor, theta: Array) -> bool:
    """theta (d,) <- the minimiser of the anchor's model, if it is not far; whether the objective is
    surely within the tolerance of its minimum there."""
    g, step, left = anchor.work[0], anchor.work[1], math.inf
    sure = cholesky(anchor.H, anchor.L)
    m, c, c4 = reach(link, anchor)
    for _ in range(MOST if sure else 0):
        model_gradient(anchor, g)
        cholesky_solve(anchor.L, g, step)
        left = max(dot(g, step), 0.0)
        axpy(-1.0, step, anchor.move)
        m, c, c4 = reach(link, anchor)
        if not c * m <= FAR or left <= 0.02 * tolerance:
            break
    if not (sure and c * m <= FAR):
        return False
    for i in range(theta.shape[0]):
        theta[i] = anchor.at[i] + anchor.move[i]
    rest = (
        c4 * math.exp(2.0 * c * m) * m * m * math.sqrt(max(quad(anchor.H, anchor.move), 0.0)) / 6.0
    )
    return 0.5 * (rest + math.sqrt(left)) ** 2 <= tolerance
