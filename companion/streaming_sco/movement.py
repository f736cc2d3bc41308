"""How far one record can move a leaf of the squared loss on the l_2 ball: exactly, not 2 C.

The leaf of round t is g = 2 (x'w - y) x with w = (t + 1) theta_t - t theta_(t-1), which is public
before the record comes.  Let ||x||_2 <= 1, |y| <= Y.  For unit x, z at angles alpha, beta to a unit
vector u, which is at an angle psi to w,
    u'(g - g') <= |w| (cos(2 alpha + psi) - cos(2 beta + psi)) + 2 Y (|cos alpha| + |cos beta|)
               <= 2 |w| |sin(alpha - beta)| + 2 Y (|cos alpha| + |cos beta|),
where the middle terms cancelled.  A change of sign of x or z changes neither side, so both cosines
may be taken non-negative; for a fixed alpha - beta their sum is largest at alpha = -beta = gamma:
    ||g - g'||_2 <= max over gamma of 2 |w| sin(2 gamma) + 4 Y cos(gamma).
Shorter contexts, and those outside the plane of u and w, give no more: the bound is convex in the
length of the part in the plane.  The pair x, z = cos(phi) w/|w| +- sin(phi) e, y = -Y for both, e
orthogonal to w, phi = pi/2 - gamma, attains it: u = e.
How long is w?  With v_i in the ball, steps c/(t + 1), 0 < c <= 1, and theta_0 = theta_1 = 0, w is 0
at t = 1 and (3/2) c v_1 at t = 2; later w = (1 - c - c/t) theta_(t-1) + c (1 + 1/t) v_(t-1), of
length at most r (1 + 2/t), and at t = 3 at most (3/2) r as ||theta_2|| <= r/2.  So |w| <= (3/2) r.
Source: ours; the paper has 2 (beta D + L).
"""

import math

FARTHEST = 1.5  # |w| / r


def leaf_movement(size: float, labels) -> float:
    """The largest ||g - g'||_2 for |w| = size >= 0 and |y| <= labels, labels > 0.

    The best gamma has sin(gamma) = (-Y + sqrt(Y^2 + 8 |w|^2))/(4 |w|).

    >>> leaf_movement(0.0, 1.0), round(leaf_movement(2.0, 1.2), 4)
    (4.0, 7.6907)
    """
    if size == 0.0:
        return 4.0 * labels
    sine = (math.sqrt(labels * labels + 8.0 * size * size) - labels) / (4.0 * size)
    return 4.0 * math.sqrt(1.0 - sine * sine) * (size * sine + labels)


def sum_movement(radius: float, labels, clip, first: float, later: float) -> float:
    """Root of the largest squared shift of all that is released, when one record is replaced.

    clip: bound of a leaf; first, later: squared growth of the shift of the first leaf, at w = 0,
    and of any later one, where |w| <= (3/2) r.  Clipping brings no two leaves further apart.
    """
    at_first = min(2.0 * clip, leaf_movement(0.0, labels)) * math.sqrt(first)
    after = min(2.0 * clip, leaf_movement(FARTHEST * radius, labels)) * math.sqrt(later)
    return max(at_first, after)
