"""Compare two runs of one scenario: find their first difference, or the names of everything that differs.

The verdict compares a submission's runs with the solution's; explanations compare them with those of known mistakes.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from grader.observe.rounding import rounding_of_states, rounding_of_values
from grader.observe.trace import Array, Failure, Run

_CAUSES = (
    "NoneType",
    "division by zero",
    "inplace operation",
    "does not require grad",
    "backward through the graph a second time",
    "leaf Variable that requires grad",
)
"""Phrases of error messages that name the cause in whatever way the code that raised is written."""


@dataclass(frozen=True)
class Difference:
    """The first place where one run differs from another."""

    kind: str
    """`failure`, `fact`, `array` (values differ) or `shape` (an array is missing in one run, or its shape differs)."""
    name: str = ""
    """Name of the fact or array; empty for `failure`."""
    index: tuple[int, ...] = ()
    """For `array`: indices, from 0, of the largest difference in the first row that differs. Empty for other kinds."""


def is_expected_exception(failure: Failure, expected: Failure) -> bool:
    """Return True if the exception is of the expected class or a subclass, which is all that a docstring promises."""
    return expected.type in failure.bases


def has_same_cause(failure: Failure, expected: Failure) -> bool:
    """Return True if two exceptions have the same cause: a learner makes a mistake only if it fails in the same way.

    The type alone says too little (a NotImplementedError is a RuntimeError), and the whole message says too much
    (shapes and names differ from one style to the next). Exceptions raised by the programs' own `raise` or `assert`
    are compared by type, because everyone words these messages differently.
    """
    if failure.own and expected.own:
        return failure.type == expected.type
    return _cause(failure) == _cause(expected)


def _cause(failure: Failure) -> tuple[str, ...]:
    """Return a known phrase of the message; else the type and the first four words without names and numbers."""
    for phrase in _CAUSES:
        if phrase in failure.message:
            return (phrase,)
    if failure.type == "KeyError":  # its message is nothing but the key, which is a name
        return (failure.type,)
    words = re.sub(r"'[^']*'|[0-9]+", "", failure.message).split()
    return (failure.type, *words[:4])


def find_difference(
    run: Run,
    reference: Run,
    atol: float,
    *,
    failures_agree: Callable[[Failure, Failure], bool] = is_expected_exception,
) -> Difference | None:
    """Return the first difference between two runs of one scenario; None if they behave the same.

    The order is: exceptions, parameters (`theta`), other arrays by name, facts, and last the arrays that are recorded
    under the name of a fact (`Recorder.claim`), because a learner understands the fact better than its numbers.
    Numbers may differ by `atol` plus what float32 rounding changes.

    Args:
        run: the run that is judged.
        reference: the run that it should be like.
        atol: absolute tolerance of arrays.
        failures_agree: decides whether two exceptions count as the same; their lines are never compared.
    """
    failed, should_fail = run.failure, reference.failure
    if (failed is None) != (should_fail is None):
        return Difference("failure")
    if failed is not None and should_fail is not None and not failures_agree(failed, should_fail):
        return Difference("failure")
    facts = {*run.facts, *reference.facts}
    arrays = sorted({*run.arrays, *reference.arrays}, key=lambda name: (name != "theta", name))
    in_arrays = _first_in_arrays(run, reference, atol, (name for name in arrays if name not in facts))
    if in_arrays is not None:
        return in_arrays
    for name in (*reference.facts, *run.facts):
        if _fact_differs(name, run, reference):
            return Difference("fact", name)
    return _first_in_arrays(run, reference, atol, (name for name in arrays if name in facts))


def _fact_differs(name: str, run: Run, reference: Run) -> bool:
    """Return True if a fact differs; one that was not recorded equals "", because None is a fact like any other."""
    return run.facts.get(name, "") != reference.facts.get(name, "")


def _first_in_arrays(run: Run, reference: Run, atol: float, names: Iterable[str]) -> Difference | None:
    """Return the first difference among these arrays, in the given order; None if they agree."""
    for name in names:
        if name not in run.arrays or name not in reference.arrays:
            return Difference("shape", name)
        expected = reference.arrays[name]
        first = _array_difference(name, run.arrays[name], expected, tolerances(name, expected, atol))
        if first is not None:
            return first
    return None


def differing_fields(run: Run, reference: Run, atol: float) -> set[str]:
    """Return the names of all arrays and facts that differ, and `failure` if only one of the runs failed."""
    fields = {name for name in {*run.facts, *reference.facts} if _fact_differs(name, run, reference)}
    if (run.failure is None) != (reference.failure is None):
        fields.add("failure")
    for name in {*run.arrays, *reference.arrays}:
        if name not in run.arrays or name not in reference.arrays:
            fields.add(name)
            continue
        expected = reference.arrays[name]
        if _array_difference(name, run.arrays[name], expected, tolerances(name, expected, atol)) is not None:
            fields.add(name)
    return fields


def is_prefix(states: Array, expected: Array, atol: float) -> bool:
    """Return True if the parameter states, shape (states, elements), equal the first rows of `expected`."""
    if states.shape[1:] != expected.shape[1:] or len(states) > len(expected):
        return False
    accepted = tolerances("theta", expected, atol)[: len(states), None]
    return bool((_absolute_difference(states, expected[: len(states)]) <= accepted).all())


def tolerances(name: str, expected: Array, atol: float) -> Array:
    """Return the largest accepted absolute difference for each row of the array of this name, shape (rows,)."""
    rows = len(np.atleast_1d(expected))
    if expected.dtype.kind != "f":
        return np.full(rows, atol)
    if name == "theta":
        return atol + rounding_of_states(expected)
    return np.full(rows, max(atol, rounding_of_values(expected)))


def _array_difference(name: str, got: Array, expected: Array, tolerance: Array) -> Difference | None:
    """Return the first difference of two arrays, row by row; None if they agree.

    Rows are compared before their number, so that the first wrong update is found even if one array has more rows.
    """
    # "fiub": floats, signed and unsigned integers, booleans. A forged trace may hold arrays of text.
    if got.dtype.kind not in "fiub" or got.ndim != expected.ndim or got.shape[1:] != expected.shape[1:]:
        return Difference("shape", name)
    if got.ndim == 0:
        got, expected = got.reshape(1), expected.reshape(1)
    rows = min(len(got), len(expected))
    gap = _absolute_difference(got[:rows], expected[:rows])
    largest_by_row = gap.reshape(rows, -1).max(axis=1, initial=0.0) if gap.size else np.zeros(0)
    wrong_rows = np.argwhere(largest_by_row > tolerance[: len(largest_by_row)])
    if wrong_rows.size:
        row = int(wrong_rows[0, 0])
        within_row = np.unravel_index(int(gap[row].argmax()), gap[row].shape) if gap[row].ndim else ()
        return Difference("array", name, (row, *map(int, within_row)))
    return Difference("shape", name) if len(got) != len(expected) else None


def _absolute_difference(got: Array, expected: Array) -> Array:
    """Return the absolute difference of each element; it is 0 between two NaN, infinite between NaN and a number."""
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
