"""House decorators for kernels that make no array and hand none back: they borrow all they use.

A kernel counts the references to the arrays that it takes out of a state, up and down, atomically:
in a round of a policy with forty arrays these counts took a third of the time.  Who only borrows
arrays from a caller that holds them need not count.
"""

from companion._jit import jit
from companion._types import Function


def borrowing(func: Function) -> Function:
    """`jit` without counting references: the same bits.

    Numba refuses to compile one that makes an array.  Nobody may return an array here, neither func
    (a caller would free it) nor a kernel that it calls, but for those that are `inlined` (it would
    never be freed); `tests/test_borrowed.py` sees both.  It is called, not merged.
    """
    kernel = jit(func)
    if hasattr(kernel, "targetoptions"):  # else nothing is compiled
        for one in (kernel, kernel.linked):  # type: ignore[attr-defined]
            one.targetoptions |= {"_nrt": False, "forceinline": False}
    return kernel


def lean(func: Function) -> Function:
    """`jit` for the small steps of all kernels, without counting references: the same bits.

    As in `borrowing`, no array is made or returned; but this one is merged where `jit` would.  By
    itself `jit` counts or not as the caller does that was compiled first, so that the time of a
    policy would depend, by a quarter, on which others were played before it.
    """
    kernel = jit(func)
    if hasattr(kernel, "targetoptions"):  # else nothing is compiled
        kernel.linked.targetoptions |= {"_nrt": False}  # type: ignore[attr-defined]
    return kernel
