"""How a kernel takes a random generator: by the structure of C functions that NumPy keeps for it.

Numba asks Python for these functions one by one, by way of `ctypes`: 7 microseconds for every call
of a kernel that draws, more than all of its other arguments together.  NumPy offers their addresses
in one capsule, which every `Generator` has been made from.
Source: numpy/random/bitgen.h, whose structure holds the state, then the functions that give the
next 64 bits, the next 32, and the next number in [0, 1).
"""

from typing import Any

from llvmlite import ir
from numba.core import boxing, cgutils, types
from numba.core.pythonapi import NativeValue, _unboxers

TAKEN = types.NumPyRandomBitGeneratorType
BEFORE = boxing.unbox_numpy_random_bitgenerator  # Numba's own, which this replaces
MEMBERS = "state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double"


def unboxed(typ: Any, obj: Any, c: Any) -> NativeValue:
    """The native value of a bit generator, as Numba's own code fills it; typ, obj and c as Numba
    hands them to what unboxes."""
    builder, word = c.builder, c.context.get_value_type(types.uintp)
    native = cgutils.create_struct_proxy(typ)(c.context, builder)
    native.parent = obj
    capsule = c.pyapi.object_getattr_string(obj, "capsule")
    name = c.context.insert_const_string(builder.module, "BitGenerator")
    taken = ir.FunctionType(word.as_pointer(), [c.pyapi.pyobj, c.pyapi.cstring])
    get_pointer = cgutils.get_or_insert_function(builder.module, taken, "PyCapsule_GetPointer")
    pointer = builder.call(get_pointer, [capsule, name])  # null, with an error, for no capsule
    missing = cgutils.is_null(builder, pointer)
    with builder.if_then(builder.not_(missing), likely=True):
        for place, member in enumerate(MEMBERS):
            at = builder.gep(pointer, [ir.Constant(ir.IntType(32), place)])
            setattr(native, member, builder.load(at))
        native.state_address = native.state
        c.pyapi.decref(capsule)
    return NativeValue(native._getvalue(), is_error=missing)


def install() -> None:
    """From now on Numba takes bit generators this way."""
    _unboxers.functions[TAKEN] = unboxed
