"""Steps of mirror descent for h(x) = ||x||_p^2 / (2 (p - 1)), 1 < p <= 2, in closed form.

Source: Asi, Feldman, Koren and Talwar (2021), Algorithm 5, for `local_md`.
"""

import math

from companion.jit import jit
from companion.kernels.geometry import lq_norm


@jit
def power(x, exponent):
    """x^exponent for x >= 0; 1/2 and 2, those of p = 1.5, take no power."""
    if exponent == 0.5:
        return math.sqrt(x)
    return x * x if exponent == 2.0 else math.pow(x, exponent)


@jit
def mirror(z, p, q, out):
    """out <- grad h*(z) = (p - 1) ||z||_q sign(z) (|z|/||z||_q)^(q - 1); returns its l_p norm,
    (p - 1) ||z||_q."""
    size = lq_norm(z, q)
    for i in range(z.shape[0]):
        a = 0.0 if size == 0.0 else power(abs(z[i]) / size, q - 1.0)
        out[i] = (p - 1.0) * size * (a if z[i] > 0.0 else -a)
    return (p - 1.0) * size


@jit
def dual(u, p, out):
    """out <- grad h(u) = ||u||_p sign(u) (|u|/||u||_p)^(p - 1) / (p - 1), inverse of `mirror`."""
    size = lq_norm(u, p)
    for i in range(u.shape[0]):
        a = 0.0 if size == 0.0 else power(abs(u[i]) / size, p - 1.0)
        out[i] = size / (p - 1.0) * (a if u[i] > 0.0 else -a)


@jit
def mirror_step(u, gradient, p, q, radius, z):
    """u <- argmin <gradient, v> + D_h(v, u) over ||v||_p <= radius, u the offset from the centre.

    Without the ball it is grad h*(grad h(u) - gradient); the level sets of h are balls, so the
    constraint only rescales.  z (d,) is overwritten.
    """
    dual(u, p, z)
    for i in range(u.shape[0]):
        z[i] -= gradient[i]
    if mirror(z, p, q, u) < 0.999 * radius:  # inside, whatever the rounding
        return
    size = lq_norm(u, p)
    if size > radius:
        for i in range(u.shape[0]):
            u[i] *= radius / size
