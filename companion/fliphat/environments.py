"""Sparse linear rewards on Gaussian contexts in high dimension.

Source: the FLIPHAT paper, section 6 (autoregressive contexts) and Assumption 5.3(b)
(margin condition).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from companion.environments import filled_blocks
from companion.jit import jit
from companion.kernels.linalg import dot
from companion.validate import (
    need_array,
    need_choice,
    need_float,
    need_int,
    need_positive,
)


def pad(signal, d: int) -> np.ndarray:
    """beta (d,): the given leading entries, then zeros; ValueError if signal is longer
    than d."""
    signal = need_array("signal", signal, ("s",))
    d = need_int("d", d, len(signal))
    return np.concatenate([signal, np.zeros(d - len(signal))])


@jit
def draw_noise(rng, uniform, noise):
    """One reward error: N(0, noise^2), or uniform on [-noise, noise]."""
    if uniform:
        return noise * (2.0 * rng.random() - 1.0)
    return noise * rng.standard_normal()


@jit
def draw_row(phi, rng, x):
    """x (d,) <- a stationary AR(1) sequence, N(0, Sigma) with Sigma_ij = phi^|i-j|."""
    innovation = np.sqrt(1.0 - phi * phi)
    x[0] = rng.standard_normal()
    for j in range(1, x.shape[0]):
        x[j] = phi * x[j - 1] + innovation * rng.standard_normal()


@jit
def fill_autoregressive(rng, beta, phi, uniform, noise, X, R, mu):
    """One block: the rows of X are autoregressive, mu = X beta, R = mu + noise."""
    for t in range(X.shape[0]):
        for k in range(X.shape[1]):
            draw_row(phi, rng, X[t, k])
            mu[t, k] = dot(X[t, k], beta)
        for k in range(X.shape[1]):
            R[t, k] = mu[t, k] + draw_noise(rng, uniform, noise)


@jit
def fill_margin(rng, beta, gap, power, noise, X, R, mu):
    """One block of two arms whose mean rewards differ by gap U^power, U uniform.

    x = c + z/2 and c - z/2 with c ~ N(0, I/2); z is N(0, 2 I) off the direction of beta,
    where it is set to the gap.
    """
    size = dot(beta, beta)
    for t in range(X.shape[0]):
        z = 0.0
        for j in range(X.shape[2]):
            X[t, 0, j] = np.sqrt(2.0) * rng.standard_normal()  # z, for the moment
            z += X[t, 0, j] * beta[j]
            X[t, 1, j] = np.sqrt(0.5) * rng.standard_normal()  # c
        # drawn for power 0, too: all margins share one stream
        g = gap * rng.random() ** power
        if rng.random() >= 0.5:
            g = -g
        b = (g - z) / size
        for j in range(X.shape[2]):
            half = 0.5 * (X[t, 0, j] + b * beta[j])
            c = X[t, 1, j]
            X[t, 0, j] = c + half
            X[t, 1, j] = c - half
        for k in range(2):
            mu[t, k] = dot(X[t, k], beta)
            R[t, k] = mu[t, k] + noise * rng.standard_normal()


class Autoregressive(NamedTuple):
    """K independent arms N(0, Sigma), Sigma_ij = phi^|i-j|; make one with
    `autoregressive`."""

    K: int
    beta: np.ndarray
    phi: float = 0.1
    rewards: str = "gaussian"
    noise: float = 0.1

    @property
    def d(self) -> int:
        """Dimension of a context."""
        return len(self.beta)

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) for T rounds."""
        law = self.beta, self.phi, self.rewards == "uniform", self.noise
        return filled_blocks(fill_autoregressive, law, self.K, self.d, T, rng)

    @property
    def reward_scale(self) -> float:
        """Standard deviation of the mean reward of one arm, sqrt(beta' Sigma beta)."""
        i = np.flatnonzero(self.beta)
        cov = np.power(self.phi, np.abs(i[:, None] - i[None, :]))
        return float(np.sqrt(self.beta[i] @ cov @ self.beta[i]))


def autoregressive(
    K: int,
    beta,
    *,
    phi: float = 0.1,
    rewards: str = "gaussian",
    noise: float = 0.1,
) -> Autoregressive:
    """Sparse linear bandit with K >= 1 fresh Gaussian arms per round.

    beta (d,) finite; phi in (-1, 1) is the correlation of neighbouring coordinates; noise
    >= 0 is the standard deviation of a "gaussian" error, or half the width of a "uniform"
    one.  Raises ValueError on anything else.
    Source: the FLIPHAT paper, section 6 (phi = noise = 0.1).
    """
    beta = need_array("beta", beta, ("d",))
    phi = need_float("phi", phi, -1.0, 1.0, open_low=True, open_high=True)
    need_choice("rewards", rewards, ("gaussian", "uniform"))
    return Autoregressive(
        K=need_int("K", K, 1),
        beta=beta,
        phi=phi,
        rewards=rewards,
        noise=need_float("noise", noise, 0.0),
    )


class Margin(NamedTuple):
    """Two Gaussian arms with a prescribed law of the gap; make one with `margin`."""

    beta: np.ndarray
    gap: float
    alpha: float
    noise: float

    K = 2

    @property
    def d(self) -> int:
        """Dimension of a context."""
        return len(self.beta)

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) for T rounds."""
        law = self.beta, self.gap, 1.0 / self.alpha, self.noise
        return filled_blocks(fill_margin, law, 2, self.d, T, rng)


def margin(beta, *, gap: float, alpha: float, noise: float = 0.5) -> Margin:
    """Two arms with P(gap <= h) = (h/gap)^alpha exactly: Assumption 5.3(b) as an
    equality.

    beta (d,) not zero; gap > 0; alpha in (0, inf], inf: the gap is constant; noise >= 0.
    With one seed all margins have the same contexts off the direction of beta.
    ValueError on anything else.
    """
    beta = need_array("beta", beta, ("d",))
    if not beta.any():
        raise ValueError("beta must have a non-zero entry; got zeros")
    alpha = need_positive("alpha", alpha, allow_inf=True)
    return Margin(
        beta=beta,
        gap=need_positive("gap", gap),
        alpha=alpha,
        noise=need_float("noise", noise, 0.0),
    )


def gaussian_statistics(rng: np.random.Generator, n: int, beta, noise: float):
    """(X'X, X'y) of n > d rows x ~ N(0, I), y = x'beta + N(0, noise^2): exact, and free
    of n.

    They are a (d + 1)-dimensional Wishart matrix, drawn by its Cholesky factor (Bartlett
    1933).
    """
    d = len(beta)
    n = need_int("n", n, d + 1)
    A = np.tril(rng.standard_normal((d + 1, d + 1)), -1)
    A[np.diag_indices(d + 1)] = np.sqrt(rng.chisquare(n - np.arange(d + 1)))
    W = A @ A.T
    G = np.ascontiguousarray(W[:d, :d])
    return G, G @ beta + noise * W[d, :d]
