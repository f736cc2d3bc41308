"""Many lives of Joint-DP GLM in one call, for attacks that are counted from whole runs."""

from typing import TYPE_CHECKING

from companion._jit import jit
from companion._types import Array, Rng
from companion.kernels.linalg import copy
from companion.kernels.lives import Lives, live
from companion.private_glm.joint import State, play

if TYPE_CHECKING:
    from companion.private_glm.calibrate import Params


@jit
def show_sums(s: State, out: Array) -> None:
    """out <- the released sums of V and of H, and theta_o (d (d+1) + d,)."""
    m = s.V.release.shape[0]
    copy(s.V.release, out[:m])
    copy(s.H.release, out[m : 2 * m])
    copy(s.theta_o, out[2 * m :])


@jit
def play_many(p: "Params", s: State, rng: Rng, lives: Lives) -> None:
    """Play as `companion.accounting.lives` says; lives show the released sums of V
    and of H, and theta_o (d (d+1) + d,)."""
    live(play, show_sums, p, s, rng, lives)
