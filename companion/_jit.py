"""The house decorator for kernels: `numba.njit` with a disk cache that knows what it depends on.

Numba keys a cached function by the time, size and line of the file it stands in: a moved line
compiles again, and an edited callee in *another* file is not seen, so that old code runs.  Here
the name of a cached kernel holds the digest of `_closure` for its module.  Numba adds Python, its
own version, the processor and the types of the arguments.
"""

import os
import time
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from companion import _compiler, _linked
from companion._closure import Package
from companion._types import Function

PACKAGE = Package(Path(__file__).parent)
KEPT = 86_400.0  # seconds for which a kernel of another digest is kept: branches come and go
SHORT = 800  # bytes of bytecode below which a kernel's machine code stands in its callers
LOOPS = "play", "run"  # kernels that Python calls, whatever their length
HOUSE: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _cache_folder():
    """NUMBA_CACHE_DIR if set, else beside the sources, else (read-only) in the user's cache."""
    home = os.environ.get("NUMBA_CACHE_DIR")
    if home is None:
        beside = PACKAGE.root / "__pycache__"
        writable = os.access(beside if beside.exists() else PACKAGE.root, os.W_OK)
        home = beside / "kernels" if writable else Path.home() / ".cache" / "companion"
    return Path(home)


CACHE = _cache_folder()


class _Locator(_CacheLocator):
    """Where a kernel of the package is kept: a folder per module, the digest in the name."""

    # The names of the methods are those that Numba asks for.

    HOME = CACHE

    def __init__(self, module, py_file):
        self._py_file, self._digest = py_file, PACKAGE.digest([module])
        self._folder = self.HOME / module

    def get_cache_path(self):
        return str(self._folder)

    def get_source_stamp(self):
        return self._digest

    def get_disambiguator(self):
        return self._digest

    @classmethod
    def from_function(cls, func, py_file):
        """None for a function outside the package, whose dependences nobody knows."""
        return cls(PACKAGE.module(py_file), py_file)


class _Impl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)  # type: ignore[assignment]

    def __init__(self, func):
        before = getattr(numba.config, "CACHE_LOCATOR_CLASSES", "")  # not in old versions
        numba.config.CACHE_LOCATOR_CLASSES = ""
        try:
            super().__init__(func)
        finally:
            numba.config.CACHE_LOCATOR_CLASSES = before


class _Cache(FunctionCache):
    _impl_class = _Impl

    def save_overload(self, sig, data):
        """Keep a kernel on disk, and forget those of the same name that are old."""
        super().save_overload(sig, data)
        name, digest = self._impl.filename_base.rsplit(".py", 1)[0].rsplit("-", 1)
        for path in Path(self.cache_path).glob(f"{name}-*"):
            old = f"{name}-{digest}" not in path.name
            if old and time.time() - path.stat().st_mtime > KEPT:
                path.unlink(missing_ok=True)


class _LinkedLocator(_Locator):
    HOME = CACHE / "linked"


class _LinkedImpl(_linked.Kept, _Impl):
    _locator_classes = (_LinkedLocator,)


class _LinkedCache(_Cache):
    _impl_class = _LinkedImpl


class _Late:
    """The cache of a kernel, made when it is first asked: until then no source is read."""

    def __init__(self, func, make):
        self._func, self._make, self._made = func, make, None

    def __getattr__(self, name):
        if self._made is None:
            self._made = self._make(self._func)
        return getattr(self._made, name)


def is_short(func: Function) -> bool:
    """Whether a kernel is merged into its callers, with the same bits.

    A call counts the references to every array that it hands on or returns up and down, atomically,
    which for a step on a few numbers takes long: with two to ten arms, a run of a policy takes 5 to
    20 % less without these calls, its stream included.  Long kernels stay apart, for every copy is
    compiled again: merging the short ones costs about an eighth of the time to compile, merging all
    of them a fifth to two fifths.
    """
    return len(func.__code__.co_code) < SHORT and func.__name__ not in LOOPS


def jit(func: Function, inline: Any = "never") -> Function:
    """Compile func on first call: without the global lock, IEEE arithmetic, cached on disk.

    The machine code of a short kernel stands in the kernels that call it (`is_short`).  Python
    calls the kernel, other kernels its twin `linked`, which makes no machine code of its own.  A
    function outside this package, or inside another function, is compiled in every process.
    """
    options = HOUSE | {"inline": inline, "forceinline": is_short(func), "no_cfunc_wrapper": True}
    kernel: Any = numba.njit(**options, pipeline_class=_compiler.Pipeline)(func)
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel
    kernel.linked = numba.njit(**options, **_linked.OPTIONS)(func)
    kernel.get_call_template = kernel.linked.get_call_template  # what Numba asks of a callee
    kernel.get_overload = kernel.linked.get_overload
    if PACKAGE.module(func.__code__.co_filename) and "<" not in func.__qualname__:
        kernel._cache = _Late(func, _Cache)
        kernel.linked._cache = _Late(func, _LinkedCache)
    return kernel


def inlined(func: Function) -> Function:
    """`jit` for the parts of a step that are longer than `SHORT`, or hand whole states on: the code
    is written out in every caller, before types are known.
    """
    return jit(func, inline="always")
