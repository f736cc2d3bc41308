"""What Lemma 4.7 is about, on runs of Algorithm 3: gradients of a loss that moves with the choices.

Arm i sees (x, r) where it is chosen, and a zero record elsewhere.  Given the estimates, its mean
loss is F_t(theta) = E 1{a(x) = i} (x'(theta - theta*_i))^2 + noise, so that grad F_t(theta) =
2 E 1{a(x) = i} x x' (theta - theta*_i), and E is taken over a fixed sample of contexts.
Source: the paper, Lemmas 4.7 and B.1, section B.1.
"""

import numpy as np

from companion.simulate import over, stream

SAMPLE = 20_000  # contexts that stand for their law


def drifts(world, policy, T: int, seeds, grid: np.ndarray):
    """(error, dropped), each (n_reps, n_grid): of the worst arm after every t of the grid.

    error: ||d_t - grad F_t(theta_t)||_inf of the released gradient, theta_t being the estimate at
    which the last record was met.  dropped: E 1{the choice between the last two estimates differs}
    (x'(theta_t - theta*_i))^2, a bound on what section B.1 drops, F_t(theta_t) - F_(t-1)(theta_t).
    The policy is greedy: its filter removes nobody.  The world is linear.
    """
    found = np.array(over(_drifts, [(world, policy, T, seed, tuple(grid)) for seed in seeds]))
    return found[:, 0], found[:, 1]


def _drifts(world, policy, T, seed, grid):
    rng, state, done = stream(seed, policy.name), policy.init(policy.params), 0
    true, fresh, errors, dropped = None, None, [], []
    for X, R, mu in world.blocks(T, stream(seed, "environment")):
        if true is None:
            true = np.linalg.lstsq(X[:, 0], mu, rcond=None)[0].T
            fresh = _contexts(world, seed)
        begin = 0
        for end in [t - done for t in grid if done < t <= done + len(X)] + [len(X)]:
            cut = slice(begin, end)
            arms = np.empty(end - begin, np.int64)
            state = policy.play(policy.params, state, X[cut], R[cut], rng, arms)
            begin = end
            if len(errors) < len(grid) and done + end == grid[len(errors)]:
                errors.append(_error(state, true, fresh))
                dropped.append(_dropped(state, true, fresh))
        done += len(X)
    return errors, dropped


def _contexts(world, seed):
    """Fresh contexts (SAMPLE, d) of the world's law; parameters of these blocks do not matter."""
    found, rng = [], stream(seed, "fresh contexts")
    for X, _, _ in world.blocks(SAMPLE, rng):
        found.append(X[:, 0])
    return np.concatenate(found)


def _error(state, true, fresh):
    met = state.arms.old
    chosen = (fresh @ met.T).argmax(axis=1)
    largest = 0.0
    for i, theta in enumerate(true):
        own = fresh * (chosen == i)[:, None]
        mean = 2.0 * own.T @ (own @ (met[i] - theta)) / len(fresh)
        largest = max(largest, np.abs(state.arms.gradient[i] - mean).max())
    return largest


def _dropped(state, true, fresh):
    now, before = ((fresh @ a.T).argmax(axis=1) for a in (state.arms.theta, state.arms.old))
    turned = fresh[now != before]
    lost = [((turned @ (state.arms.theta[i] - true[i])) ** 2).sum() for i in range(len(true))]
    return max(lost) / len(fresh)
