"""Kernels of `companion.fliphat.shortcuts`: runs of FLIPHAT that draw two numbers an arm
(`two_scores`), and rows of one law for all policies.
"""

from companion.fliphat import episodes, two_scores
from companion.fliphat.policy import update
from companion.fliphat.regression import Regression, add_moment
from companion.jit import jit


@jit
def run_lazy(p, s, w, part, rng, noise_rng):
    """Play an episode with the policy's own `update`."""
    first, Z, grid, regret = part
    f, at = two_scores.factor(w, s.theta_hat), two_scores.place(grid, first)
    for t in range(first, min(2 * first - 1, grid[-1]) + 1):
        one, two, y = two_scores.play_round(w, f, s.size == 0, rng)
        if t < 1 << p.iterations.shape[0]:  # rows of the last episode are never looked at
            two_scores.move(w, f, s.theta_hat, s.picks, (one, two), 1.0, Z[t - first], w.x)
        s = update(p, s, 0, w.x, y, noise_rng)
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
    return s


@jit
def run_streamed(p, s, w, part, rng, noise_rng):
    """`run_lazy` where a release takes one step (`one_step`): to the bit, but every row is added to
    the moment of that step when it is played, and none is stored.
    """
    first, Z, grid, regret = part
    f, at = two_scores.factor(w, s.theta_hat), two_scores.place(grid, first)
    episode, last = 0, min(2 * first - 1, grid[-1])
    while 2 << episode <= first:
        episode += 1
    learns, start = episode < p.iterations.shape[0], s.size if p.warm else 0
    q = episodes.regression(p, min(episode, p.iterations.shape[0] - 1))
    bound = min(p.row_clip, p.gradient_clip)
    q = Regression(q.sparsity, 1, q.eta, q.l1_radius, bound, *q[5:])
    for j in range(p.d if p.forget else 0):
        s.work.moment[j] = 0.0
    for t in range(first, last + 1):
        one, two, y = two_scores.play_round(w, f, s.size == 0, rng)
        if learns:
            two_scores.move(w, f, s.theta_hat, s.picks, (one, two), 1.0, Z[t - first], w.x)
            add_moment(q, w.x, y, s.theta_hat, s.picks, start, s.work.moment)
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
    size, n = s.size, first if p.forget else 2 * first - 1
    if learns and last == 2 * first - 1:
        size = episodes.release_from_moment(p, s, n, episode, noise_rng)
    return episodes.State(last, 0, 0, size, s.theta_hat, s.picks, s.X, s.y, s.work)


@jit
def run_scores(p, s, w, rng, noise_rng, grid, regret):
    """Play to round grid[-1], one row per episode; regret as in a `Part`; returns the state (no
    rows are stored)."""
    size, T, episode = 0, grid[-1], 0
    while 1 << episode <= T:
        two_scores.play_episode(p, s, w, episode, size, rng, grid, regret)
        if 2 << episode <= T:
            size = episodes.release_from_moment(p, s, 1 << episode, episode, noise_rng)
        episode += 1
    return episodes.State(T, 0, 0, size, s.theta_hat, s.picks, s.X, s.y, s.work)
