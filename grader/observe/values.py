"""Convert what a learner's function returned to numbers, type names and facts that can be compared and serialized.

The recorder and drivers call these. How arrays and facts of two runs are compared: `judging/compare_runs.py`.
"""

import math
import struct
from typing import Any

import numpy as np
from torch import Tensor
from torch._C import DisableTorchFunctionSubclass

from grader.observe.program import without_addresses
from grader.observe.trace import Array, Fact

_DOUBLE = struct.Struct("<d")
_NONE_BITS = struct.pack("<Q", 0x7FF8_0000_0000_0001)
_NONE: float = _DOUBLE.unpack(_NONE_BITS)[0]
"""The NaN that stands for None in an array: it is compared as every other NaN, and known by its bits (`is_none`)."""


def as_plain_fact(value: Any) -> Fact:
    """Return `value` as a fact that JSON can hold and that is the same on every run, whatever its type."""
    if isinstance(value, list):
        return [as_plain_fact(item) for item in value]
    if isinstance(value, str):
        return without_addresses(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # a float NaN would differ from itself
    return value if value is None or isinstance(value, bool | int | float) else f"({type_name(value)})"


def type_name(value: Any) -> str:
    """Return the name of a value's type (`float`, `int`, `Tensor` …).

    Instances of subclasses count as these: NumPy's float64 as `float`, a `defaultdict` as `dict`, a named tuple as
    `tuple`. A bool, NumPy's too, counts as `bool`, not as `int`. A class that only has such a name is none.
    """
    if isinstance(value, np.bool_):
        return "bool"
    known = (bool, int, float, Tensor, dict, tuple)
    for cls in known:
        if isinstance(value, cls):
            return cls.__name__
    name = type(value).__name__
    return f"class {name}" if name in {cls.__name__ for cls in known} else name


def as_number(value: Any) -> float:
    """Return the value as a float (the mean, for a tensor); NaN if it is not a number, and one of its own for None."""
    if value is None:
        return _NONE
    try:
        with DisableTorchFunctionSubclass():
            return float(value.detach().double().mean()) if isinstance(value, Tensor) else float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return float("nan")


def is_none(number: float) -> bool:
    """Return True if this number of an array stands for None (see `as_number`)."""
    return _DOUBLE.pack(number) == _NONE_BITS


def items_of(value: Any) -> list[Any]:
    """Return the items of a list, tuple, or one-dimensional array or tensor; empty for anything else."""
    if isinstance(value, Tensor | np.ndarray):
        return list(value) if value.ndim == 1 else []
    return list(value) if isinstance(value, list | tuple) else []


def to_array(value: Any) -> Array:
    """Return the value as a float64 array on the CPU; for a tensor, a copy, whatever its class says of it."""
    if isinstance(value, Tensor):
        with DisableTorchFunctionSubclass():
            return value.detach().double().cpu().numpy().copy()
    return np.asarray(value, dtype=np.float64)


def equal(one: Array, other: Array) -> bool:
    """Return `np.array_equal(…, equal_nan=True)`, but faster: NaN is looked for only if the arrays differ."""
    if one.shape != other.shape:
        return False
    return bool((one == other).all()) or (
        bool(np.isnan(one).any()) and np.array_equal(one, other, equal_nan=True)
    )


def close(one: Array, other: Array, *, atol: float) -> bool:
    """Return `np.allclose(…, rtol=0, equal_nan=True)`, but ten times as fast if there is no NaN."""
    return bool((np.abs(one - other) <= atol).all()) or np.allclose(
        one, other, rtol=0.0, atol=atol, equal_nan=True
    )
