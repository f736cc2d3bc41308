"""Maler as its algorithms are written: a slow twin for tests."""

import numpy as np
from scipy.optimize import brentq


def project(x, radius):
    return x / max(1.0, np.linalg.norm(x) / radius)


def project_in_norm(S, z, radius):
    """argmin (v - z)'S(v - z) over the ball, by its multiplier."""
    if np.linalg.norm(z) <= radius:
        return z
    w, U = np.linalg.eigh(S)
    y = w * (U.T @ z)

    def excess(multiplier):
        return np.linalg.norm(y / (w + multiplier)) - radius

    top = w.max() * np.linalg.norm(z) / radius
    multiplier = brentq(excess, 0.0, top, xtol=1e-300, rtol=1e-15)
    return U @ (y / (w + multiplier))


class Twin:
    """Algorithms 5 to 8 as they are written, with arrays and a weight per expert."""

    def __init__(self, d, T, D, G):
        n = int(np.ceil(0.5 * np.log2(T))) + 1
        self.D = D
        self.G = G
        self.t = 0
        self.n = n
        i = np.arange(n)
        self.eta = 2.0**-i / (5 * 2 * D * G)
        self.eta_c = 1 / (2 * G * 2 * D * np.sqrt(T))
        prior = (1 + 1 / n) / (3 * (i + 1) * (i + 2))
        self.w = np.concatenate([[1 / 3], prior, prior])
        self.a = 0.5 * min(1 / (8 * 7 / 50), 1)
        self.experts = np.zeros((2 * n + 1, d))  # convex, strong, newton
        self.S = np.array([np.eye(d) / (4 * self.a**2 * D**2)] * n)
        self.theta = np.zeros(d)

    def update(self, g):
        self.t += 1
        n = self.n
        G = self.G
        D = self.D
        theta = self.theta
        gap = theta - self.experts
        along = gap @ g
        eta = np.concatenate([[self.eta_c], self.eta, self.eta])
        loss = -eta * along
        loss[0] += (2 * self.eta_c * G * D) ** 2
        loss[1 : n + 1] += self.eta**2 * G**2 * (gap[1 : n + 1] ** 2).sum(1)
        loss[n + 1 :] += self.eta**2 * along[n + 1 :] ** 2
        self.w = self.w * np.exp(-loss)
        self.w /= self.w.sum()
        rate = 2 * D / (G * np.sqrt(self.t))
        self.experts[0] = project(self.experts[0] - rate * g, D)
        for i, e in enumerate(self.eta):
            x = self.experts[1 + i]
            curvature = 2 * e**2 * G**2
            step = e * g + curvature * (x - theta)
            self.experts[1 + i] = project(x - step / (curvature * self.t), D)
            x = self.experts[1 + n + i]
            step = e * g + 2 * e**2 * g * (g @ (x - theta))
            self.S[i] += np.outer(step, step)
            z = x - np.linalg.solve(self.S[i], step) / self.a
            self.experts[1 + n + i] = project_in_norm(self.S[i], z, D)
        weight = self.w * eta
        self.theta = weight @ self.experts / weight.sum()
