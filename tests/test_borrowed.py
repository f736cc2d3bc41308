"""Kernels that borrow their arrays: no reference is counted, none is lost."""

import gc
import importlib
import pkgutil
import re
from types import ModuleType

import numba
import numpy as np
import pytest
import streams
from numba.core.runtime import _nrt_python, rtsys

from companion import catalogue, kernels
from companion._borrowed import borrowing
from companion._jit import jit
from companion.private_glm.as_run import aliased

GLM = "joint_glm", "shuffle_glm", "rs_glinucb"
BORROWERS = ("online_linucb", "anytime_linucb", "combiner", *GLM)
MAKES = {"empty", "zeros", "ones", "eye", "full", "array"}
compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def held(work):
    """Arrays that are still held after `work` has been done a few times."""
    work()
    _nrt_python.memsys_enable_stats()
    gc.collect()
    before = rtsys.get_allocation_stats()
    for _ in range(5):
        work()
    gc.collect()
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    return (after.mi_alloc - after.mi_free) - (before.mi_alloc - before.mi_free)


def played(policy):
    """A run of a policy, and one more block of it."""
    X, R, _ = streams.stream_for(policy)
    half, rng, arms = len(X) // 2, np.random.default_rng(1), np.empty(len(X), np.int64)
    state = policy.init(policy.params)
    for cut in (slice(0, half), slice(half, None)):
        state = policy.play(policy.params, state, X[cut], R[cut], rng, arms[cut])
    return state


def borrowers():
    found = [streams.example(name) for name in BORROWERS]
    return [*found, aliased(found[-1])]


def callees(function, seen):
    """Kernels that a kernel calls, by name or in a module, and those that these call, by their
    functions; `inlined` ones only in passing."""
    inside, names = function.__globals__, function.__code__.co_names
    modules = [vars(inside[n]) for n in names if isinstance(inside.get(n), ModuleType)]
    for kernel in (place.get(n) for place in (inside, *modules) for n in names):
        inner = getattr(kernel, "py_func", None)
        if inner is not None and inner not in seen:
            seen[inner] = kernel
            callees(inner, seen)
    return {f: k for f, k in seen.items() if k.targetoptions.get("inline") != "always"}


def hands_on(kernel):
    """Whether the annotation of a kernel's result names anything but numbers."""
    words = set(re.findall(r"\w+", str(kernel.py_func.__annotations__.get("return"))))
    return bool(words - {"class", "tuple", "int", "float", "bool", "None", "NoneType"})


@compiled
@pytest.mark.parametrize("policy", borrowers(), ids=lambda p: p.name)
def test_no_borrower_hands_an_array_on_or_is_handed_one(policy):
    """A kernel that is compiled for a borrower does not count, whoever else calls it."""
    called = callees(policy.play.py_func, {}).values()
    rounds = next(k for k in called if k.py_func.__name__ == "rounds")  # its own comes first
    assert rounds.targetoptions["_nrt"] is False
    found = callees(rounds.py_func, {rounds.py_func: rounds})
    assert len(found) > 10
    assert [f.__name__ for f, kernel in found.items() if hands_on(kernel)] == []
    makers = {f.__name__ for f in found if MAKES & set(f.__code__.co_names)}
    assert makers == set()


@compiled
@pytest.mark.parametrize("policy", borrowers(), ids=lambda p: p.name)
def test_every_array_is_given_back(policy):
    assert held(lambda: played(policy)) == 0


def test_the_list_is_complete():
    """A policy of which `rounds` borrows is in the tests above."""
    entries = catalogue.policies().values()
    names = {e.name: vars(importlib.import_module(e.module)) for e in entries}
    found = {n for n, inside in names.items() if inside.get("borrowing") is borrowing}
    assert found == set(BORROWERS)


def smallest():
    """(kernels of `companion.kernels`, by name) that make and hand on numbers alone."""
    modules = [
        importlib.import_module(m.name)
        for m in pkgutil.iter_modules(kernels.__path__, "companion.kernels.")
    ]
    own = {f"{m.__name__}.{n}": k for m in modules for n, k in vars(m).items()
           if getattr(k, "linked", None) and k.py_func.__module__ == m.__name__}  # fmt: skip
    never = {n for n, k in own.items() if k.targetoptions.get("inline") == "always"}
    return {n: k for n, k in own.items() if n not in never and not hands_on(k)}


@compiled
def test_small_steps_never_count_whoever_was_compiled_first():
    """Else machine code, and its time, would hang on the policies that were played before."""
    counting = {n for n, k in smallest().items() if k.linked.targetoptions.get("_nrt") is not False}
    assert counting == {"companion.kernels.peeling.lazy_peel"}  # makes its own room


@compiled
def test_small_steps_make_nothing_and_call_what_makes_nothing():
    found = {k.py_func: k for n, k in smallest().items() if not n.endswith("lazy_peel")}
    assert len(found) > 80
    for function in list(found):
        callees(function, found)
    inner = [k for f, k in found.items() if k.targetoptions.get("inline") != "always"]
    assert [k.py_func.__name__ for k in inner if hands_on(k)] == []
    assert [k.py_func.__name__ for k in inner if MAKES & set(k.py_func.__code__.co_names)] == []


@jit
def first_row(A: np.ndarray) -> np.ndarray:
    return A[0]


@jit
def made(n: int) -> np.ndarray:
    return np.empty(n)


@borrowing
def makes(n: int) -> float:
    return np.empty(n)[0]


@borrowing
def forgets(A: np.ndarray) -> float:
    return first_row(A)[0]


@compiled
def test_what_is_kept_is_seen_and_what_a_borrower_must_not_do():
    kept = []
    assert held(lambda: kept.append(made(3))) == 5
    assert [k for k in callees(forgets.py_func, {}).values() if hands_on(k)] == [first_row]
    with pytest.raises(numba.TypingError):
        makes(3)
