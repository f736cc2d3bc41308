"""What the chapters measure on single runs: envelopes, filters, errors of estimates and gradients.

Source: section 3.1 of the paper and Algorithm 3.
"""

import numpy as np

from companion.kernels.geometry import lq_norm
from companion.simulate import over, stream
from companion.streaming_sco.excess import watch
from companion.streaming_sco.linear import excesses


def envelope(
    optimiser,
    slopes,
    n: int,
    seeds,
    grid: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """(means (slopes, checkpoints), samples (runs, checkpoints)) of linear losses.

    At every checkpoint the samples are those of the slope with the largest mean excess.
    """
    samples = excesses(optimiser, slopes, n, seeds, grid)
    means = samples.mean(axis=1)
    return means, samples[means.argmax(axis=0), :, np.arange(len(grid))].T


def removed(world, policy, later: int, seeds) -> np.ndarray:
    """Shares of `later` rounds in which the filter of Algorithm 3 removes the best arm, and any
    arm, (n_reps, 2).  The filter is fixed after the forced rounds, which alone are played.
    """
    return np.array(over(_removed, [(world, policy, later, seed) for seed in seeds]))


def _removed(world, policy, later, seed):
    p = policy.params
    forced, blocks = p.K * p.t0, world.blocks(p.K * p.t0 + later, stream(seed, "environment"))
    X, R, mu = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    rng, arms, start = stream(seed, policy.name), np.empty(forced, np.int64), policy.init(p)
    state = policy.play(p, start, X[:forced], R[:forced], rng, arms)
    z, best = X[forced:, 0] @ state.forced.T, mu[forced:].argmax(axis=1)
    gone = z <= z.max(axis=1, keepdims=True) - 0.5 * p.gap
    return gone[np.arange(later), best].mean(), gone.any(axis=1).mean()


def estimates(
    world,
    policy,
    T: int,
    seeds,
    grid,
) -> np.ndarray:
    """Largest squared l_1 error of an arm's estimate after every t of the grid, (n_reps, n_grid).

    The true parameters are solved from the means of a linear world.
    """
    return np.array(over(_estimates, [(world, policy, T, seed, grid) for seed in seeds]))


def _estimates(world, policy, T, seed, grid):
    rng, state, done, found = stream(seed, policy.name), policy.init(policy.params), 0, []
    for X, R, mu in world.blocks(T, stream(seed, "environment")):
        true = np.linalg.lstsq(X[:, 0], mu, rcond=None)[0].T
        ends, begin = [t - done for t in grid if done < t <= done + len(X)], 0
        for end in [*ends, len(X)]:
            cut = slice(begin, end)
            arms = np.empty(end - begin, np.int64)
            state = policy.play(policy.params, state, X[cut], R[cut], rng, arms)
            begin = end
            if len(found) < len(grid) and done + end == grid[len(found)]:
                found.append((np.abs(state.arms.theta - true).sum(axis=1) ** 2).max())
        done += len(X)
    return found


def gradient_errors(
    world,
    optimiser,
    n: int,
    seeds,
    grid: np.ndarray,
    c: float,
) -> np.ndarray:
    """||d_t - grad F(theta_t)||_q at every t of the grid, (n_reps, n_grid); E x x' = c I."""
    return errors_and_risks(world, optimiser, n, seeds, grid, c)[0]


def errors_and_risks(
    world,
    optimiser,
    n: int,
    seeds,
    grid: np.ndarray,
    c: float,
) -> np.ndarray:
    """(2, n_reps, n_grid): `gradient_errors`, and the excess risk of the same runs."""
    jobs = [(world, optimiser, n, seed, grid, c) for seed in seeds]
    return np.stack(over(_errors_and_risks, jobs), axis=1)


def _errors_and_risks(world, optimiser, n, seed, grid, c):
    errors, public = [], []
    for _, state, theta in watch(optimiser, world, n, seed, grid):
        m = state.memory
        errors.append(lq_norm(m.gradient - world.gradient(m.old, c), optimiser.params.q))
        public.append(theta)
    return np.array([errors, world.excess(np.array(public))])


def checkpoints(n: int, count: int = 24, start: float = 64) -> np.ndarray:
    """About `count` numbers of records below n, none a power of two, where the tree is best.

    Every number has a one-bit at half of its length, like a typical one.
    """
    t = np.unique(np.geomspace(start, n, count).astype(np.int64))
    bits = np.array([int(v).bit_length() for v in t])
    t = t | (np.int64(1) << (bits // 2)) | 1
    return np.unique(np.append(t[t < n], n - 1))
