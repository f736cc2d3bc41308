"""Many lives of Joint-DP GLM in one call, for attacks that are counted from whole runs."""

from companion.jit import jit
from companion.kernels.linalg import copy
from companion.kernels.lives import live
from companion.private_glm.joint import play


@jit
def show_sums(s, out):
    """out <- the released sums of V and of H, and theta_o (d (d+1) + d,)."""
    m = s.V.release.shape[0]
    copy(s.V.release, out[:m])
    copy(s.H.release, out[m : 2 * m])
    copy(s.theta_o, out[2 * m :])


@jit
def play_many(p, s, rng, lives):
    """Play as `companion.accounting.lives` says; lives show the released sums of V
    and of H, and theta_o (d (d+1) + d,)."""
    live(play, show_sums, p, s, rng, lives)
