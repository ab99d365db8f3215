"""Judge a trace and turn it into feedback, step by step: verdict -> explanation -> lines -> evidence -> feedback.

`judge` says which checks pass and where each scenario first differs. `explain` finds the known mistakes that behave as
the submission does, `true_explanation` what is true of each in this run, `locate` the learner's line for each of them,
and `gather_evidence` what else shows that something is wrong. Each step takes what the earlier steps found. All steps
count lines in the program that was run; the feedback that they end in counts them in the learner's file or cell. Both
`check` and `grade` use this module.

Example: the explanation of a first try at `accumulate` is {no-division, drops-leftover, no-accum-check} and leaves
nothing open, so the feedback names three mistakes, each with its line and the titles of the scenarios in which it
shows.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import (
    CheckResult,
    Diagnosis,
    Feedback,
    FirstDifference,
    Moment,
    NamedMistake,
    Status,
)
from grader.judging.evidence import Evidence, gather_evidence
from grader.judging.explain import ExplainedMistake, Explanation, explain
from grader.judging.judge import Verdict, judge
from grader.judging.locate import locate
from grader.judging.messages import (
    MESSAGES,
    NOT_BEGUN_MESSAGE,
    SIGNATURE_PLACE,
    message_for,
    signature_message,
)
from grader.judging.origin import Origin
from grader.judging.reference import Reference
from grader.judging.signature import signature_difference
from grader.judging.text_location import Location
from grader.judging.true_sentences import true_explanation
from grader.observe.play import Scenario
from grader.observe.trace import Failure, Trace
from grader.submission.source_file import Complaint
from grader.submission.syntax import Definition, definition_of, is_constant, methods

_LINE_SHOWN = 400
"""Maximum number of characters of a learner's line shown beside a mistake."""


def assess(exercise: Exercise, trace: Trace, reference: Reference, origin: Origin) -> Feedback:
    """Judge a trace and return the feedback, with a diagnosis if it does not pass.

    Args:
        exercise: the exercise that was played.
        trace: what the submission did.
        reference: what it is compared with.
        origin: the learner's code.
    """
    verdict = judge(exercise, trace, reference.solution_run)
    if verdict.status != "passed" and _has_not_begun(exercise.name, trace, verdict, origin):
        # A diagnosis shows the right order of events, a part of the answer: not for a learner who has not begun.
        empty = _feedback(exercise, trace, verdict, Diagnosis(), None, origin)
        return replace(empty, message=NOT_BEGUN_MESSAGE, begun=False)
    explanation = explain(trace, verdict, reference)
    locations = locate(explanation, trace, reference, origin)
    evidence = gather_evidence(explanation, trace, verdict, reference)
    explains = [true_explanation(each, explanation, trace, reference) for each in explanation.mistakes]
    diagnosis = _diagnosis(exercise, explanation, explains, locations, evidence, origin)
    diagnosis = replace(diagnosis, unexplained_checks=_unexplained_checks(explanation, verdict, reference))
    apart = _exception_apart(explanation, trace)
    if apart is not None:  # show this exception rather than one that a named mistake explains
        verdict = replace(verdict, failure=apart)
        diagnosis = replace(diagnosis, exception_apart=True)
    line = _line_to_show(locations, evidence)
    feedback = _feedback(exercise, trace, verdict, diagnosis, line, origin)
    explains_all = explanation.pasted or (explanation.mistakes and not explanation.unexplained)
    if verdict.status == "passed" or trace.load_failure is not None or explains_all:
        return feedback
    return _with_signature(feedback, exercise, origin)


def _exception_apart(explanation: Explanation, trace: Trace) -> Failure | None:
    """Return the first exception, at a line of the learner's, of a scenario that the named mistakes do not explain.

    None if there is no such exception.
    """
    runs = [trace.runs[name] for name in explanation.unexplained if name in trace.runs]
    failures = [run.failure for run in runs if run.failure is not None]
    return next((failure for failure in failures if failure.line is not None), None)


