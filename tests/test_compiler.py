"""Our pipeline makes the code that Numba's makes, with less work; what is left out is counted."""

import copy
import itertools
import re
from types import FunctionType

import numba
import numpy as np
import pytest
from numba.core import compiler, ir, targetconfig

from companion import _compiler, _jit

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
SETTINGS = (
    {},
    {"nrt": False},
    {"nrt": True},
    {"nrt": True, "forceinline": True},
    {"error_model": "numpy"},
    {"error_model": "python"},
    {"inline": "always", "nrt": True},
)


def inner(a, x):
    for i in range(a.shape[0]):
        y = x * a[i]
        if y > 1.0:
            y = 1.0 / y
        a[i] = y
    return a


def middle(a, x):
    z = x + 1.0
    if z > 0.0:
        a = inner(a, z)
    return inner(a, 0.5 * z)


def outer(a, x):
    for y in a:
        a = middle(middle(a, y), x)
    return np.sum(a) + len(a)


def chain(**options):
    """`outer`, compiled with the options, into which `middle` and `inner` are written out."""
    known = {"np": np}
    for function in (inner, middle):
        again = FunctionType(function.__code__, known)
        known[function.__name__] = numba.njit(inline="always", **options)(again)
    return numba.njit(**options)(FunctionType(outer.__code__, known))


def code(kernel):
    """What stands in the compiler's middle layer, without the numbers of the compilation."""
    (text,) = kernel.inspect_llvm().values()
    # Blocks first: their numbers grow with all that a process compiled, past nine digits, too.
    text = re.sub(r" *; preds.*|B\d*v\d+B|_v\d+|_\d+v\d+|\bB\d+", "N", text)
    return re.sub(r"\[\d+ x i8\]|0x[0-9a-f]+|\d{9,}|\.const\.pickledata\.\d+", "N", text)


def counted(monkeypatch, owner, name):
    """A list that gets one longer with each call of a method."""
    calls, real = [], getattr(owner, name)

    def call(self, *more):
        calls.append(type(self))
        return real(self, *more)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_an_inlined_chain_is_the_same_code_from_fewer_copies(monkeypatch):
    copies = counted(monkeypatch, ir.Var, "__deepcopy__")
    compared = counted(monkeypatch, targetconfig.TargetConfig, "values")
    found = []
    for pipeline in (compiler.Compiler, _compiler.Pipeline):
        copies.clear(), compared.clear()
        kernel, a = chain(pipeline_class=pipeline), np.random.default_rng(1).random(4)
        found.append((kernel(a, 0.3), a.tolist(), len(copies), len(compared), code(kernel)))
    (value, a, many, often, text), (mine, b, few, seldom, ours) = found
    assert (value, a) == (mine, b)
    assert len(text.splitlines()) == len(ours.splitlines())
    assert text == ours
    assert few < many / 4
    assert seldom < often / 2  # what is left compares functions of Numba itself


def test_every_kernel_has_the_pipeline():
    kernel = _jit.jit(lambda x: x + 1.0)
    for one in (kernel, kernel.linked):
        made = one._compiler.pipeline_class
        assert issubclass(made, _compiler.Pipeline)


def test_the_pass_stands_where_numbas_stood():
    state = compiler.StateDict()
    state.func_ir, state.flags = None, compiler.Flags()
    theirs = [
        one.__name__ for one, _ in compiler.DefaultPassBuilder.define_untyped_pipeline(state).passes
    ]
    mine = [one.__name__ for one, _ in _compiler.untyped(state).passes]
    assert mine != theirs
    assert [n.replace("InlineInlinables", "Inline") for n in theirs] == mine


def made(kind, setting):
    flags = kind()
    for name, value in setting.items():
        setattr(flags, name, value)
    return flags


@pytest.mark.parametrize(("one", "other"), [*itertools.product(SETTINGS, repeat=2)])
def test_options_are_equal_when_numba_says_so(one, other):
    theirs = made(compiler.Flags, one) == made(compiler.Flags, other)
    for kinds in itertools.product((compiler.Flags, _compiler.Flags), repeat=2):
        a, b = made(kinds[0], one), made(kinds[1], other)
        assert (a == b) is theirs
        assert (a != b) is not theirs
        assert hash(a) == hash(b) or not theirs
    assert made(_compiler.Flags, one) != 1


def test_a_copy_of_options_is_no_other_kind():
    flags = made(_compiler.Flags, {"nrt": True})
    assert type(flags.copy()) is _compiler.Flags
    assert flags.copy() == flags == copy.deepcopy(flags)
    assert flags.summary() == made(compiler.Flags, {"nrt": True}).summary()  # it is part of names
