"""Whole bandit runs on finitely many contexts, epoch by epoch: the exact law of round-by-round
play, for any horizon.

Within an epoch of RegCB.Elimination the policy is fixed, so who plays what is one multinomial, and
the oracle needs sums only. Pseudo-regret is counted from the numbers of plays.  The last epoch's
oracle would never be used, so its users are not asked.
Source: Algorithm 1; Zheng et al. (2020), Algorithm 2 for LDP-LinUCB, refitted here at times that
grow by a factor 1.2.
"""

import math

import numpy as np

from companion._jit import jit
from companion.linalg import add_outer, axpy, dot, inverse, matvec, quad
from companion.lplr.bins import interval, tree_of
from companion.lplr.elimination import eliminate
from companion.lplr.fit import fit_sums
from companion.lplr.noise import multinomial, sign_sum, tails
from companion.lplr.sufficient_statistics import ssp_fit, ssp_interval, ssp_sums

EPOCHS = 64  # 2^64 rounds: more than any run has


@jit
def spread_out(prob, alive, share):
    """share (C*A,) <- chance of context c and arm a under uniform play of the arms alive."""
    C, A = alive.shape
    for c in range(C):
        left = 0
        for a in range(A):
            left += alive[c, a]
        for a in range(A):
            share[c * A + a] = prob[c] / left if alive[c, a] == 1 else 0.0


@jit
def judge(f, width, alive, prob, mu, log):
    """Eliminate in every context and log what Lemma EC.2 speaks of.

    log[0]: optimal arms lost so far; log[1]: intervals that miss; log[2]: mean of 2 (width_a +
    width_a*) over what the next epoch plays, which bounds its regret per round.
    """
    C, A = alive.shape
    log[0] = log[1] = log[2] = 0.0
    for c in range(C):
        best = 0
        for a in range(1, A):
            if mu[c, a] > mu[c, best]:
                best = a
        for a in range(A):
            if alive[c, a] == 1 and abs(f[c, a] - mu[c, a]) > width[c, a] + 1e-12:
                log[1] += 1.0
        eliminate(f[c], width[c], alive[c])
        log[0] += 1.0 - alive[c, best]
        left, total = 0, 0.0
        for a in range(A):
            if alive[c, a] == 1:
                left += 1
                total += 2.0 * (width[c, a] + width[c, best]) if a != best else 0.0
        log[2] += prob[c] * total / left


@jit
def count_regret(plays, mu):
    """Pseudo-regret of plays (C*A,) at means mu (C, A)."""
    total, A = 0.0, mu.shape[1]
    for c in range(mu.shape[0]):
        best = mu[c, 0]
        for a in range(1, A):
            best = max(best, mu[c, a])
        for a in range(A):
            total += plays[c * A + a] * (best - mu[c, a])
    return total


