"""Generalized linear bandits in NumPy, round by round, without noise: they play our arms."""

import numpy as np
from scipy.special import expit, ndtr

from companion.baselines.ecolog import STEP
from companion.kernels.glm import LOGISTIC, slope
from companion.private_glm.joint_glm import GROWTH


def mean(link, z):
    """Logistic or probit mean of an array of scores."""
    return expit(z) if link == LOGISTIC else ndtr(z)


def slopes(link, z):
    """Its derivative."""
    return (
        mean(link, z) * mean(link, -z)
        if link == LOGISTIC
        else slope(link, 0.0) * np.exp(-z * z / 2)
    )


def squares(A, X):
    """x'Ax for the rows x of X."""
    return np.einsum("ki,ij,kj->k", X, A, X)


def into_ball(theta, radius):
    """Projection on the ball of this radius."""
    return theta * min(1.0, radius / max(np.linalg.norm(theta), 1e-300))


def newton(X, y, penalty, theta, tolerance=1e-8):
    """Newton's method on the logistic likelihood, array by array."""
    for _ in range(20):
        m = expit(X @ theta)
        g = X.T @ (m - y) + 2.0 * penalty * theta
        H = (X.T * (m * (1.0 - m))) @ X + 2.0 * penalty * np.eye(X.shape[1])
        step = np.linalg.solve(H, g)
        theta = theta - step
        if 0.5 * g @ step < tolerance:
            return theta
    return theta


