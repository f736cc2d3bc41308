"""Many lives of Joint-DP GLM in one call, for attacks that are counted from whole runs."""

from typing import TYPE_CHECKING, Any

from companion._jit import jit
from companion._types import AnyArray, Array, Ints, Rng
from companion.kernels.linalg import copy
from companion.private_glm.joint import State, play

if TYPE_CHECKING:
    from companion.private_glm.calibrate import Params


@jit
def play_many(
    p: "Params",
    s: State,
    memory: AnyArray,
    data: Any,
    rng: Rng,
    arms: Ints,
    ends: Ints,
    out: Array,
) -> None:
    """Play as `companion.accounting.lives` says; out (n, m, d (d+1) + d) <- the released sums of V
    and of H, and theta_o, after each of the m rounds `ends`."""
    (X, R), m = data, s.V.release.shape[0]
    for i in range(arms.shape[0]):
        copy(memory[1], memory[0])
        now, begin = s, 0
        for j in range(ends.shape[0]):
            end = ends[j]
            now = play(p, now, X[begin:end], R[begin:end], rng, arms[i, begin:end])
            begin = end
            copy(now.V.release, out[i, j, :m])
            copy(now.H.release, out[i, j, m : 2 * m])
            copy(now.theta_o, out[i, j, 2 * m :])
