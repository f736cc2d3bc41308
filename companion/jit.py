"""The decorator of all kernels: `numba.njit` with public options and a cache that knows
imports.

Two things differ from plain `numba.njit(cache=True)`.

Cache.  Numba stores a compiled function under the content and line number of its own
file, so an edited callee in another file is not seen and old code runs, while a longer
docstring recompiles. Here the stored name holds the digest of the module's import closure
(`companion._closure`); what no source asks for any more can be deleted at any time.  A
kernel is stored only if the files of its closure are those that this process imported.
Where nothing can be stored every process compiles anew, and says so once.

Linking.  Numba makes machine code for every kernel and links it into each caller, where
it is optimised again.  Most kernels are called by kernels alone, so each has a second
dispatcher, `linked`, whose compilation stops at LLVM's intermediate code; callers link
that.  This halves compile time and disk use.

Both use Numba's internals.  If these differ, or if the environment variable
COMPANION_PLAIN_NUMBA is set, kernels are plain `numba.njit`, which compiles them in every
process.
"""

import functools
import os
import warnings
from pathlib import Path

import numba
from numba.core import types
from numba.core.cgutils import get_null_value, unpack_tuple
from numba.core.imputils import impl_ret_borrowed
from numba.extending import lower_builtin, type_callable

from companion._closure import Package
from companion._stamps import AT_IMPORT

HOME = Path(__file__).parent
PACKAGE = Package(HOME, HOME.parent / "evidence", seen=AT_IMPORT)
OPTIONS = {"nogil": True, "error_model": "numpy"}
SHORT = 800  # bytes of bytecode below which a kernel is merged into its callers
LOOPS = ("play", "run")  # called from Python: never merged


def cache_folder():
    """NUMBA_CACHE_DIR if it is set and not empty.

    Otherwise a folder beside the sources.  Where these are read-only, or installed, for
    pip would leave a folder of kernels behind: the user's cache, or None if the user has
    no home.
    """
    if told := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(told)
    beside = HOME / "__pycache__"
    installed = not {"site-packages", "dist-packages"}.isdisjoint(HOME.parts)
    if not installed and os.access(beside if beside.exists() else HOME, os.W_OK):
        return beside / "kernels"
    try:
        return Path.home() / ".cache" / "companion"
    except RuntimeError:  # no HOME, and no entry for this user
        return None


CACHE = cache_folder()


@functools.cache
def unstored_for(reason):
    """Say once for each reason that kernels are not stored."""
    text = f"compiled kernels are not stored, every process compiles them anew: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)


@functools.cache
def stored_name(module):
    """The digest under which kernels of a module are stored; None if they are not, which
    is said.

    Asked when a kernel is first called, after all that it uses was imported: files that
    are still as they were before any import are what was imported.
    """
    if CACHE is None:
        unstored_for(
            "no folder was found; set NUMBA_CACHE_DIR to one that can be written"
        )
        return None
    try:
        sources = [PACKAGE.file(m) for m in PACKAGE.closure([module])]
        digest = PACKAGE.digest([module])
        changed = PACKAGE.written(sources) or not sources
    except (
        SyntaxError,
        OSError,
    ):  # of a file that is being written, for it was imported before
        changed = True
    if changed:
        unstored_for("the sources changed after they were imported; begin a new session")
        return None
    return digest