@jit
def elimination(kind, p, q, forest, models, points, mu, prob, owner, T, n0, rng, work, log):
    """Algorithm 1 for T rounds; kind 0: LPLR (p, forest), 1: SSP (q, models), 2: an exact oracle,
    3: one that knows nothing.

    points (C*A, d), mu (C, A), prob (C,), owner (C*A,): the oracle a pair is fed to; epochs have
    2^tau n0 rounds; work from `space`; log (EPOCHS, 5) <- per epoch the three numbers of `judge`,
    rounds, regret.  Returns the regret.
    """
    fits, share, tail, seen, plays, alive, f, width, residual = work
    C, A = mu.shape
    flat = mu.reshape(C * A)
    for c in range(C):
        for a in range(A):
            alive[c, a] = 1
    left, total, tau = T, 0.0, 0
    signs = T > 0  # not the literal True, which would compile the fits a second time
    while left > 0:
        n = min(2 ** (tau + 1) * n0, left)
        left -= n
        spread_out(prob, alive, share)
        for j in range(C * A):
            plays[j] = 0
        asked = 0
        if left > 0 and kind == 0 and n >= 2 * p.d:
            fit_sums(p, forest, points, flat, share, owner, n // (2 * p.d), signs, rng, plays, fits)
            asked = (2 * p.d - 1) * (n // (2 * p.d))
        if left > 0 and kind == 1:
            ssp_sums(q, models, points, flat, share, n, signs, rng, seen, tail, plays)
            ssp_fit(q, models, n)
            asked = n
        tails(share, tail)
        multinomial(rng, n - asked, share, tail, seen)
        for j in range(C * A):
            plays[j] += seen[j]
        log[tau, 3], log[tau, 4] = n, count_regret(plays, mu)
        total += log[tau, 4]
        if left > 0:
            for j in range(C * A):
                c, a = j // A, j % A
                f[c, a], width[c, a] = flat[j] if kind == 2 else 0.0, 0.0 if kind == 2 else 1.0
                if kind == 0 and n >= 2 * p.d:
                    tree = tree_of(forest, owner[j])
                    f[c, a], width[c, a] = interval(p, tree, points[j], residual)
                if kind == 1:
                    f[c, a], width[c, a] = ssp_interval(q, models, points[j])
            judge(f, width, alive, prob, mu, log[tau])
        tau += 1
    return total


@jit
def ldp_linucb_batched(points, mu, prob, T, sigma, bonus, p_fail, rng, work, arrays):
    """LDP-LinUCB on C contexts of A arms: T rounds, refits whenever the number of rounds has grown
    by a fifth.

    sigma: standard deviation of one user's Gaussian noise; bonus multiplies the shift and the
    radius (1: the paper's); p_fail its failure probability.  arrays: V, V_c, inverse, scratch (d,
    d), u, theta (d,).  Returns the regret.
    """
    _, share, tail, _, plays, _, _, _, _ = work
    V, shifted, inv, scratch, u, theta = arrays
    C, A = mu.shape
    d = u.shape[0]
    for i in range(d):
        u[i] = theta[i] = 0.0
        for j in range(d):
            V[i, j] = 0.0
    t, total, log_T = 0, 0.0, math.log(T)
    while t < T:
        n = min(max(1, t // 5), T - t)
        rounds = max(t, 1)
        shift = (
            sigma * math.sqrt(rounds) * (4 * math.sqrt(d) + 2 * math.log(2 * T / p_fail)) * bonus
        )
        radius = 2 * sigma * math.sqrt(d * log_T)
        radius += (math.sqrt(3 * shift) + sigma * math.sqrt(d * rounds / shift)) * d * log_T
        for i in range(d):
            for j in range(d):
                shifted[i, j] = V[i, j] + (2 * shift if i == j else 0.0)
        inverse(shifted, inv, scratch)
        matvec(inv, u, theta)
        for c in range(C):
            best, arm = -math.inf, 0
            for a in range(A):
                x = points[c * A + a]
                ucb = dot(x, theta) + bonus * radius * math.sqrt(max(quad(inv, x), 0.0))
                if ucb > best:
                    best, arm = ucb, a
                share[c * A + a] = 0.0
            share[c * A + arm] = prob[c]
        tails(share, tail)
        multinomial(rng, n, share, tail, plays)
        for j in range(C * A):
            if plays[j] > 0:
                add_outer(float(plays[j]), points[j], V)
                axpy(sign_sum(rng, plays[j], mu[j // A, j % A]), points[j], u)
        noise = sigma * math.sqrt(n)
        for i in range(d):
            u[i] += noise * rng.standard_normal()
            for j in range(i + 1):
                z = noise * rng.standard_normal()
                V[i, j] += z
                V[j, i] += z if j < i else 0.0
        total += count_regret(plays, mu)
        t += n
    return total


def space(C, A, d, fits):
    """Scratch arrays of `elimination`; fits comes from `fit.workspace(C * A, d)`."""
    K = C * A
    ints = [np.zeros(K, dtype=np.int64) for _ in range(2)]
    alive = np.ones((C, A), dtype=np.int64)
    return (
        fits,
        np.zeros(K),
        np.zeros(K),
        *ints,
        alive,
        np.zeros((C, A)),
        np.zeros((C, A)),
        np.zeros(d),
    )
