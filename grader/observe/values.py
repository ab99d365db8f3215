"""What a student's function returned -> numbers, type names and facts that can be compared and cross a border."""

import math
from typing import Any

import numpy as np
from torch import Tensor

from grader.observe.program import without_addresses
from grader.observe.trace import Array, Fact


def settled(value: Any) -> Fact:
    """A fact that JSON can hold and that is the same on every run, whatever a student has put in its place."""
    if isinstance(value, list):
        return [settled(item) for item in value]
    if isinstance(value, str):
        return without_addresses(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # NaN would differ from itself
    return value if value is None or isinstance(value, bool | int | float) else f"({type_name(value)})"


def type_name(value: Any) -> str:
    """`float`, `int`, `Tensor` …: NumPy's float64 is a Python float, a bool is no int here."""
    for cls in (bool, int, float, Tensor):
        if isinstance(value, cls):
            return cls.__name__
    return type(value).__name__


def as_number(value: Any) -> float:
    """The value as a float; NaN when it is none."""
    try:
        return float(value.detach().double().mean()) if isinstance(value, Tensor) else float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return float("nan")


def items_of(value: Any) -> list[Any]:
    """What a returned sequence holds, a list, a tuple, an array or a tensor; nothing where it is none."""
    if isinstance(value, Tensor | np.ndarray):
        return list(value) if value.ndim == 1 else []
    return list(value) if isinstance(value, list | tuple) else []


def to_array(value: Any) -> Array:
    """A float64 array on the CPU."""
    if isinstance(value, Tensor):
        return value.detach().double().cpu().numpy().copy()
    return np.asarray(value, dtype=np.float64)


def equal(one: Array, other: Array) -> bool:
    """As `np.array_equal(…, equal_nan=True)`, which looks for NaN in every pair."""
    if one.shape != other.shape:
        return False
    return bool((one == other).all()) or (
        bool(np.isnan(one).any()) and np.array_equal(one, other, equal_nan=True)
    )


def close(one: Array, other: Array, *, atol: float) -> bool:
    """As `np.allclose(…, rtol=0, equal_nan=True)`, which takes ten times as long where there is no NaN."""
    return bool((np.abs(one - other) <= atol).all()) or np.allclose(
        one, other, rtol=0.0, atol=atol, equal_nan=True
    )
