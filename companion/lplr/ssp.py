"""Elimination with sufficient statistics perturbation (SSP): what LPLR improves on.

Its regret is of order T^(3/4) in the worst case.  Every user sends phi phi' and y phi
once, with noise; epsilon = inf is least squares without privacy.

Source: the local version of Shariff and Sheffet (2018), as Section 2.2 of the LPLR paper
says; the bandit is Algorithm 1 of that paper.
Privacy: local, delta = 0; neighbours: replace the user's (x, a, y).  Half of epsilon is
for the matrix (nuclear sensitivity 2, Wishart scale c = 2/epsilon, loss 2/(2c)), half for
the vector (L1 sensitivity 2 sqrt(d), Laplace scale 4 sqrt(d)/epsilon).  Each user sends
one message. Records outside the unit ball or [-1, 1] are clipped before anything else.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.core import Policy, Release, Universe, plain_loop
from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, copy, dot, jacobi, norm
from companion.kernels.mechanisms import clip_to_ball
from companion.lplr import lplr
from companion.validate import need_float, need_int


class Oracle(NamedTuple):
    """Parameters of the perturbed sufficient statistics."""

    d: int
    vector_scale: float  # Laplace scale of one user's vector
    matrix_scale: float  # Wishart scale of one user's matrix
    z: float  # standard deviations in the half-widths


class Model(NamedTuple):
    """Statistics of an epoch, and what is made of them; several have a leading axis."""

    V_inv: np.ndarray  # (d, d) inverse of the floored, ridged matrix
    theta: np.ndarray  # (d,) estimate
    error: np.ndarray  # (1,) w + ridge, see `ssp_fit`
    mat: np.ndarray  # (d, d) noisy sum of phi phi'
    vec: np.ndarray  # (d,) noisy sum of y phi
    work: np.ndarray  # (2, d, d) scratch


def ssp_params(d: int, epsilon: float = 1.0, z: float | None = None) -> Oracle:
    """The oracle for epsilon in [1e-100, inf] (inf: least squares); z >= 0 (None: 3, 4
    for inf)."""
    d = need_int("d", d, 1, lplr.MAX_DIMENSION)
    epsilon = lplr.need_budget(epsilon)
    if z is None:
        z = 4.0 if epsilon == math.inf else 3.0
    return Oracle(
        d=d,
        vector_scale=4 * math.sqrt(d) / epsilon,
        matrix_scale=2 / epsilon,
        z=need_float("z", z, 0.0),
    )


def ssp_guarantee(oracle: Oracle) -> Guarantee:
    """Guarantee of one user's message, from its scales."""
    if oracle.matrix_scale == 0.0:
        return NO_PRIVACY
    epsilon = 1 / oracle.matrix_scale + 2 * math.sqrt(oracle.d) / oracle.vector_scale
    return Guarantee(
        model="local",
        epsilon=epsilon,
        delta=0.0,
        neighbours=REPLACE_RECORD,
        unit="user",
    )


def allocate_model(d: int, models: int | None = None) -> Model:
    """An empty model, or several with a leading axis."""
    lead = () if models is None else (models,)
    return Model(
        V_inv=np.zeros((*lead, d, d)),
        theta=np.zeros((*lead, d)),
        error=np.zeros((*lead, 1)),
        mat=np.zeros((*lead, d, d)),
        vec=np.zeros((*lead, d)),
        work=np.zeros((*lead, 2, d, d)),
    )


@jit
def model_of(m, i):
    """Model number i of several, m, sharing their memory."""
    return Model(
        V_inv=m.V_inv[i],
        theta=m.theta[i],
        error=m.error[i],
        mat=m.mat[i],
        vec=m.vec[i],
        work=m.work[i],
    )


@jit
def ssp_noise(oracle, model, n, rng):
    """The noise of n users, drawn at once (nothing is drawn without privacy)."""
    if oracle.matrix_scale > 0.0:
        for i in range(oracle.d):
            model.vec[i] += lplr.laplace_sum(rng, n, oracle.vector_scale)
        lplr.add_matrix_noise(
            rng,
            n,
            oracle.matrix_scale,
            False,
            model.work[0],
            model.mat,
        )


@jit
def ssp_receive(oracle, model, user, n, phi, y, rng):
    """Message of user number `user` (from 0, of n), added to the statistics; the last one
    fits."""
    if user == 0:
        model.vec[:] = 0.0
        model.mat[:] = 0.0
    add_outer(1.0, phi, model.mat)
    axpy(y, phi, model.vec)
    ssp_noise(oracle, model, 1, rng)
    if user == n - 1:
        ssp_fit(oracle, model, n)