def _with_signature(feedback: Feedback, exercise: Exercise, origin: Origin) -> Feedback:
    """If the learner's function takes other arguments than the exercise's, return feedback that says how they differ.

    What happened after a call with misplaced arguments says nothing, so of the diagnosis only the named mistakes, and
    what they leave unexplained, stay. If the arguments are the same, return the feedback unchanged.
    """
    found = signature_difference(exercise, origin.source)
    if found is None:
        return feedback
    diagnosis = Diagnosis(
        mistakes=feedback.diagnosis.mistakes,
        unexplained=feedback.diagnosis.unexplained,
        unexplained_checks=feedback.diagnosis.unexplained_checks,
        exception_apart=feedback.diagnosis.exception_apart,
        signature=found.title,
        first_difference=FirstDifference("", SIGNATURE_PLACE, expected=found.right, got=found.yours),
    )
    if diagnosis.mistakes:
        return replace(feedback, diagnosis=diagnosis)
    line = found.line + origin.first_line - 1
    place = origin.place(line)
    return replace(
        feedback,
        diagnosis=diagnosis,
        message=signature_message(diagnosis.signature, feedback.error),
        line=place.line if place else None,
        cell=place.cell if place else None,
        source_line=origin.line_text(line),
    )


def without_trace(
    exercise: Exercise, status: Status, *, message: str | None = None, file: str | None = None
) -> Feedback:
    """Return feedback for an exercise of which nothing came back to judge: missing, unreadable, timeout, crashed ….

    Args:
        exercise: the exercise; all of its checks fail.
        status: the reason.
        message: replaces the usual message of the status.
        file: name of the learner's file, if there is one.
    """
    checks = tuple(CheckResult(c.title, c.points, passed=False) for c in exercise.checks)
    return Feedback(
        exercise.lesson,
        exercise.name,
        exercise.title,
        status,
        checks,
        message or MESSAGES[status],
        file=file,
        kind=exercise.kind,
    )


def unparsed(exercise: Exercise, complaint: Complaint, file: str | None) -> Feedback:
    """Return feedback for an exercise whose code does not parse, with the learner's line."""
    feedback = without_trace(exercise, "error", message=complaint.message, file=file)
    place = complaint.place
    return replace(feedback, line=place.line, cell=place.cell, source_line=complaint.shown)


def _feedback(
    exercise: Exercise,
    trace: Trace,
    verdict: Verdict,
    diagnosis: Diagnosis,
    line: int | None,
    origin: Origin,
) -> Feedback:
    """Return the feedback; it points at the line that raised or, if none did, at the given line of the program.

    If the learner's own `raise` ended the run and a mistake is named, the feedback points at the given line, too: the
    `raise` does what the condition above it says, so the mistake is in the condition.
    """
    failure = verdict.failure
    is_told = failure is not None and failure.own and bool(diagnosis.mistakes) and line is not None
    if failure is not None and failure.line is not None and not is_told:
        line = failure.line
    place = origin.place(line)
    shown = _printing_scenario(exercise, trace, verdict)
    return Feedback(
        lesson=exercise.lesson,
        exercise=exercise.name,
        title=exercise.title,
        status=verdict.status,
        checks=verdict.checks,
        message=message_for(verdict, diagnosis),
        diagnosis=diagnosis,
        line=place.line if place else None,
        cell=place.cell if place else None,
        source_line=origin.line_text(line),
        file=origin.file,
        error=f"{failure.type}: {failure.message}" if failure else None,
        raised=failure is not None and failure.own,
        notes=tuple(map(origin.with_place, trace.warnings)),
        seconds=trace.seconds,
        kind=exercise.kind,
        because=exercise.because if verdict.status == "passed" else "",
        printed=None if shown is None else trace.runs[shown.name].printed,
        printed_in="" if shown is None else shown.title,
    )


def _printing_scenario(exercise: Exercise, trace: Trace, verdict: Verdict) -> Scenario | None:
    """Return the scenario whose output is shown: the first one that prints, if possible among those that differ."""
    scenarios = sorted(exercise.driver.scenarios, key=lambda each: each.name not in verdict.differences)
    printing = (each for each in scenarios if each.name in trace.runs and trace.runs[each.name].printed)
    return next(printing, None)


