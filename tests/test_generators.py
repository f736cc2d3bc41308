"""Kernels take a generator by its capsule, and draw what Python draws from it."""

import gc
import sys

import numba
import numpy as np
import pytest
from numba.core import types
from numba.core.pythonapi import _unboxers

from companion import _generators, _jit

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
KINDS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


@_jit.jit
def draws(rng, n):
    out = np.empty((5, n))
    for i in range(n):
        out[0, i] = rng.random()  # the next double
        out[1, i] = rng.standard_normal()  # the next 64 bits
        out[2, i] = rng.standard_gamma(2.5)
        out[3, i] = rng.binomial(20, 0.3)
        out[4, i] = rng.integers(0, 1000)  # the next 32 bits
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_draws_what_python_draws_and_both_go_on_alike(kind):
    one, two = (np.random.Generator(getattr(np.random, kind)(5)) for _ in range(2))
    for _ in range(2):
        np.testing.assert_array_equal(draws(one, 300), draws.py_func(two, 300))
        assert one.random() == two.random()


def test_no_reference_is_left_or_lost():
    rng = np.random.default_rng(1)
    draws(rng, 1)
    held = rng, rng.bit_generator, rng.bit_generator.capsule
    before = [sys.getrefcount(one) for one in held]
    for _ in range(100):
        draws(rng, 1)
    gc.collect()
    assert [sys.getrefcount(one) for one in held] == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_structure_holds_what_numba_would_read(kind):
    """Every member, by the addresses that NumPy tells by way of `ctypes`."""
    import ctypes

    bits = getattr(np.random, kind)(5)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = (ctypes.c_size_t * 4).from_address(get(bits.capsule, b"BitGenerator"))
    told = {"state": bits.ctypes.state_address}
    for name in ("next_uint64", "next_uint32", "next_double"):
        told[f"fnptr_{name}"] = ctypes.cast(getattr(bits.ctypes, name), ctypes.c_void_p).value
    assert dict(zip(_generators.MEMBERS, found, strict=True)) == told


def test_it_stands_in_the_place_of_numbas():
    draws(np.random.default_rng(1), 1)
    assert _unboxers.functions[types.NumPyRandomBitGeneratorType] is _generators.unboxed