try:
    import llvmlite.binding as llvm
    from numba.core.caching import (
        CompileResultCacheImpl,
        FunctionCache,
        IndexDataCacheFile,
        NullCache,
        _CacheLocator,
    )
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class _Locator(_CacheLocator):
        """Where a kernel is stored: one folder a module, the digest of its closure in the
        name."""

        KIND = ""

        def __init__(self, module):
            self._folder = CACHE / self.KIND / module
            self._digest = stored_name(module)

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

    class _Files(IndexDataCacheFile):
        """The files of a kernel.  One that is cut, foreign or not to be read is no file:
        reading back what `pickle` wrote can raise any exception then."""

        def _load_index(self):
            try:
                return dict(super()._load_index())
            except Exception:
                return {}

        def _load_data(self, name):
            try:
                return super()._load_data(name)
            except Exception:
                return None

    class _Cache(FunctionCache):
        """Numba's cache, without which everything runs."""

        _impl_class = _Impl

        def __init__(self, func):
            super().__init__(func)
            digest = self._impl.locator.get_source_stamp()
            self._cache_file = _Files(self.cache_path, self._impl.filename_base, digest)

        def _index_key(self, sig, codegen):
            """Types and machine.  The digest in the name tells all else; the kernels that
            `plain_loop` encloses have other bytes in every process."""
            return sig, codegen.magic_tuple()

        def save_overload(self, sig, data):
            """Store a kernel; where that is impossible, say so once."""
            try:
                super().save_overload(sig, data)
            except OSError as error:
                unstored_for(
                    f"{CACHE} cannot be written ({error.strerror}); set NUMBA_CACHE_DIR "
                    "to a folder that can"
                )

    class _Library(JITCodeLibrary):
        """Code of a kernel for linking: not optimised, no machine code."""

        def _optimize_final_module(self):
            """Left to the caller that links it."""

        def _finalize_final_module(self):
            """Declare only the variables for Numba's environments, which Numba sets."""
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            engine = self._codegen._engine
            module = self._final_module
            new = [
                g
                for g in module.global_variables
                if g.name.startswith("_ZN08NumbaEnv")
                and not engine.is_symbol_defined(g.name)
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
        KIND = "linked"

    class _LinkedImpl(_Impl):
        _locator_classes = (_LinkedLocator,)

        def rebuild(self, target_context, payload):
            """Read from disk into a `_Library`."""
            codegen = target_context.codegen()
            usual = codegen._library_class
            codegen._library_class = _Library
            try:
                return super().rebuild(target_context, payload)
            finally:
                codegen._library_class = usual

    class _LinkedCache(_Cache):
        _impl_class = _LinkedImpl

    LINKING = "COMPANION_PLAIN_NUMBA" not in os.environ
except (
    ImportError,
    AttributeError,
):  # another Numba: kernels compile anew in every process
    LINKING = False


class _LazyCache:
    """The cache of a kernel, made when it is first asked: until then no source is
    read."""

    def __init__(self, func, kind):
        self._func = func
        self._kind = kind
        self._made = None

    def __getattr__(self, name):
        if self._made is None:
            stored = stored_name(self._func.__module__)
            self._made = NullCache() if stored is None else self._kind(self._func)
        return getattr(self._made, name)


def jit(func, inline="never"):
    """Compile func on first call: without the global lock, IEEE arithmetic, cached on
    disk.

    Short kernels are merged into their callers.  A function outside this package, or
    inside another function, is compiled in every process.
    """
    short = len(func.__code__.co_code) < SHORT and func.__name__ not in LOOPS
    options = OPTIONS | {"inline": inline, "forceinline": short}
    kernel = numba.njit(**options)(func)
    if numba.config.DISABLE_JIT or not LINKING:
        return kernel
    linked = numba.njit(
        **options,
        no_cpython_wrapper=True,
        pipeline_class=_LinkedCompiler,
    )(func)
    kernel.linked = linked
    kernel.get_call_template = linked.get_call_template  # what Numba asks of a callee
    kernel.get_overload = linked.get_overload
    if PACKAGE.file(func.__module__) and "<" not in func.__qualname__:
        kernel._cache = _LazyCache(func, _Cache)
        linked._cache = _LazyCache(func, _LinkedCache)
    return kernel


def inlined(func):
    """`jit` for a step of a kernel: written out in every caller before types are
    known."""
    return jit(func, inline="always")


def counted(tree):
    """A nested tuple as it is: Numba counts the references to its arrays."""
    return tree


def borrowed(tree):
    """The arrays of a nested tuple without Numba's count of references, which took most
    of the time of a short step.  For loops of this package alone: their caller holds the
    arrays, and their steps keep none.  A step that kept one would use memory that is
    freed.
    """
    return tree


@type_callable(counted)
@type_callable(borrowed)
def _same_type(context):
    return lambda tree: tree


@lower_builtin(counted, types.Any)
def _counted(context, builder, call, values):
    return impl_ret_borrowed(context, builder, call.return_type, values[0])


@lower_builtin(borrowed, types.Any)
def _borrowed(context, builder, call, values):
    return _without_counts(context, builder, call.return_type, values[0])


def _without_counts(context, builder, kind, value):
    """The value with no address to count at, in every array."""
    if isinstance(kind, types.BaseTuple):
        kinds_and_parts = zip(kind, unpack_tuple(builder, value), strict=True)
        parts = [_without_counts(context, builder, *pair) for pair in kinds_and_parts]
        return context.make_tuple(builder, kind, parts)
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = get_null_value(array.meminfo.type)
    return array._getvalue()
