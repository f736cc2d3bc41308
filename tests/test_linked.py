"""Kernels that only kernels call: the same bits, from the disk too, and no machine code."""

import subprocess
import sys

import numba
import numpy as np
import pytest

from companion import _jit, _linked
from companion.kernels import linalg

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@_jit.jit
def part(a: np.ndarray, x: float) -> float:
    if x < 0.0:
        raise ValueError("x must not be negative")
    a += x
    return a.sum() / 3.0


@_jit.jit
def whole(a: np.ndarray, x: float) -> float:
    return part(a, x) + part(a, 0.1 * x)


@compiled
def test_only_what_python_calls_makes_machine_code():
    a = np.random.default_rng(1).random(5)
    mine, plain = a.copy(), a.copy()
    assert whole(mine, 0.7) == part.py_func(plain, 0.7) + part.py_func(plain, 0.1 * 0.7)
    assert (len(whole.overloads), len(part.overloads), len(part.linked.overloads)) == (1, 0, 1)
    (made,), (linked,) = whole.overloads.values(), part.linked.overloads.values()
    engine = made.library.codegen._engine
    assert engine.is_symbol_defined(made.fndesc.llvm_func_name)
    assert not engine.is_symbol_defined(linked.fndesc.llvm_func_name)
    assert part(a, 0.7) == part.py_func(a - 0.7, 0.7)  # and Python may call a part, too


@compiled
def test_an_error_of_a_part_reaches_python():
    with pytest.raises(ValueError, match="x must not be negative"):
        whole(np.ones(3), -1.0)


@compiled
def test_the_two_are_kept_apart():
    """One name of a file would stand for two kinds of code."""
    one, other = linalg.norm._cache, linalg.norm.linked._cache
    assert other.cache_path != one.cache_path
    assert "linked" in other.cache_path


ASK = """
import sys
import numpy as np
from companion.kernels import linalg
from companion._jit import jit
from companion._linked import Library

@jit
def caller(a, factor):
    return factor * linalg.norm(a)

caller(np.ones(4), 2.0), caller.linked.compile("f8(f8[::1], f8)")
(norm,) = linalg.norm.linked.overloads.values()
print(caller(np.ones(4), 2.0), sum(linalg.norm.linked.stats.cache_misses.values()))
assert isinstance(norm.library, Library), type(norm.library)
(made,) = caller.overloads.values()
assert not isinstance(made.library, Library)
assert not isinstance(made.library.codegen.create_library("next"), Library)
"""


@compiled
def test_the_disk_gives_back_what_it_was_given(tmp_path):
    """Two processes: the first compiles the part, the second reads it and links it anew."""
    for misses in (1, 0):
        run = subprocess.run(
            [sys.executable, "-c", ASK],
            env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}, capture_output=True, text=True,
        )  # fmt: skip
        assert run.stderr == ""
        assert run.stdout.split() == ["4.0", str(misses)]


def test_the_class_of_libraries_is_restored():
    """Even if a file of the disk cannot be read."""
    codegen = linalg.norm.targetctx.codegen() if hasattr(linalg.norm, "targetctx") else None
    if codegen is None:
        pytest.skip("nothing is compiled")
    before = codegen._library_class
    with pytest.raises(TypeError):
        _linked.Kept.rebuild(object.__new__(_linked.Kept), linalg.norm.targetctx, ())
    assert codegen._library_class is before
