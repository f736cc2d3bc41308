"""Several copies of Online LinUCB held in one set of arrays, so that a kernel can index them.

A copy is an `anytime_linucb` (Params, State); plain Online LinUCB is one with a single epoch.
"""

import numpy as np

from companion.jit import inlined, jit
from companion.online_linucb import anytime, maler, policy


def stack(trees):
    """One named tuple of arrays with a leading axis; smaller arrays are padded with zeros."""
    first = trees[0]
    if isinstance(first, tuple):
        return type(first)(*(stack(parts) for parts in zip(*trees, strict=True)))
    arrays = [np.asarray(a) for a in trees]
    shape = tuple(np.max([a.shape for a in arrays], axis=0).astype(int))
    out = np.zeros((len(arrays), *shape), arrays[0].dtype)
    for i, a in enumerate(arrays):
        out[(i, *map(slice, a.shape))] = a
    return out


@inlined
def base_params(b, i):
    """Parameters of base learner i; views, nothing is copied."""
    per_epoch = (b.length[i], b.jitter[i], b.width[i], b.clip[i], b.ball[i], b.rate_convex[i])
    rates = (b.n_rates[i], b.rates[i], b.log_prior[i])
    return anytime.Params(b.d[i], b.sigma[i], b.offset[i], *per_epoch, *rates)


@inlined
def base_state(b, i):
    """State of base learner i; views, nothing is copied."""
    r, a = b.run, b.run.learner
    experts = (a.theta[i], a.convex[i], a.strong[i], a.newton[i], a.S[i], a.S_inv[i])
    learner = maler.State(a.t[i], *experts, a.log_w[i], a.rows[i], a.work[i])
    run = (r.t[i], r.V_inv[i], r.u[i], r.centre[i], learner, r.x[i], r.g[i], r.clipped[i])
    return anytime.State(b.t[i], b.epoch[i], policy.State(*run))


@jit
def store(b, i, s):
    """Write the scalars of learner i's state s back; its arrays are already in place."""
    b.t[i], b.epoch[i] = s.t, s.epoch
    b.run.t[i], b.run.learner.t[i], b.run.clipped[i] = s.run.t, s.run.learner.t, s.run.clipped
