"""The decorator of all kernels: `numba.njit` with public options and a cache that knows imports.

Two things differ from plain `numba.njit(cache=True)`.

Cache.  Numba stores a compiled function under the content and line number of its own file, so an
edited callee in another file is not seen and old code runs, while a longer docstring recompiles.
Here the stored name holds the digest of the module's import closure (`companion._closure`); what
no source asks for any more can be deleted at any time.

Linking.  Numba makes machine code for every kernel and links it into each caller, where it is
optimised again.  Most kernels are called by kernels alone, so each has a second dispatcher,
`linked`, whose compilation stops at LLVM's intermediate code; callers link that.  This halves
compile time and disk use.

Both use Numba's internals.  If these differ, or if the environment variable COMPANION_PLAIN_NUMBA
is set, kernels are plain `numba.njit`, which compiles them in every process.
"""

import os
from pathlib import Path

import numba
from numba.core import types
from numba.core.cgutils import get_null_value, unpack_tuple
from numba.extending import intrinsic, overload

from companion._closure import Package

HOME = Path(__file__).parent
PACKAGE = Package(HOME, HOME.parent / "evidence")
OPTIONS = {"nogil": True, "error_model": "numpy"}
SHORT = 800  # bytes of bytecode below which a kernel is merged into its callers
LOOPS = ("play", "run")  # called from Python: never merged


def cache_folder():
    """NUMBA_CACHE_DIR if set, else beside the sources, else in the user's cache: where they are
    read-only, or installed, for pip would leave a folder of kernels behind."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    beside = HOME / "__pycache__"
    own = {"site-packages", "dist-packages"}.isdisjoint(HOME.parts)
    own = own and os.access(beside if beside.exists() else HOME, os.W_OK)
    return beside / "kernels" if own else Path.home() / ".cache" / "companion"


CACHE = cache_folder()

try:
    import llvmlite.binding as llvm
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class _Locator(_CacheLocator):
        """Where a kernel is stored: one folder a module, the digest of its closure in the name."""

        ROOT = CACHE

        def __init__(self, module):
            self._folder, self._digest = self.ROOT / module, PACKAGE.digest([module])

        def get_cache_path(self):
            return str(self._folder)

        def get_source_stamp(self):
            return self._digest

        get_disambiguator = get_source_stamp

        @classmethod
        def from_function(cls, func, py_file):
            return cls(func.__module__)

    class _Impl(CompileResultCacheImpl):
        _locator_classes = (_Locator,)

    class _Cache(FunctionCache):
        _impl_class = _Impl

    class _Library(JITCodeLibrary):
        """Code of a kernel for linking: not optimised, no machine code."""

        def _optimize_final_module(self):
            """Left to the caller that links it."""

        def _finalize_final_module(self):
            """Declare only the variables for Numba's environments, which Numba sets."""
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            engine, module = self._codegen._engine, self._final_module
            new = [
                g
                for g in module.global_variables
                if g.name.startswith("_ZN08NumbaEnv") and not engine.is_symbol_defined(g.name)
            ]
            if new:
                head = (
                    f'target triple = "{module.triple}"\n'
                    f'target datalayout = "{module.data_layout}"\n'
                )
                self._variables = llvm.parse_assembly(head + "\n".join(map(str, new)))
                engine.add_module(self._variables)
                engine.finalize_object()
            self._finalized = True

        def get_pointer_to_function(self, name):
            """Null: no machine code exists."""
            self._ensure_finalized()
            return 0

        def serialize_using_object_code(self):
            return self.serialize_using_bitcode()

    class _LinkedCompiler(Compiler):
        """Numba's compiler, which fills a `_Library`."""

        def compile_extra(self, func):
            codegen = self.state.targetctx.codegen()
            self.state.library = _Library(codegen, func.__qualname__)
            return super().compile_extra(func)

    class _LinkedLocator(_Locator):
        ROOT = CACHE / "linked"

    class _LinkedImpl(_Impl):
        _locator_classes = (_LinkedLocator,)

        def rebuild(self, target_context, payload):
            """Read from disk into a `_Library`."""
            codegen = target_context.codegen()
            usual, codegen._library_class = codegen._library_class, _Library
            try:
                return super().rebuild(target_context, payload)
            finally:
                codegen._library_class = usual

    class _LinkedCache(_Cache):
        _impl_class = _LinkedImpl

    LINKING = "COMPANION_PLAIN_NUMBA" not in os.environ
except (ImportError, AttributeError):  # another Numba: kernels compile anew in every process
    LINKING = False


class _LazyCache:
    """The cache of a kernel, made when it is first asked: until then no source is read."""

    def __init__(self, func, make):
        self._func, self._make, self._made = func, make, None

    def __getattr__(self, name):
        if self._made is None:
            self._made = self._make(self._func)
        return getattr(self._made, name)


def jit(func, inline="never"):
    """Compile func on first call: without the global lock, IEEE arithmetic, cached on disk.

    Short kernels are merged into their callers.  A function outside this package, or inside another
    function, is compiled in every process.
    """
    short = len(func.__code__.co_code) < SHORT and func.__name__ not in LOOPS
    options = OPTIONS | {"inline": inline, "forceinline": short}
    kernel = numba.njit(**options)(func)
    if numba.config.DISABLE_JIT or not LINKING:
        return kernel
    linked = numba.njit(**options, no_cpython_wrapper=True, pipeline_class=_LinkedCompiler)(func)
    kernel.linked = linked
    kernel.get_call_template = linked.get_call_template  # what Numba asks of a callee
    kernel.get_overload = linked.get_overload
    if PACKAGE.file(func.__module__) and "<" not in func.__qualname__:
        kernel._cache = _LazyCache(func, _Cache)
        linked._cache = _LazyCache(func, _LinkedCache)
    return kernel


def inlined(func):
    """`jit` for a step of a kernel: written out in every caller before types are known."""
    return jit(func, inline="always")


def counted(tree):
    """A nested tuple as it is: Numba counts the references to its arrays."""
    return tree


@overload(counted)
def _counted(tree):
    return lambda tree: tree


def borrowed(tree):
    """The arrays of a nested tuple without Numba's count of references, which took most of the time
    of a short step.  For loops of this package alone: their caller holds the arrays, and their
    steps keep none.  A step that kept one would use memory that is freed.
    """
    return tree


@overload(borrowed)
def _borrowed(tree):
    return lambda tree: _without_counts(tree)


@intrinsic
def _without_counts(typing_context, tree):
    def of(context, builder, kind, value):
        if isinstance(kind, types.BaseTuple):
            parts = zip(kind, unpack_tuple(builder, value), strict=True)
            return context.make_tuple(builder, kind, [of(context, builder, *p) for p in parts])
        if not isinstance(kind, types.Array):
            return value
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = get_null_value(array.meminfo.type)  # of which Numba counts nothing
        return array._getvalue()

    return tree(tree), lambda context, builder, call, args: of(context, builder, tree, *args)
