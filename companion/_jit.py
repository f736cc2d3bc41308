"""The house decorator for kernels: `numba.njit` with a disk cache that cannot go stale.

Numba keys a cached function by the file it stands in, so an edited callee in *another* file is not
seen and the old code runs.  Here the cache folder is named by a digest of the whole package: any
edit starts a fresh one.
"""

import hashlib
import os
from pathlib import Path

import numba

_PACKAGE = Path(__file__).parent


def _digest(root):
    """Hexadecimal digest (16 characters) of every Python file below root, names included.

    `report` is left out: no kernel calls it, and a change to a figure should compile nothing.
    """
    h = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] == "report":
            continue
        h.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return h.hexdigest()[:16]


def _cache_folder():
    """NUMBA_CACHE_DIR if set, else beside the sources, else (read-only) in the user's cache."""
    home = os.environ.get("NUMBA_CACHE_DIR")
    if home is None:
        beside = _PACKAGE / "__pycache__"
        writable = os.access(beside if beside.exists() else _PACKAGE, os.W_OK)
        home = beside if writable else Path.home() / ".cache" / "companion"
    return str(Path(home) / _digest(_PACKAGE))


CACHE = _cache_folder()


def jit(func, inline="never"):
    """Compile func on first call: cached on disk, without the global lock, IEEE arithmetic."""
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, CACHE
    try:
        keys = {"cache": True, "nogil": True, "error_model": "numpy", "inline": inline}
        return numba.njit(**keys)(func)
    finally:
        numba.config.CACHE_DIR = before


def inlined(func):
    """`jit` for the parts of a short step: its code is written out in every caller.

    A call counts the references to each array up and down, atomically; for a step of a few vectors
    of ten numbers that is most of the time.
    """
    return jit(func, inline="always")