def descend(p, X, y, P, theta, steps, penalty):
    """Preconditioned gradient descent on the canonical loss; mean of the second half."""
    kept = []
    for _ in range(steps):
        g = X.T @ (mean(p.link, X @ theta) - y) + penalty * theta
        theta = into_ball(theta - P @ g, p.theta_bound)
        kept.append(theta)
    return np.mean(kept[steps // 2 :], axis=0)


def joint(p, X, R, rng):
    """Algorithm 2 without noise, refreshed from its matrices: arms (n,)."""
    n, eye = len(X), np.eye(p.d)
    rows, y, side = np.zeros((n, p.d)), np.zeros(n), np.zeros(n, bool)
    A = {True: p.ridge_v * eye, False: p.ridge_h * eye}  # V of explored rounds, H of the others
    last, fits = dict(A), {True: p.fit_o, False: p.fit_tau}
    theta, left = {s: np.zeros(p.d) for s in A}, {s: q.cutoff for s, q in fits.items()}
    arms = np.empty(n, np.int64)
    for t in range(n):
        for s, q in fits.items():
            if left[s] and np.linalg.eigvalsh(GROWTH * last[s] - A[s])[0] <= 0.0:
                last[s], left[s], mine = A[s], left[s] - 1, side[:t] == s
                P = np.linalg.inv(q.curvature * A[s] + q.penalty * eye)
                theta[s] = descend(p, rows[:t][mine], y[:t][mine], P, theta[s], q.steps, q.penalty)
        wide = squares(np.linalg.inv(A[True]), X[t])
        side[t] = wide.max() >= p.threshold
        half, score = p.elimination * np.sqrt(wide), X[t] @ theta[True]
        index = X[t] @ theta[False] + p.width * np.sqrt(squares(np.linalg.inv(last[False]), X[t]))
        index[score + half < (score - half).max()] = -np.inf
        k = arms[t] = (wide if side[t] else index).argmax()
        rows[t], y[t] = X[t, k], R[t, k]
        weight = 1.0 if side[t] else slopes(p.link, rows[t] @ theta[True]) / np.e
        A[bool(side[t])] = A[bool(side[t])] + weight * np.outer(rows[t], rows[t])
    return arms


def design(A, tolerance=2.0):
    """Wynn's algorithm with matrix inverses."""
    pi, ridge = np.full(len(A), 1.0 / len(A)), 1e-8 * (A * A).sum(axis=1).max() * np.eye(A.shape[1])
    while True:
        g = squares(np.linalg.inv(A.T @ (pi[:, None] * A) + ridge), A)
        k, rank = int(g.argmax()), pi @ g
        if g[k] <= tolerance * rank or g[k] <= 1.0:
            return pi
        s = (g[k] / rank - 1.0) / (g[k] - 1.0)
        pi *= 1.0 - s
        pi[k] += s


def shuffle(p, X, R, rng):
    """Algorithm 1 with exact sums, round by round: arms (n,)."""
    eye, arms, start, known = np.eye(p.d), [], 0, []
    for k, end in enumerate(p.ends):
        W, rows, y = p.ridge[0] * eye, [], []
        for x, r in zip(X[start:end], R[start:end], strict=True):
            alive, doubt = np.arange(p.K), np.zeros(p.K)
            for j, (theta, V_inv) in enumerate(known):
                half, score = p.widths[j] * np.sqrt(squares(V_inv, x)), x @ theta
                doubt = half if j == 0 else doubt
                alive = alive[(score + half)[alive] >= (score - half)[alive].max()]
            w = np.ones(p.K)
            if k > 0:
                w = slopes(p.link, x @ known[0][0]) * np.exp(
                    -np.minimum(2.0 * p.theta_bound, doubt)
                )
                w = np.minimum(w, p.caps[k])
            arm = alive[0]
            if len(alive) > 1:
                pi = design(np.sqrt(w)[alive, None] * x[alive], p.tolerance)
                i = np.searchsorted(np.cumsum(pi), rng.random(), side="right")
                arm = alive[min(i, len(alive) - 1)]
            W = W + w[arm] * np.outer(x[arm], x[arm])
            arms.append(arm)
            rows.append(x[arm])
            y.append(r[arm])
        theta, start = known[-1][0] if known else np.zeros(p.d), end
        P = np.linalg.inv((slope(p.link, 0.0) if k == 0 else 1.5) * W + p.penalty * eye)
        theta = descend(p, np.array(rows), np.array(y), P, theta, p.steps, p.penalty)
        known.append((theta, np.linalg.inv(W)))
    return np.array(arms)


def glm_ucb(p, X, R, rng):
    """A logistic GLM-UCB, refitted in every round: arms (n,)."""
    theta, V, arms = rng.standard_normal(p.d), p.ridge * np.eye(p.d), []
    rows, y = np.empty((len(X), p.d)), np.empty(len(X))
    for t in range(len(X)):
        index = expit(X[t] @ theta) + p.width * np.sqrt(squares(np.linalg.inv(V), X[t]))
        arms.append(int(index.argmax()))
        rows[t], y[t] = X[t, arms[-1]], R[t, arms[-1]]
        V += np.outer(rows[t], rows[t])
        theta = newton(rows[: t + 1], y[: t + 1], p.ridge, theta, p.tolerance)
    return np.array(arms)


def ecolog(p, X, R, rng):
    """ECOLog; a projection, which its truth in the ball hardly needs, by scaling: arms (n,)."""
    V, theta, surplus, S, arms = p.ridge * np.eye(p.d), np.zeros(p.d), 0.0, p.theta_bound, []
    size, root = STEP / (0.25 + 1.0 / (1.0 + 0.5 * S)), np.sqrt(p.ridge)

    def moved(centre, scale, target, x, way, steps):
        v = centre
        for _ in range(steps):
            v = into_ball(v - size * (v - centre + (scale * expit(x @ v) - target) * way), S)
        return v

    for t in range(len(X)):
        inside = 2.0 / p.failure * np.sqrt(1.0 + (t + 1.0) / (4.0 * p.ridge))
        gain = 0.5 * root + 2.0 / root * np.log(inside)
        radius = np.sqrt(max(2.0 * p.ridge * S**2 + (1.0 + S) ** 2 * gain + surplus, 0.0))
        V_inv = np.linalg.inv(V)
        k = int((expit(X[t] @ theta) + radius * np.sqrt(squares(V_inv, X[t]))).argmax())
        arms.append(k)
        x, y = X[t, k], R[t, k]
        steps = int(max(np.ceil((2.25 + S / 8.0) * np.log(S * (t + 2.0))), 1.0) / STEP)
        theta = moved(theta, 1.0, y, x, V_inv @ x, steps)
        other = moved(theta, 2.0, 1.0, x, V_inv @ x, steps)
        losses = [np.logaddexp(0.0, x @ v) - y * (x @ v) for v in (other, theta)]
        far = theta - other
        surplus += 2.0 * (1.0 + S) * (losses[0] - losses[1]) - 0.5 * np.sqrt(far @ V @ far)
        V = V + slopes(LOGISTIC, x @ theta) * np.outer(x, x)
    return np.array(arms)


def gloc(p, X, R, rng):
    """GLOC: arms (n,)."""
    V_inv, theta, regret, arms = np.eye(p.d) / p.ridge, np.zeros(p.d), 0.0, []
    regret = 2.0 * p.k * p.theta_bound**2 * p.ridge
    for t in range(len(X)):
        inside = 1.0 + 2.0 * regret / p.k + 4.0 * (p.q**2 / p.failure) ** 2
        log_term = np.log(2.0 / p.failure * np.sqrt(inside))
        radius = np.sqrt(1.0 + 4.0 / p.k * regret + 8.0 * p.q**2 * log_term)
        index = mean(p.link, X[t] @ theta) + radius * np.sqrt(squares(V_inv, X[t]))
        arms.append(int(index.argmax()))
        x, y = X[t, arms[-1]], R[t, arms[-1]]
        g, u = mean(p.link, x @ theta) - y, V_inv @ x
        V_inv = V_inv - np.outer(u, u) / (1.0 + x @ u)
        regret += g * g * (x @ V_inv @ x) / (2.0 * p.k)
        theta = theta - g / p.k * (V_inv @ x)
        theta = theta * p.theta_bound / max(np.linalg.norm(theta), 1e-300)
    return np.array(arms)
