"""Kernels that only kernels call make no machine code of their own.

Numba optimizes and translates every kernel it compiles, then links what it made into each caller,
where it is optimized and translated again: of a policy of a hundred kernels only one is called from
Python, and a hundred times machine code is made.  A kernel has two dispatchers here.  The one that
callers get stops at the code of the compiler's middle layer; who links it optimizes both together.
"""

from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary

from companion import _compiler

ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of variables for Python's objects begin


class Library(JITCodeLibrary):
    """The code of a kernel for linking: not optimized, and no machine code."""

    # The names of the methods are those that Numba asks for.

    def _optimize_final_module(self) -> None:
        """Left to who links this."""

    def _finalize_final_module(self) -> None:
        """Tell the engine of nothing but the variables that hold environments: Numba sets them."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        engine, module = self._codegen._engine, self._final_module
        new = [g for g in module.global_variables if g.name.startswith(ENVIRONMENT)]
        new = [g for g in new if not engine.is_symbol_defined(g.name)]
        if new:
            head = (
                f'target triple = "{module.triple}"\ntarget datalayout = "{module.data_layout}"\n'
            )
            self._variables = llvm.parse_assembly(head + "\n".join(map(str, new)))
            engine.add_module(self._variables)
            engine.finalize_object()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: nobody but the compiler calls this kernel."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """What the disk keeps: there is no object code."""
        return self.serialize_using_bitcode()


class Pipeline(_compiler.Pipeline):
    """Our pipeline, which fills a `Library`."""

    def compile_extra(self, func: Any) -> Any:
        """As ever, with a library that is there before."""
        codegen = self.state.targetctx.codegen()
        self.state.library = Library(codegen, func.__qualname__)
        return super().compile_extra(func)


class Kept(CompileResultCacheImpl):
    """How such a kernel is read from the disk: into a `Library` again."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """As Numba does, with another class of libraries meanwhile."""
        codegen = target_context.codegen()
        before = codegen._library_class
        codegen._library_class = Library
        try:
            return super().rebuild(target_context, payload)
        finally:
            codegen._library_class = before


OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": Pipeline}
