"""Compare two runs of one scenario: find their first difference, or the names of everything that differs.

`judge` compares a submission's runs with the solution's, `Reference.reproduces` with the runs of known mistakes, and
`repair/search.py` compares the runs of attempts with the solution's. `first_difference` puts a difference into words.

Events, `evidence` and printed output are not compared here. Another field of a `Run` that makes runs differ is
compared in `find_difference` and `differing_fields`. A phrase by which exceptions have the same cause goes into
`_CAUSE_PHRASES`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grader.observe.rounding import rounding_of_states, rounding_of_values
from grader.observe.trace import Array, Failure, Run

_CAUSE_PHRASES = (
    "NoneType",
    "division by zero",
    "inplace operation",
    "does not require grad",
    "backward through the graph a second time",
    "leaf Variable that requires grad",
)
"""Phrases of Python's and torch's error messages that name the cause, whatever the code that raised looks like."""
_NO_ATTRIBUTE = re.compile(r"'([^']*)' object has no attribute '([^']*)'")
"""Matches a message of Python's; its groups are the object's class and the attribute."""
_NUMBER_KINDS = "fiub"
"""`dtype.kind` of arrays of numbers: floats, signed and unsigned integers, booleans."""


@dataclass(frozen=True)
class Difference:
    """The first place where one run differs from another."""

    kind: Literal["failure", "fact", "array", "shape"]
    """`failure`: only one run raised, or they raised different exceptions; `fact`: a fact differs; `array`: numbers of
    an array differ; `shape`: an array is missing in one run, has another shape, or holds no real numbers."""
    name: str = ""
    """Name of the fact or array; empty for `failure`."""
    index: tuple[int, ...] = ()
    """For `array`: index of the number that differs most in the first row that differs, one entry for each axis,
    counted from 0. Empty for other kinds."""


def is_expected_exception(failure: Failure, expected: Failure) -> bool:
    """Return True if the exception is of the expected class or a subclass, which is all that a docstring promises."""
    return expected.type in failure.bases


def find_difference(
    run: Run,
    expected_run: Run,
    atol: float,
    *,
    failures_agree: Callable[[Failure, Failure], bool] = is_expected_exception,
) -> Difference | None:
    """Return the first difference between two runs of one scenario; None if they behave the same.

    They are compared in this order: exceptions, parameters (`theta`), other arrays by name, facts, and last the arrays
    that are recorded under the name of a fact (`Recorder.claim`), because a learner understands the fact better than
    its numbers. Numbers may differ by what `tolerances` allows.

    Args:
        run: the run that is judged.
        expected_run: the run that it should be like.
        atol: absolute tolerance of arrays.
        failures_agree: decides whether the exceptions of `run` and `expected_run`, in this order, count as the same.
    """
    failure, expected_failure = run.failure, expected_run.failure
    if (failure is None) != (expected_failure is None):
        return Difference("failure")
    if failure is not None and expected_failure is not None and not failures_agree(failure, expected_failure):
        return Difference("failure")
    facts = {*run.facts, *expected_run.facts}
    arrays = sorted({*run.arrays, *expected_run.arrays}, key=lambda name: (name != "theta", name))
    in_arrays = _first_difference_in_arrays(
        (name for name in arrays if name not in facts), run, expected_run, atol
    )
    if in_arrays is not None:
        return in_arrays
    for name in (*expected_run.facts, *run.facts):
        if _fact_differs(name, run, expected_run):
            return Difference("fact", name)
    return _first_difference_in_arrays((name for name in arrays if name in facts), run, expected_run, atol)


def differing_fields(run: Run, expected_run: Run, atol: float) -> set[str]:
    """Return the names of all arrays and facts that differ, and `failure` if only one of the runs raised."""
    fields = {name for name in {*run.facts, *expected_run.facts} if _fact_differs(name, run, expected_run)}
    if (run.failure is None) != (expected_run.failure is None):
        fields.add("failure")
    fields.update(
        name
        for name in {*run.arrays, *expected_run.arrays}
        if _difference_in_array(name, run, expected_run, atol) is not None
    )
    return fields


def has_same_cause(failure: Failure, expected: Failure) -> bool:
    """Return True if two exceptions have the same cause, so that the same mistake may have raised both.

    The type alone says too little (a NotImplementedError is a RuntimeError), and the whole message says too much
    (it contains shapes and names, which differ from program to program). Exceptions of the programs' own `raise` or
    `assert` are compared by type, because everyone words these messages differently.
    """
    if failure.own and expected.own:
        return failure.type == expected.type
    lacking, expected_lacking = _NO_ATTRIBUTE.match(failure.message), _NO_ATTRIBUTE.match(expected.message)
    if lacking and expected_lacking and failure.type == expected.type:
        # A misspelt `opt.stpe()` is not the mistake that calls `backward` of a number. Equal classes are enough: names
        # of the learner's own attributes differ from program to program. So are equal attributes.
        return lacking[1] == expected_lacking[1] or lacking[2] == expected_lacking[2]
    return _cause(failure) == _cause(expected)


def is_prefix(states: Array, expected: Array, atol: float) -> bool:
    """Return True if the parameter states equal the first rows of `expected`; both have the shape (states, elements).

    Fewer states are a prefix, too; more states than `expected` has are not.
    """
    if states.shape[1:] != expected.shape[1:] or len(states) > len(expected):
        return False
    accepted = tolerances("theta", expected, atol)[: len(states), None]
    return bool((_absolute_difference(states, expected[: len(states)]) <= accepted).all())


def tolerances(name: str, expected: Array, atol: float) -> Array:
    """Return the largest absolute difference that still counts as equal, for each row of an array; shape (rows,).

    Parameters (`theta`) may drift apart by a little more with every update (`rounding_of_states`), so each row has a
    tolerance of its own. For other arrays it is the same for all rows.

    Args:
        name: name of the array.
        expected: the array of that name in the run that another should be like.
        atol: smallest tolerance.
    """
    rows = len(np.atleast_1d(expected))
    if expected.dtype.kind != "f":
        return np.full(rows, atol)
    if name == "theta":
        return atol + rounding_of_states(expected)
    return np.full(rows, max(atol, rounding_of_values(expected)))


def _fact_differs(name: str, run: Run, expected_run: Run) -> bool:
    """Return True if a fact differs.

    One that was not recorded counts as "" and not as None, because drivers record None as a fact.
    """
    return run.facts.get(name, "") != expected_run.facts.get(name, "")


def _first_difference_in_arrays(
    names: Iterable[str], run: Run, expected_run: Run, atol: float
) -> Difference | None:
    """Return the first difference in the arrays of these names, in the given order; None if they agree."""
    differences = (_difference_in_array(name, run, expected_run, atol) for name in names)
    return next((difference for difference in differences if difference is not None), None)


def _difference_in_array(name: str, run: Run, expected_run: Run, atol: float) -> Difference | None:
    """Return the first difference in the array of this name, row by row; None if it agrees.

    The number of rows is compared last, so that the first wrong update is found even if one run has more updates.
    """
    if name not in run.arrays or name not in expected_run.arrays:
        return Difference("shape", name)
    got, expected = run.arrays[name], expected_run.arrays[name]
    tolerance = tolerances(name, expected, atol)
    # In a notebook, a learner's program may record complex numbers. From a sandbox, `trace_bounds` lets none through.
    if (
        got.dtype.kind not in _NUMBER_KINDS
        or got.ndim != expected.ndim
        or got.shape[1:] != expected.shape[1:]
    ):
        return Difference("shape", name)
    if got.ndim == 0:
        got, expected = got.reshape(1), expected.reshape(1)
    rows = min(len(got), len(expected))
    gap = _absolute_difference(got[:rows], expected[:rows])
    largest_by_row = gap.reshape(rows, -1).max(axis=1, initial=0.0) if gap.size else np.zeros(0)
    wrong_rows = np.flatnonzero(largest_by_row > tolerance[: len(largest_by_row)])
    if wrong_rows.size:
        row = int(wrong_rows[0])
        within_row = np.unravel_index(int(gap[row].argmax()), gap[row].shape) if gap[row].ndim else ()
        return Difference("array", name, (row, *map(int, within_row)))
    return Difference("shape", name) if len(got) != len(expected) else None


def _absolute_difference(got: Array, expected: Array) -> Array:
    """Return the absolute difference of each element; it is 0 between two NaN, infinite between NaN and a number."""
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))


def _cause(failure: Failure) -> tuple[str, ...]:
    """Return what the messages of two exceptions with the same cause have in common.

    This is the known phrase that the message contains. Without one, it is the type and the first four words, in which
    numbers and quoted names are left out: `mat1 and mat2 shapes cannot be multiplied (4x3 and 2x5)` gives
    `("RuntimeError", "mat", "and", "mat", "shapes")`.
    """
    for phrase in _CAUSE_PHRASES:
        if phrase in failure.message:
            return (phrase,)
    if failure.type == "KeyError":  # its message is nothing but the key, which is a name
        return (failure.type,)
    words = re.sub(r"'[^']*'|[0-9]+", "", failure.message).split()
    return (failure.type, *words[:4])
