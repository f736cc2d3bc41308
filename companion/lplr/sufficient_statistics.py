"""What LPLR is compared with: perturbed sufficient statistics (SSP), and least squares.

Every user sends phi phi' and y phi once, with the mechanisms
of LPLR and half of epsilon for each: nuclear sensitivity 2 and c = 2/epsilon give 2/(2c) =
epsilon/2; L1 sensitivity 2 sqrt(d) and scale 4 sqrt(d)/epsilon give the other half.  epsilon = inf
is ordinary least squares.
Source: Shariff and Sheffet (2018), the local version of Section 2.2 of the LPLR paper.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY, Guarantee
from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, ball_least_squares, copy, dot, jacobi, norm
from companion.lplr.crowd import draw, sign_sum
from companion.lplr.noise import add_matrix_noise, laplace_sum
from companion.lplr.params import MAX_DIMENSION
from companion.validate import need_float, need_int, need_positive


class SSP(NamedTuple):
    """Parameters of the perturbed sufficient statistics."""

    d: int
    vector_scale: float  # Laplace scale of one user's vector
    matrix_scale: float  # Wishart scale of one user's matrix
    z: float  # standard deviations in the half-widths


class Model(NamedTuple):
    V_inv: np.ndarray  # (d, d) inverse of the floored, ridged matrix
    theta: np.ndarray  # (d,) estimate
    error: np.ndarray  # (1,) w + ridge, see `ssp_fit`
    mat: np.ndarray  # (d, d) noisy sum of phi phi'
    vec: np.ndarray  # (d,) noisy sum of y phi
    work: np.ndarray  # (3, d, d) scratch


def ssp_params(d: int, epsilon: float = 1.0, z: float | None = None) -> SSP:
    """SSP for epsilon in (0, inf] (inf: least squares); z >= 0 is 3, or 4 for least squares."""
    d = need_int("d", d, 1, MAX_DIMENSION)
    epsilon = need_positive("epsilon", epsilon, allow_inf=True)
    z = (4.0 if epsilon == math.inf else 3.0) if z is None else need_float("z", z, 0.0)
    return SSP(d, 4 * math.sqrt(d) / epsilon, 2 / epsilon, z)


def ssp_guarantee(p: SSP) -> Guarantee:
    """Guarantee of one user's message, from its scales."""
    if p.matrix_scale == 0.0:
        return NO_PRIVACY
    epsilon = 1 / p.matrix_scale + 2 * math.sqrt(p.d) / p.vector_scale
    return Guarantee("local", epsilon, 0.0, "replace the user's (x, a, y)", "user")


def ssp_model(d: int, copies: int | None = None) -> Model:
    """An empty model, or several with a leading axis."""
    lead = () if copies is None else (copies,)
    shapes = ((d, d), (d,), (1,), (d, d), (d,), (3, d, d))
    return Model(*[np.zeros((*lead, *s)) for s in shapes])


@jit
def ssp_clear(m):
    """Forget all users."""
    m.vec[:] = 0.0
    m.mat[:] = 0.0


@jit
def model_of(m, i):
    """Model number i of several, sharing their memory."""
    return Model(m.V_inv[i], m.theta[i], m.error[i], m.mat[i], m.vec[i], m.work[i])


@jit
def ssp_observe(p, m, user, n, phi, y, rng):
    """Message of user number `user` (from 0, of n), added to the statistics; the last one fits."""
    if user == 0:
        ssp_clear(m)
    add_outer(1.0, phi, m.mat)
    axpy(y, phi, m.vec)
    ssp_noise(p, m, 1, rng)
    if user == n - 1:
        ssp_fit(p, m, n)


@jit
def ssp_noise(p, m, n, rng):
    """The noise of n users, drawn at once (nothing is drawn without privacy)."""
    if p.matrix_scale > 0.0:
        for i in range(p.d):
            m.vec[i] += laplace_sum(rng, n, p.vector_scale)
        add_matrix_noise(rng, n, p.matrix_scale, False, 1.0, m.work[0], m.mat)


@jit
def ssp_sums(p, m, law, n, rng, crowd):
    """Statistics of n users from a `Law`, with noise, into m; crowd.plays grows by them."""
    seen = crowd.seen
    ssp_clear(m)
    draw(law, n, rng, crowd)
    for j in range(seen.shape[0]):
        if seen[j] > 0:
            labels = float(seen[j]) * law.means[j]
            if law.signs:
                labels = sign_sum(rng, seen[j], law.means[j])
            add_outer(float(seen[j]), law.points[j], m.mat)
            axpy(labels, law.points[j], m.vec)
    ssp_noise(p, m, n, rng)


@jit
def ssp_estimate(m):
    """m.theta <- least squares in the unit ball, negative eigenvalues set to 0; V_inv is lost."""
    A, rows, work = m.work[0], m.work[1], m.work[2, 0]
    scale = 1e-300  # keeps squares in range; the matrix may be negative, so entries of both count
    for i in range(A.shape[0]):
        scale = max(scale, abs(m.vec[i]))
        for j in range(A.shape[0]):
            scale = max(scale, abs(m.mat[i, j]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = m.mat[i, j] / scale
            m.V_inv[i, j] = 0.0
        m.V_inv[0, i] = m.vec[i] / scale
    ball_least_squares(A, m.V_inv[0], rows, work, m.theta)


@jit
def ssp_fit(p, m, n):
    """Elimination oracle after n users: V = mat + ridge I, eigenvalues at least a tenth of it.

    theta_hat - theta = V^-1 (vector noise + label noise - (matrix noise + ridge) theta).  The ridge
    is z standard deviations of the matrix noise, w is z of vector and matrix noise together.
    """
    root = math.sqrt(n)
    ridge = max(1.0, p.z * 2.0 * math.sqrt(p.d + 1.0) * p.matrix_scale * root)
    spread = 2.0 * p.vector_scale**2 + 4.0 * (p.d + 1) * p.matrix_scale**2
    m.error[0] = ridge + p.z * root * math.sqrt(spread)
    A, rows = m.work[0], m.work[1]
    copy(m.mat, A)
    for i in range(p.d):
        A[i, i] += ridge
    m.V_inv[:] = 0.0
    jacobi(A, rows)
    for i in range(p.d):
        add_outer(1.0 / max(A[i, i], 0.1 * ridge), rows[i], m.V_inv)
    for i in range(p.d):
        m.theta[i] = dot(m.V_inv[i], m.vec)


@jit
def ssp_interval(p, m, phi):
    """(estimate in [-1, 1], half-width) at phi; (0, ||phi||) where the half-width is no less."""
    far, near = 0.0, 0.0
    for i in range(p.d):
        c = dot(m.V_inv[i], phi)
        far += c * c
        near += c * phi[i]
    width = math.sqrt(far) * m.error[0] + p.z * math.sqrt(max(near, 0.0))
    length = norm(phi)
    if width >= length:
        return 0.0, length
    return min(max(dot(phi, m.theta), -1.0), 1.0), width
