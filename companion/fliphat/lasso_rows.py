"""The lasso bandit from a few rows for each of its fits: the same law of regret, far fewer draws.

A fit sees the n rows since the last one through X'X and X'y alone, which an orthogonal map of the
rows leaves as they are.  Let B be the coordinates where beta or the estimate is not zero.  Arms,
rewards and regrets depend on those of x alone, and given them all other coordinates of the rows are
Cov(x, x_B) Cov(x_B)^-1 x_B plus independent noise of one law, which an orthogonal map leaves as it
is, too.  The map that makes (X_B, y) triangular, by the Cholesky factor of its products, leaves
|B| + 1 rows, whose other coordinates are drawn; in all others B and y are zero.  They say nothing
of B, and are drawn when a fit takes in a coordinate beyond B, if it ever does: that fit is then
made again.

Source: Oh, Iyengar and Zeevi (2021), Algorithm 1 (`baselines.lasso_bandit`).
Cost: 2 K + |B| + 1 normals per round, and (|B| + 1) d per fit.
"""

import numpy as np

from companion.baselines.lasso_bandit import lasso
from companion.baselines.lasso_bandit import update as learn
from companion.fliphat.environments import draw_row
from companion.fliphat.two_scores import (
    PARALLEL,
    covariance,
    factor,
    move,
    place,
    play_round,
)
from companion.jit import jit
from companion.kernels.linalg import axpy, cholesky_solve, copy


@jit
def root(A, L):
    """L (n, n) <- the lower factor of A = L L', zero in columns without a positive pivot."""
    for j in range(A.shape[0]):
        for i in range(A.shape[0]):
            z = A[i, j]
            for k in range(j):
                z -= L[i, k] * L[j, k]
            L[i, j] = 0.0
            if i == j:
                L[i, j] = np.sqrt(z) if z > PARALLEL * A[j, j] else 0.0
            elif i > j and L[j, j] > 0.0:
                L[i, j] = z / L[j, j]


@jit
def fewer(V):
    """At most m rows with the same sums of products as the rows V (n, m)."""
    n, m = V.shape
    if n <= m:
        return V
    A, L = np.zeros((m, m)), np.empty((m, m))
    for t in range(n):
        for i in range(m):
            axpy(V[t, i], V[t], A[i])
    root(A, L)
    for i in range(m):
        for j in range(m):
            A[i, j] = L[j, i]
    return A


@jit
def watched(s, active, w):
    """(B, the factor of Cov(x_B)): where beta is not zero, or one of `active` coefficients is."""
    b = w.support.shape[0]
    B = np.empty(b + active, np.int64)
    copy(w.support, B)
    for a in range(active):
        if w.beta[s.index[a]] == 0.0:
            B[b] = s.index[a]
            b += 1
    A, L = np.empty((b, b)), np.empty((b, b))
    for i in range(b):
        for j in range(b):
            A[i, j] = w.phi ** abs(B[i] - B[j])
    root(A, L)
    return B[:b], L


@jit
def draw(w, B, L, values, rng, out):
    """out (d,) <- a row x ~ N(0, Sigma) given that x_B are the first of `values`; B and L are those
    of `watched`."""
    b, d = B.shape[0], out.shape[0]
    apart, moved = np.empty(b), np.zeros(d)
    draw_row(w.phi, rng, out)
    for i in range(b):
        apart[i] = values[i] - out[B[i]]
    cholesky_solve(L, apart, apart)
    for i in range(b):
        moved[B[i]] = apart[i]
    covariance(w.phi, moved, w.x)
    axpy(1.0, w.x, out)
    for i in range(b):
        out[B[i]] = values[i]  # without rounding


@jit
def play_one(w, f, theta, B, L, zero, rng, v):
    """One round: v <- (x_B, y) of the arm that is played, as `two_scores.move` makes all of x; B, L
    are those of `watched`."""
    e, b, z, mu = play_round(w, f, zero, rng), B.shape[0], 0.0, 0.0
    for i in range(b):
        w.x[i] = rng.standard_normal()
        v[i] = 0.0
        for k in range(i + 1):
            v[i] += L[i, k] * w.x[k]
        z += theta[B[i]] * v[i]
        mu += w.beta[B[i]] * v[i]
    one = z / f.a if f.a > 0.0 else 0.0
    two = (mu - f.b * one) / f.c if f.c > 0.0 else 0.0
    for i in range(b):
        v[i] += (e[0] - one) * w.first[B[i]] + (e[1] - two) * w.second[B[i]]
    v[b] = e[2]


@jit
def fit(p, s, w, B, L, V, t, rng, n):
    """The lasso after round t, whose last rows had (x_B, y) as in V; whether B is too small now.

    B and L are those of `watched`; n: numbers of active coefficients, of rows that are stored, and
    of rows that are not drawn yet.

    Size: 9 arguments; the lasso bandit's, what is watched of the rows, and what is drawn of them.
    """
    values, before = fewer(V), s.theta_hat.copy()
    n[2] += V.shape[0] - values.shape[0]
    for i in range(values.shape[0]):
        x = s.X[n[1]]
        draw(w, B, L, values[i], rng, x)
        axpy(values[i, B.shape[0]], x, s.c)
        n[1] += 1
    now, beyond = lasso(p, s, n[0], t, n[1])[0], False
    for a in range(n[0], now):
        known = w.beta[s.index[a]] != 0.0
        beyond = beyond or not known
    if beyond:  # again, with all rows
        copy(before, s.theta_hat)
        for a in range(n[0], now):
            s.place[s.index[a]] = -1
        for _ in range(n[2]):
            draw(w, B, L, np.zeros(B.shape[0]), rng, s.X[n[1]])
            n[1] += 1
        n[2], now = 0, lasso(p, s, n[0], t, n[1])[0]
    n[0] = now
    return beyond


@jit
def run_segments(p, s, w, rng, grid, regret, n):
    """Play to round grid[-1], a few rows for every fit; regret as in a `Part`.  The
    arrays of s are overwritten; n (3,) zeros, then as `fit` leaves them."""
    at, f = 0, factor(w, s.theta_hat)
    B, L = watched(s, 0, w)
    V = np.empty((p.every, B.shape[0] + 1))
    for t in range(1, grid[-1] + 1):
        play_one(w, f, s.theta_hat, B, L, t <= p.every, rng, V[(t - 1) % p.every])
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
        if t % p.every == 0:
            if fit(p, s, w, B, L, V, t, rng, n):
                B, L = watched(s, n[0], w)
                V = np.empty((p.every, B.shape[0] + 1))
            f = factor(w, s.theta_hat)


@jit
def run_lasso(p, s, w, part, rng, noise_rng):
    """`run_lazy` of the lasso bandit, whose estimate may change at any round."""
    first, Z, grid, regret = part
    f, at = factor(w, s.theta_hat), place(grid, first)
    for t in range(first, min(2 * first - 1, grid[-1]) + 1):
        one, two, y = play_round(w, f, t <= p.every, rng)
        picks = s.index[: s.active]
        move(w, f, s.theta_hat, picks, (one, two), 1.0, Z[t - first], w.x)
        s = learn(p, s, 0, w.x, y, noise_rng)
        if t % p.every == 0:
            f = factor(w, s.theta_hat)
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
    return s
