"""Ridge bandits and Online LinUCB in NumPy, round by round, with the noise that ours draw."""

import numpy as np
from companion.timing import plain

from benchmarks.maler_twin import Twin as Maler
from benchmarks.measure import Twin

OFF = np.sqrt(2.0)  # entries off the diagonal stand twice in a symmetric matrix


def optimist(X, V_inv, theta, radius):
    """The row of X (K, d) with the largest upper bound."""
    width = np.einsum("ki,ij,kj->k", X, V_inv, X)
    return int(np.argmax(X @ theta + radius * np.sqrt(np.maximum(width, 0.0))))


class Ridge:
    """Ridge regression on noisy statistics, with the options `noisy_ridge.Params`."""

    def __init__(self, q):
        self.q, self.V_inv, self.theta = q, np.eye(q.d) / q.ridge, np.zeros(q.d)
        self.radius = self.width(0, q.ridge)

    def width(self, t, ridge):
        """The radius after t rounds at this ridge."""
        q = self.q
        return q.width * plain.radius(t, q.d, ridge, q.noise, q.theta_bound, q.failure)

    def refit(self, t, energy, G, b):
        """The model on statistics G, b of t rounds whose noise has this energy."""
        ridge = self.q.ridge + self.q.shift * energy
        self.V_inv = np.linalg.inv(G + ridge * np.eye(len(b)))
        self.theta, self.radius = self.V_inv @ b, self.width(t, ridge)


def packed(x, y):
    """The triangle of x x', row by row, then x y."""
    i, j = np.tril_indices(len(x))
    return np.concatenate([np.where(i == j, 1.0, OFF) * x[i] * x[j], x * y])


def unpacked(message, d):
    """(symmetric matrix, vector) of what was packed."""
    G, (i, j) = np.zeros((d, d)), np.tril_indices(d)
    G[i, j] = G[j, i] = np.where(i == j, 1.0, 1.0 / OFF) * message[:-d]
    return G, message[-d:]


def played(X, R, model, learn):
    """Arms (n,) of a model that learns (t, x, r) in every round t >= 1."""
    arms = np.empty(len(X), np.int64)
    for t in range(len(X)):
        k = arms[t] = optimist(X[t], model.V_inv, model.theta, model.radius)
        learn(t + 1, X[t, k], R[t, k])
    return arms


def linucb(p, X, R, rng):
    """LinUCB, which draws nothing."""
    options = {n: getattr(p, n) for n in ("ridge", "noise", "theta_bound", "failure")}
    return plain.linucb(X, R, **options)


def ldp_linucb(p, X, R, rng):
    """Every message with noise."""
    model, total = Ridge(p), np.zeros(p.d * (p.d + 3) // 2)

    def learn(t, x, r):
        total[:] += packed(x, r) + p.sigma * rng.standard_normal(len(total))
        model.refit(t, p.sigma * np.sqrt(p.d * t), *unpacked(total, p.d))

    return played(X, R, model, learn)


def jdp_linucb(p, X, R, rng):
    """Exact sums, and the noise of the blocks of 2^q rounds that a prefix is made of."""
    model, exact, blocks = Ridge(p), np.zeros(p.d * (p.d + 3) // 2), {}
    levels = p.T.bit_length()

    def learn(t, x, r):
        exact[:] += packed(x, r)
        last = t & -t
        for size in [s for s in blocks if s <= last]:
            del blocks[size]
        blocks[last] = p.sigma * rng.standard_normal(len(exact))
        energy = p.sigma * np.sqrt(0.5 * p.d * levels)
        model.refit(t, energy, *unpacked(exact + sum(blocks.values()), p.d))

    return played(X, R, model, learn)


def noisy_pair(p, x, y, rng):
    """x and y with noise."""
    return x + p.sigma * rng.standard_normal(p.d), y + p.sigma * rng.standard_normal()


def corrected_ridge(p, X, R, rng):
    """Noisy pairs; the energy of their noise is subtracted."""
    model, A, b, v = Ridge(p.statistics), np.zeros((p.d, p.d)), np.zeros(p.d), p.sigma**2

    def learn(t, x, r):
        x, y = noisy_pair(p, x, r, rng)
        A[:] += np.outer(x, x) - v * np.eye(p.d)
        b[:] += x * y
        model.refit(t, (v + p.sigma) * np.sqrt(p.d * t), A, b)

    return played(X, R, model, learn)


class Descent:
    """Online gradient descent, as `Maler` is called."""

    def __init__(self, d, T, D, G):
        self.D, self.G, self.t, self.theta = D, G, 0, np.zeros(d)

    def update(self, g):
        """A step against the gradient g, projected on the ball."""
        self.t += 1
        theta = self.theta - 2.0 * self.D / (self.G * np.sqrt(self.t)) * g
        self.theta = theta * min(1.0, self.D / max(np.linalg.norm(theta), 1e-300))


class Online:
    """The ellipsoid around what an online learner predicts."""

    def __init__(self, p, kind):
        self.V, self.u, self.radius = np.eye(p.d), np.zeros(p.d), p.width
        self.V_inv, self.theta = np.eye(p.d), np.zeros(p.d)
        self.learner = kind(p.d, p.T, p.learner.ball, p.learner.gradient)

    def learn(self, x, y, sigma):
        """Algorithm 1, lines 14 to 19."""
        theta, G = self.learner.theta, self.learner.G
        g = 2.0 * x * (x @ theta - y) - 2.0 * sigma**2 * theta
        self.V += np.outer(x, x)
        self.u += (x @ theta) * x
        self.V_inv = np.linalg.inv(self.V)
        self.theta = self.V_inv @ self.u
        self.learner.update(g * min(1.0, G / max(np.linalg.norm(g), 1e-300)))


def online_linucb(p, X, R, rng, kind=Maler):
    """Algorithm 1 with Maler."""
    model = Online(p, kind)

    def learn(t, x, r):
        model.learn(*noisy_pair(p, x, r, rng), p.sigma)

    return played(X, R, model, learn)


def online_linucb_ogd(p, X, R, rng):
    """Algorithm 1 with online gradient descent."""
    return online_linucb(p, X, R, rng, Descent)


TWINS = {
    "linucb": Twin(linucb),
    "jdp_linucb": Twin(jdp_linucb),
    "ldp_linucb": Twin(ldp_linucb),
    "corrected_ridge": Twin(corrected_ridge),
    "online_linucb": Twin(online_linucb),
    "online_linucb OGD": Twin(online_linucb_ogd),
}