@jit
def ssp_fit(oracle, model, n):
    """Elimination oracle after n users: V = mat + ridge I, eigenvalues at least a tenth
    of it.

    theta_hat - theta = V^-1 (vector noise + label noise - (matrix noise + ridge) theta).
    The ridge is z standard deviations of the matrix noise, w is z of vector and matrix
    noise together.
    """
    root = math.sqrt(n)
    ridge = max(
        1.0,
        oracle.z * 2.0 * math.sqrt(oracle.d + 1.0) * oracle.matrix_scale * root,
    )
    spread = 2.0 * oracle.vector_scale**2 + 4.0 * (oracle.d + 1) * oracle.matrix_scale**2
    model.error[0] = ridge + oracle.z * root * math.sqrt(spread)
    V = model.work[0]
    rows = model.work[1]
    copy(model.mat, V)
    for i in range(oracle.d):
        V[i, i] += ridge
    model.V_inv[:] = 0.0
    jacobi(V, rows)  # leaves the eigenvalues on the diagonal
    for i in range(oracle.d):
        add_outer(1.0 / max(V[i, i], 0.1 * ridge), rows[i], model.V_inv)
    for i in range(oracle.d):
        model.theta[i] = dot(model.V_inv[i], model.vec)


@jit
def ssp_interval(oracle, model, phi):
    """(estimate in [-1, 1], half-width) at phi; (0, ||phi||) where the half-width is no
    less.

    The half-width is (w + ridge) ||V^-1 phi|| for noise and ridge, as ||theta|| <= 1, and
    z sqrt(phi'V^-1 phi) for the labels.
    """
    # ||V^-1 phi||^2 and phi'V^-1 phi
    far = 0.0
    near = 0.0
    for i in range(oracle.d):
        c = dot(model.V_inv[i], phi)
        far += c * c
        near += c * phi[i]
    width = math.sqrt(far) * model.error[0] + oracle.z * math.sqrt(max(near, 0.0))
    length = norm(phi)
    if width >= length:
        return 0.0, length
    return min(max(dot(phi, model.theta), -1.0), 1.0), width


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    K: int  # number of arms
    n0: int  # epoch tau = 1, 2, ... has 2^tau n0 rounds
    oracle: Oracle


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    epoch: np.ndarray  # (1,) epochs finished
    begin: np.ndarray  # (1,) round at which the current epoch began
    models: Model  # one per epoch
    alive: np.ndarray  # (K,) scratch: 1 if the arm stays
    f: np.ndarray  # (K,) scratch: estimates
    width: np.ndarray  # (K,) scratch: half-widths
    x: np.ndarray  # (d,) scratch: clipped context


def init(p: Params) -> State:
    """State before the first round."""
    return State(
        t=np.zeros(1, np.int64),
        epoch=np.zeros(1, np.int64),
        begin=np.zeros(1, np.int64),
        models=allocate_model(p.d, lplr.n_epochs(p.T, p.n0)),
        alive=np.zeros(p.K, np.int64),
        f=np.zeros(p.K),
        width=np.zeros(p.K),
        x=np.zeros(p.d),
    )


@jit
def select(p, s, X, rng):
    """A random arm of X (K, d) that no finished epoch eliminates."""
    s.alive[:] = 1
    for epoch in range(s.epoch[0]):
        model = model_of(s.models, epoch)
        for k in range(p.K):
            if s.alive[k] == 1:
                clip_to_ball(X[k], 0.0, s.x)
                s.f[k], s.width[k] = ssp_interval(p.oracle, model, s.x)
        lplr.eliminate(s.f, s.width, s.alive)
    return lplr.random_arm(s.alive, rng)


@jit
def update(p, s, arm, x, r, rng):
    """The user's message to the epoch's oracle; nobody would use that of the last
    epoch."""
    length = lplr.epoch_length(p.n0, s.epoch[0])
    y, _ = clip_to_ball(x, r, s.x)
    if s.begin[0] + length < p.T:
        user = s.t[0] - s.begin[0]
        model = model_of(s.models, s.epoch[0])
        ssp_receive(p.oracle, model, user, length, s.x, y, rng)
    lplr.next_round(s, p.n0)


play = plain_loop(select, update)


def suffstats(
    d: int,
    T: int,
    K: int,
    *,
    epsilon: float = 1.0,
    n0: int = 64,
    z: float | None = None,
) -> Policy:
    """Elimination with perturbed sufficient statistics for T rounds with K arms each.

    Parameters
    ----------
    d : dimension of a context, >= 1.
    T : number of rounds, >= 4d.
    K : number of arms, >= 1.
    epsilon : budget of pure local privacy, in [1e-100, inf] (inf: least squares).
    n0 : half the length of the first epoch, >= d.
    z : standard deviations in a half-width, >= 0; None: 3, without privacy 4.

    Returns
    -------
    A `Policy`; records outside the unit ball or [-1, 1] are clipped.

    Raises
    ------
    ValueError on anything else.

    >>> suffstats(2, 1000, 5, epsilon=0.5).name
    'SSP'
    """
    d, T, K, n0 = lplr.need_horizon(d, T, K, n0)
    oracle = ssp_params(d, epsilon, z)
    lplr.need_memory(lplr.n_epochs(T, n0) * (4 * d * d + 2 * d + 1) + 3 * K)
    promise = ssp_guarantee(oracle)
    p = Params(
        d=d,
        T=T,
        K=K,
        n0=n0,
        oracle=oracle,
    )
    name = "Least squares" if promise.model == "none" else "SSP"
    return Policy(
        name=name,
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=promise,
        universe=Universe(),
        delayed_feedback=True,
        releases=(
            Release(ssp_receive, "model.vec", "laplace"),
            Release(ssp_receive, "model.mat", "wishart"),
        ),
        private=("x", "alive", "f", "width"),
    )
