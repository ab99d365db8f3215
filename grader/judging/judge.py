"""Decide which checks a submission passes, by comparing its trace with the solution's: the first step of judging.

`assess` calls `judge`. How two runs are compared is in `compare_runs`; why they differ is found later (`explain`). A
check and its scenarios are written in the exercise's TOML and its driver, so a new one needs no change here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.course.course import Exercise
from grader.course.feedback import CheckResult, Status
from grader.judging.compare_runs import Difference, find_difference
from grader.observe.trace import Failure, Run, Trace


@dataclass(frozen=True)
class Verdict:
    """Which checks pass, and why the others do not."""

    status: Status
    """`passed` or `failed`; `error` or `memory` if the program raised an exception that the solution does not."""
    checks: tuple[CheckResult, ...]
    """One result for each check of the exercise, in its order."""
    differences: Mapping[str, Difference]
    """Name of each scenario that differs from the solution -> its first difference, in the driver's order."""
    failure: Failure | None = None
    """The exception that made the status `error` or `memory`: the first that the solution does not raise there.

    None for other statuses.
    """


def judge(exercise: Exercise, trace: Trace, solution_run: Callable[[str], Run]) -> Verdict:
    """Compare the runs of every scenario and return the verdict.

    A check passes if the learner's run equals the solution's in all of its scenarios. A scenario without a run in the
    trace differs from the solution. If the trace has a `load_failure`, every check fails and no scenario is compared.

    Args:
        exercise: the exercise, with its checks and scenarios.
        trace: what the submission did.
        solution_run: returns the solution's run, given a scenario's name.
    """
    if trace.load_failure is not None:
        checks = tuple(CheckResult(check.title, check.points, passed=False) for check in exercise.checks)
        return Verdict(_failure_status(trace.load_failure), checks, {}, trace.load_failure)
    differences: dict[str, Difference] = {}
    failure: Failure | None = None
    for scenario in exercise.driver.scenarios:
        run = trace.runs.get(scenario.name)
        if run is None:
            differences[scenario.name] = Difference("failure")
            continue
        difference = find_difference(run, solution_run(scenario.name), scenario.atol)
        if difference is None:
            continue
        differences[scenario.name] = difference
        if failure is None and difference.kind == "failure":
            # Still None if the learner's run lacks an exception that the solution raises.
            failure = run.failure
    checks = tuple(
        CheckResult(
            check.title,
            check.points,
            passed=differences.keys().isdisjoint(exercise.deciding(check)),
            look=check.look,
        )
        for check in exercise.checks
    )
    status: Status = "failed" if differences else "passed"
    if failure is not None:
        status = _failure_status(failure)
    return Verdict(status, checks, differences, failure)


def _failure_status(failure: Failure) -> Status:
    """Return `memory` if the code asked for more memory than there is, `error` otherwise."""
    return "memory" if failure.out_of_memory else "error"
