"""Lemma S.1 on data: how far a fit is from theta* if its loss is nu above the least one.

The loss is L(theta) = sum of b(x'theta) - r x'theta, plus (ridge/2) ||theta||^2, for logistic
rewards (R = 1), so that g(theta) = sum of mean x + ridge theta and H* its Hessian at theta*.
Source: the paper, Lemma S.1 of Appendix S, whose N is ridge I here.
"""

import numpy as np
from scipy.optimize import brentq


def mean(z):
    """Logistic mean of scores z."""
    return 1.0 / (1.0 + np.exp(-z))


def loss(X: np.ndarray, r: np.ndarray, ridge: float, theta: np.ndarray):
    """L at theta (d,) for rows X (n, d), rewards r (n,)."""
    z = X @ theta
    return (np.logaddexp(0.0, z) - r * z).sum() + 0.5 * ridge * theta @ theta


def least(X: np.ndarray, r: np.ndarray, ridge: float):
    """The minimiser of the loss, by Newton's method; ArithmeticError if it does not converge."""
    theta = np.zeros(X.shape[1])
    for _ in range(100):
        m = mean(X @ theta)
        g = X.T @ (m - r) + ridge * theta
        if np.abs(g).max() < 1e-10:
            return theta
        theta = theta - np.linalg.solve(hessian(X, ridge, theta), g)
    raise ArithmeticError(f"no minimum after 100 steps; the gradient is {np.abs(g).max():g}")


def hessian(X: np.ndarray, ridge: float, theta: np.ndarray):
    """(d, d) Hessian of the loss at theta."""
    m = mean(X @ theta)
    return (X * (m * (1.0 - m))[:, None]).T @ X + ridge * np.eye(X.shape[1])


def bound(gamma: float, nu, c: float, ridge: float):
    """The right side of Lemma S.1 at R = 1."""
    return (2.0 + c) * (gamma + np.sqrt(nu)) + np.sqrt(
        (2.0 + c) * (gamma**2 / np.sqrt(ridge) + gamma)
    )


def fits_with_excess(n: int, d: int, norm, ridge: float, excesses, runs, seed: int):
    """(share, moved), each (runs, m), for excess losses nu (m,) in one random direction per run.

    n contexts in the unit ball of R^d, ||theta*|| = norm.  share: distance from theta* in the norm
    of H* over `bound`, with its gamma and c = max |x'(theta - theta*)| as they are; moved: distance
    from the minimiser in the same norm.
    """
    rng = np.random.default_rng([seed, 7])
    found = [_fits(n, d, norm, ridge, excesses, rng) for _ in range(runs)]
    share, moved = (np.array(part) for part in zip(*found, strict=True))
    return share, moved


def _fits(n, d, norm, ridge, excesses, rng):
    X, true, way = (rng.standard_normal((k, d)) for k in (n, 1, 1))
    X *= (rng.random(n) ** (1.0 / d) / np.linalg.norm(X, axis=1))[:, None]  # uniform in the ball
    true, way = norm * true[0] / np.linalg.norm(true), way[0] / np.linalg.norm(way)
    r = (rng.random(n) < mean(X @ true)).astype(float)
    best, H = least(X, r, ridge), hessian(X, ridge, true)
    low = loss(X, r, ridge, best)
    gap = X.T @ (mean(X @ best) - mean(X @ true)) + ridge * (best - true)
    gamma, share, moved = np.sqrt(gap @ np.linalg.solve(H, gap)), [], []
    for nu in excesses:
        far = brentq(lambda s: loss(X, r, ridge, best + s * way) - low - nu, 0.0, 1e4)  # noqa: B023
        theta = best + far * way
        off, c = theta - true, np.abs(X @ (theta - true)).max()
        share.append(np.sqrt(off @ H @ off) / bound(gamma, nu, c, ridge))
        moved.append(far * np.sqrt(way @ H @ way))
    return share, moved
