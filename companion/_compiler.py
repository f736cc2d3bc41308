"""Numba's pipeline, with two costs taken out that change nothing in what it makes.

Numba writes an `inlined` kernel out in its caller from two deep copies of its code, and copies all
variables of the function anew with each of its blocks; here blocks share their variables, which
are replaced anyhow.  And for each call of a function it compares the options of the kernel at hand
with those of others, all thirty of them; here only those that somebody set are compared.  The two
took a tenth to a fifth of the time to compile a policy.
"""

from typing import Any

from numba.core import compiler as numbas
from numba.core import ir
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.inline_closurecall import InlineWorker, callee_ir_validator
from numba.core.untyped_passes import InlineInlinables

from companion import _generators


class Flags(numbas.Flags):
    """Options of a kernel, compared by those that are set."""

    HASH = hash(numbas.Flags())  # Numba's is one number for all

    def __hash__(self) -> int:
        return self.HASH

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, numbas.Flags):
            return NotImplemented
        mine: dict[str, Any] = self._values
        names = mine.keys() | other._values.keys()
        return all(getattr(self, name) == getattr(other, name) for name in names)


class Scope(ir.Scope):
    """The variables of a kernel that is written out once: no block copies them."""

    def __deepcopy__(self, memo: Any) -> "Scope":
        return self


class Worker(InlineWorker):
    """Writes kernels out in their callers."""

    # The names of the methods are those that Numba asks for.

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._compiler_pipeline = untyped

    def run_untyped_passes(self, func: Any, enable_ssa: bool = False) -> Any:
        """The code of func, read for one place: nobody else has it."""
        code = super().run_untyped_passes(func, enable_ssa)
        for block in code.blocks.values():
            block.scope.__class__ = Scope
        return code


@register_pass(mutates_CFG=True, analysis_only=False)
class Inline(InlineInlinables):
    """Numba's pass, with our worker."""

    _name = "inline_kernels"

    def _do_work(self, state, work_list, block, i, expr, inline_worker):
        parts = state.typingctx, state.targetctx, state.locals, state.pipeline, state.flags
        worker = Worker(*parts, validator=callee_ir_validator)
        return super()._do_work(state, work_list, block, i, expr, worker)


def ours(pipeline: PassManager) -> PassManager:
    """The pipeline with our pass in the place of Numba's."""
    pipeline.passes = [
        (Inline if one is InlineInlinables else one, why) for one, why in pipeline.passes
    ]
    pipeline.finalize()
    return pipeline


def untyped(state: Any) -> PassManager:
    """What is done to a kernel before types are known; the state is its compilation."""
    return ours(numbas.DefaultPassBuilder.define_untyped_pipeline(state))


class Pipeline(numbas.Compiler):
    """Numba's own pipeline, cheaper."""

    def compile_extra(self, func: Any) -> Any:
        """As Numba does, with our options, and with our way to take a generator."""
        _generators.install()
        self.state.flags = Flags(self.state.flags)
        return super().compile_extra(func)

    def define_pipelines(self) -> list[PassManager]:
        """As Numba does, with our pass."""
        return [ours(one) for one in super().define_pipelines()]