def _diagnosis(
    exercise: Exercise,
    explanation: Explanation,
    explains: Sequence[str],
    locations: Sequence[Location | None],
    evidence: Evidence,
    origin: Origin,
) -> Diagnosis:
    """Return what was found as the learner reads it, with lines and cells as the learner counts them.

    `explains` and `locations` hold what is said of each explained mistake, and where it is.
    """
    titles = {scenario.name: scenario.title for scenario in exercise.driver.scenarios}

    def placed(moment: Moment) -> Moment:
        place = origin.place(moment.line)
        return replace(moment, line=place.line if place else None)

    def named(mistake: ExplainedMistake, explain: str, location: Location | None) -> NamedMistake:
        line = location.line if location else None
        place, text = origin.place(line), origin.line_text(line)
        return replace(
            NamedMistake.of(mistake.names, tuple(titles[name] for name in mistake.scenarios), explain),
            line=place.line if place else None,
            cell=place.cell if place else None,
            before=location is not None and location.is_before,
            after=location is not None and location.is_after,
            source_line=None if text is None else text[:_LINE_SHOWN],
        )

    return Diagnosis(
        mistakes=tuple(map(named, explanation.mistakes, explains, locations)),
        first_difference=evidence.first_difference,
        yours=tuple(map(placed, evidence.yours)),
        right=evidence.right,
        order_scenario=evidence.order_scenario,
        recipe=evidence.recipe,
        unexplained=tuple(titles[name] for name in explanation.unexplained),
        near=None if explanation.near is None else NamedMistake.of((explanation.near,)),
        pasted=explanation.pasted,
    )


def _unexplained_checks(explanation: Explanation, verdict: Verdict, reference: Reference) -> tuple[str, ...]:
    """Return the titles of the checks that fail in a scenario that the named mistakes do not explain.

    If the combination has mistakes that are not named, the scenarios that these change count as unexplained, too.
    """
    if not explanation.unexplained:
        return ()
    named = {mistake.variant for mistake in explanation.mistakes}
    unnamed = [variant for variant in explanation.combination if variant not in named]
    open_scenarios = {
        *explanation.unexplained,
        *(name for name in verdict.differences if any(reference.behaviour(v, name) != 0 for v in unnamed)),
    }
    checks = reference.exercise.checks
    return tuple(c.title for c in checks if not open_scenarios.isdisjoint(reference.exercise.deciding(c)))


def _line_to_show(locations: Sequence[Location | None], evidence: Evidence) -> int | None:
    """Return the line of the first mistake, else that of the learner's first event that may be what is wrong.

    None if nothing points anywhere: to show no line is better than to show the first line of the function.
    """
    if locations:
        return locations[0].line if locations[0] else None
    return evidence.line


def _has_not_begun(name: str, trace: Trace, verdict: Verdict, origin: Origin) -> bool:
    """Return True if the learner has not begun the exercise.

    This holds if a function raised the starter's NotImplementedError before any event, or no method or function has a
    statement of its own.
    """
    definition = definition_of(origin.source, name)
    failure = verdict.failure
    left_as_handed_out = failure is not None and failure.own and failure.type == "NotImplementedError"
    if left_as_handed_out and not isinstance(definition, ast.ClassDef):
        return not any(run.events for run in trace.runs.values())
    return definition is not None and _is_empty_body(definition)


def _is_empty_body(node: Definition) -> bool:
    """Return True if a function, or every method of a class, is empty or only raises `NotImplementedError`."""
    if isinstance(node, ast.ClassDef):
        inside = methods(node)
        return bool(inside) and all(map(_is_empty_body, inside.values()))
    return all(
        isinstance(statement, ast.Pass)
        or is_constant(statement)
        or (isinstance(statement, ast.Raise) and "NotImplementedError" in ast.unparse(statement))
        for statement in node.body
    )
