"""Trace x the solution's trace -> Verdict: which checks pass, and the first difference in each scenario."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from grader.course.course import Exercise
from grader.course.feedback import CheckResult, Status
from grader.observe.rounding import rounding_of_states, rounding_of_values
from grader.observe.trace import Array, Failure, Run, Trace

# Parts of error messages that stay the same, however the line that caused the error is written.
_CAUSES = (
    "NoneType",
    "division by zero",
    "inplace operation",
    "does not require grad",
    "backward through the graph a second time",
    "leaf Variable that requires grad",
)


@dataclass(frozen=True)
class Difference:
    """Where one run begins to differ from another one; `kind` says which of the fields counts."""

    kind: str
    """`failure`, `fact`, `array` (values differ) or `shape`."""
    name: str = ""
    index: tuple[int, ...] = ()
    """Position in the array of the largest difference in the first row that differs."""


@dataclass(frozen=True)
class Verdict:
    """What the marking scheme says."""

    status: Status
    checks: tuple[CheckResult, ...]
    differences: Mapping[str, Difference]
    """First difference of each scenario that differs, in the driver's order."""
    failure: Failure | None = None
    """The exception that decided the status, if one did."""


def judge(exercise: Exercise, trace: Trace, solution: Callable[[str], Run]) -> Verdict:
    """Compare every scenario with the solution's run of it (`solution(scenario name)`).

    A check passes when all of its scenarios agree; a scenario that is missing from the trace does not.
    """
    if trace.load_failure is not None:
        checks = tuple(CheckResult(c.title, c.points, passed=False) for c in exercise.checks)
        return Verdict(failure_status(trace.load_failure), checks, {}, trace.load_failure)
    differences: dict[str, Difference] = {}
    failure: Failure | None = None
    for scenario in exercise.driver.scenarios:
        run = trace.runs.get(scenario.name)
        found = (
            Difference("failure") if run is None else difference(run, solution(scenario.name), scenario.atol)
        )
        if found is None:
            continue
        differences[scenario.name] = found
        if failure is None and run is not None and found.kind == "failure":
            failure = run.failure
    checks = tuple(
        CheckResult(c.title, c.points, not any(s in differences for s in exercise.deciding(c)), c.look)
        for c in exercise.checks
    )
    status: Status = "passed" if not differences else "failed"
    if failure is not None:
        status = failure_status(failure)
    return Verdict(status, checks, differences, failure)


def failure_status(failure: Failure) -> Status:
    """`memory` when the code asked for more than there is, `error` otherwise."""
    return "memory" if failure.out_of_memory else "error"


def is_instance(failure: Failure, expected: Failure) -> bool:
    """Whether the exception is one of the expected kind: what a contract asks for."""
    return expected.type in failure.bases


def has_same_cause(failure: Failure, expected: Failure) -> bool:
    """Whether two exceptions have the same cause: a diagnosis asks for this.

    The type alone says too little (a NotImplementedError is a RuntimeError), and the whole message says too much
    (shapes and names differ from one style to the next). What the code itself raises has a message of its own.
    """
    if failure.own and expected.own:
        return failure.type == expected.type
    return _cause(failure) == _cause(expected)


def _cause(failure: Failure) -> tuple[str, ...]:
    for sign in _CAUSES:
        if sign in failure.message:
            return (sign,)
    if failure.type == "KeyError":  # its message is nothing but the key, which is a name
        return (failure.type,)
    words = re.sub(r"'[^']*'|[0-9]+", "", failure.message).split()
    return (failure.type, *words[:4])


def difference(
    run: Run, reference: Run, atol: float, *, agree: Callable[[Failure, Failure], bool] = is_instance
) -> Difference | None:
    """The first difference between two runs of one scenario; None when they behave the same.

    An array with the name of a fact is that fact in numbers: the fact, which is words, is said first.
    Numbers may differ by `atol` and, beyond that, by what float32 rounding changes. `agree` decides
    whether two exceptions count as the same; their lines are never compared.
    """
    failed, should_fail = run.failure, reference.failure
    if (failed is None) != (should_fail is None):
        return Difference("failure")
    if failed is not None and should_fail is not None and not agree(failed, should_fail):
        return Difference("failure")
    facts = {*run.facts, *reference.facts}
    arrays = sorted({*run.arrays, *reference.arrays}, key=lambda n: (n != "theta", n))
    found = _first_array(run, reference, atol, (name for name in arrays if name not in facts))
    if found is not None:
        return found
    for name in (*reference.facts, *run.facts):
        if run.facts.get(name, "") != reference.facts.get(name, ""):
            return Difference("fact", name)
    return _first_array(run, reference, atol, (name for name in arrays if name in facts))


def _first_array(run: Run, reference: Run, atol: float, names: Iterable[str]) -> Difference | None:
    for name in names:
        if name not in run.arrays or name not in reference.arrays:
            return Difference("shape", name)
        expected = reference.arrays[name]
        found = _array_difference(name, run.arrays[name], expected, tolerances(name, expected, atol))
        if found is not None:
            return found
    return None


def differing_fields(run: Run, reference: Run, atol: float) -> set[str]:
    """Names of all arrays and facts that differ, and `failure` where one run fails otherwise than the other."""
    fields = {
        name
        for name in {*run.facts, *reference.facts}
        if run.facts.get(name, "") != reference.facts.get(name, "")
    }
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


def follows(states: Array, expected: Array, atol: float) -> bool:
    """Whether parameter states (rows x elements) are the first ones of the expected, which may go on."""
    if states.shape[1:] != expected.shape[1:] or len(states) > len(expected):
        return False
    room = tolerances("theta", expected, atol)[: len(states), None]
    return bool((_gap(states, expected[: len(states)]) <= room).all())


def tolerances(name: str, expected: Array, atol: float) -> Array:
    """How far each row of an array may be from the expected one, shape (rows,)."""
    rows = len(np.atleast_1d(expected))
    if expected.dtype.kind != "f":
        return np.full(rows, atol)
    if name == "theta":
        return atol + rounding_of_states(expected)
    return np.full(rows, max(atol, rounding_of_values(expected)))


def _array_difference(name: str, got: Array, expected: Array, tolerance: Array) -> Difference | None:
    """Rows are compared in order, so that the first wrong update is found even when their number differs."""
    if got.dtype.kind not in "fiub" or got.ndim != expected.ndim or got.shape[1:] != expected.shape[1:]:
        return Difference("shape", name)
    if got.ndim == 0:
        got, expected = got.reshape(1), expected.reshape(1)
    rows = min(len(got), len(expected))
    gap = _gap(got[:rows], expected[:rows])
    largest = gap.reshape(rows, -1).max(axis=1, initial=0.0) if gap.size else np.zeros(0)
    wrong = np.argwhere(largest > tolerance[: len(largest)])
    if wrong.size:
        row = int(wrong[0, 0])
        inner = np.unravel_index(int(gap[row].argmax()), gap[row].shape) if gap[row].ndim else ()
        return Difference("array", name, (row, *(int(i) for i in inner)))
    return Difference("shape", name) if len(got) != len(expected) else None


def _gap(got: Array, expected: Array) -> Array:
    """Absolute difference. NaN equals only NaN, and an infinity equals only itself."""
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
