"""Compare a trace with the solution's and decide which checks pass.

This is the first step of judging: trace -> Verdict, with the first difference in each scenario.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.course.course import Exercise
from grader.course.feedback import CheckResult, Status
from grader.judging.compare_runs import Difference, difference
from grader.observe.trace import Failure, Run, Trace


@dataclass(frozen=True)
class Verdict:
    """Which checks pass, with what decided it."""

    status: Status
    checks: tuple[CheckResult, ...]
    differences: Mapping[str, Difference]
    """First difference of each scenario that differs from the solution's, in the driver's order."""
    failure: Failure | None = None
    """The exception that decided the status; None if none did."""


def judge(exercise: Exercise, trace: Trace, solution: Callable[[str], Run]) -> Verdict:
    """Compare every scenario with the solution's run of it and return the verdict.

    A check passes when all of its scenarios agree; a scenario that is missing from the trace does not agree.

    Args:
        exercise: the exercise, with its checks and scenarios.
        trace: what the submission did.
        solution: returns the solution's run, given a scenario's name.
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
    """Return `memory` if the code asked for more memory than there is, `error` otherwise."""
    return "memory" if failure.out_of_memory else "error"
