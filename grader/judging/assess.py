"""Judge a trace and turn it into feedback, step by step.

`grading/grade_submission.py`, after a sandbox, and `grading/in_process.py`, without one, call `assess` with the trace
of an exercise. If there is none, they call `feedback_without_trace` or `feedback_on_syntax_error`.

1. `judge` says which checks pass and where each scenario first differs: the verdict.
2. `explain` finds the known mistakes that behave as the submission does: the explanation.
   `rule_out_twins` marks those of their twins that the learner's text speaks against.
3. For each of these mistakes, `locate` finds the learner's line, `true_explanation` says which sentences about it are
   true of this run, `clearest_difference` gives the first difference in the scenario that shows it most clearly, and
   `right_lines` the solution's lines in its place. Where the code tells how the mistake was made, `fitting_wording`
   finds the line and the texts that say so. Where a call is written but never made, `unmade_call` finds a better line
   and sentence.
4. `gather_evidence` finds what else shows that something is wrong.
5. If known mistakes do not explain everything, `signature_difference` says whether the function takes the arguments
   that it should.

All steps count lines in the program that was run. The feedback, in which they end, counts them in the learner's file or
cell (`LearnerCode`).

To add a step: call it in `assess`, or in `_details_of_mistakes` if it tells something about each mistake, and let
`_make_diagnosis` put what it finds into a field of `Diagnosis`. Steps that play the learner's program again come later,
in `repair/add_repair.py`.

Example: the explanation of a first try at `accumulate` is {no-division, drops-leftover, no-accum-check} and leaves
no scenario unexplained. So the feedback names three mistakes, each with its line and the titles of the scenarios in
which it shows.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

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
from grader.judging.compare_runs import has_same_cause
from grader.judging.evidence import Evidence, clearest_difference, gather_evidence
from grader.judging.explain import ExplainedMistake, Explanation, explain
from grader.judging.judge import Verdict, judge
from grader.judging.learner_code import LearnerCode
from grader.judging.locate import locate
from grader.judging.messages import NOT_BEGUN_MESSAGE, STATUS_MESSAGES, played_message, with_diagnosis
from grader.judging.reference import Reference
from grader.judging.right_lines import right_lines
from grader.judging.signature import signature_difference
from grader.judging.text_location import Location
from grader.judging.true_sentences import TrueText, true_explanation
from grader.judging.twins_by_text import rule_out_twins
from grader.judging.uncalled import calls_without_parentheses, unmade_call
from grader.judging.wordings import fitting_wording
from grader.observe.play import Scenario
from grader.observe.trace import Failure, Trace
from grader.submission.source_file import Complaint
from grader.submission.syntax import definition_of, has_empty_body

_SIGNATURES_TITLE = "함수의 첫 줄"
"""`FirstDifference.what` if `expected` and `got` are signatures: Korean for "the function's first line"."""
_SLIPS = ("NameError", "AttributeError", "ImportError", "ModuleNotFoundError")
"""Exceptions over a name that is not there. What ran before one tells nothing of the mistake, and the right order of
events, a part of the answer, is not shown beside it."""
_MAX_LINE_CHARACTERS = 400
"""Maximum number of characters shown of the learner's line beside a mistake; a line may hold a whole table of data."""


class _MistakeDetails(NamedTuple):
    """What was found out about one of the explanation's mistakes."""

    mistake: ExplainedMistake
    location: Location | None
    """Where it is in the program; None if that is unknown."""
    text: TrueText
    """What is true of it in this run, in Korean."""
    difference: FirstDifference | None
    """The first difference in the scenario that shows it most clearly; None if no scenario shows it."""
    hint: str
    """What to think of or to try."""
    mend: str
    """What to write instead, in words; empty: unknown."""


def assess(exercise: Exercise, trace: Trace, reference: Reference, learner_code: LearnerCode) -> Feedback:
    """Judge a trace and return the feedback, with a diagnosis unless it passes or is not begun.

    Args:
        exercise: the exercise that was played.
        trace: what the submission did.
        reference: the runs with which it is compared.
        learner_code: the learner's code, with the place of each line.
    """
    verdict = judge(exercise, trace, reference.solution_run)
    if verdict.status != "passed" and _has_not_begun(exercise, trace, verdict, learner_code):
        # A diagnosis shows the right order of events, a part of the answer: not for a learner who has not begun.
        feedback = _make_feedback(exercise, trace, verdict, Diagnosis(), None, learner_code)
        return replace(feedback, message=NOT_BEGUN_MESSAGE, begun=False)
    explanation = rule_out_twins(explain(trace, verdict, reference), exercise, learner_code)
    details = _details_of_mistakes(exercise, explanation, trace, verdict, reference, learner_code)
    evidence = gather_evidence(explanation, trace, verdict, reference)
    exception = _unexplained_exception(explanation, trace, reference)
    diagnosis = replace(
        _make_diagnosis(exercise, explanation, details, evidence, learner_code),
        unexplained_checks=_unexplained_checks(explanation, verdict, reference),
        exception_apart=exception is not None,
    )
    if verdict.failure is not None and verdict.failure.type in _SLIPS and not diagnosis.mistakes:
        diagnosis = replace(diagnosis, yours=(), right=(), order_scenario="")
    if exception is not None:  # show this exception rather than one that a named mistake explains
        verdict = replace(verdict, failure=exception)
    line = _line_to_show(details, evidence)
    feedback = _make_feedback(exercise, trace, verdict, diagnosis, line, learner_code)
    if verdict.failure is not None and not diagnosis.mistakes:
        feedback = replace(
            feedback, notes=(*feedback.notes, *_calls_without_parentheses(exercise, learner_code))
        )
    if verdict.status == "passed" or trace.load_failure is not None or diagnosis.explains_all:
        return feedback
    return _with_signature_difference(feedback, exercise, learner_code)


def feedback_without_trace(
    exercise: Exercise, status: Status, *, message: str | None = None, file: str | None = None
) -> Feedback:
    """Return feedback for an exercise without a trace to judge: it is missing, unreadable, ran out of time, crashed ….

    Args:
        exercise: the exercise; all of its checks fail.
        status: the reason why there is no trace.
        message: Korean message in place of the usual one of the status; None or empty for the usual one.
        file: name of the learner's file; None if there is none or if feedback is to name none.
    """
    checks = tuple(CheckResult(check.title, check.points, passed=False) for check in exercise.checks)
    return Feedback(
        lesson=exercise.lesson,
        exercise=exercise.name,
        title=exercise.title,
        status=status,
        checks=checks,
        message=message or STATUS_MESSAGES[status],
        file=file,
        kind=exercise.kind,
    )


def feedback_on_syntax_error(exercise: Exercise, complaint: Complaint, file: str | None) -> Feedback:
    """Return feedback for an exercise whose code does not parse; it points at the line of the complaint.

    `file` is the name of the learner's file; None if feedback is to name none.
    """
    feedback = feedback_without_trace(exercise, "error", message=complaint.message, file=file)
    place = complaint.place
    return replace(
        feedback,
        line=place.line,
        cell=place.cell,
        source_line=complaint.shown,
        lines_above=complaint.lines_above,
    )


def _has_not_begun(exercise: Exercise, trace: Trace, verdict: Verdict, learner_code: LearnerCode) -> bool:
    """Return True if the learner has not begun the exercise.

    If the `raise NotImplementedError` without a text, which the starter has, ended a function, this holds if there was
    no event in any scenario. Otherwise, and for every class, the text decides (`has_empty_body`).
    """
    definition = definition_of(learner_code.text, exercise.name)
    failure = verdict.failure
    raised_as_starter = (
        failure is not None
        and failure.own
        and failure.type == "NotImplementedError"
        and not failure.message.strip()
    )
    # In a class, one method may be left as it was handed out while others are written.
    if raised_as_starter and not isinstance(definition, ast.ClassDef):
        return not any(run.events for run in trace.runs.values())
    return definition is not None and has_empty_body(definition)


def _details_of_mistakes(
    exercise: Exercise,
    explanation: Explanation,
    trace: Trace,
    verdict: Verdict,
    reference: Reference,
    learner_code: LearnerCode,
) -> list[_MistakeDetails]:
    """Return what can be found out about each of the explanation's mistakes.

    If a mistake is only a call that is written but never made (`uncalled`), its location is the line that keeps the
    call from being made, and its text begins with a sentence about that.
    """
    locations = locate(explanation, trace, reference, learner_code)
    details = []
    for mistake, found_location in zip(explanation.mistakes, locations, strict=True):
        location = found_location
        worded = fitting_wording(exercise, mistake.shown_alternatives[0], learner_code)
        wording = worded.wording if worded is not None and worded.wording.title else None
        if worded is not None:
            location = Location(worded.line)
        text = true_explanation(mistake, explanation, trace, reference, wording)
        unmade = unmade_call(exercise, mistake, learner_code)
        if unmade is not None:
            location = Location(unmade.line)
            text = replace(text, explain=f"{unmade.sentence} {text.explain}".rstrip(), title=unmade.title)
        difference = clearest_difference(mistake, explanation, trace, verdict, reference)
        hint = mistake.shown_alternatives[0].hint if wording is None else wording.hint
        mend = _way_to_mend(mistake) if wording is None else wording.mend
        if unmade is not None:
            mend = ""  # the line is written: its sentence tells what keeps it from being called
        details.append(_MistakeDetails(mistake, location, text, difference, hint, mend))
    return details


def _calls_without_parentheses(exercise: Exercise, learner_code: LearnerCode) -> list[str]:
    """Return a Korean line for each call that lacks its parentheses, which the exception keeps from being noticed."""
    notes = []
    for unmade in calls_without_parentheses(exercise, learner_code):
        place = learner_code.place_of(unmade.line)
        if place is not None:
            notes.append(f"{place.line}번째 줄도 보세요. {unmade.sentence}")
    return notes


def _make_diagnosis(
    exercise: Exercise,
    explanation: Explanation,
    details: Sequence[_MistakeDetails],
    evidence: Evidence,
    learner_code: LearnerCode,
) -> Diagnosis:
    """Return what was found as the learner reads it, with lines and cells as the learner counts them.

    Args:
        exercise: the exercise that was judged.
        explanation: what explains the submission.
        details: what was found out about each of the explanation's mistakes.
        evidence: what else shows that something is wrong.
        learner_code: the learner's code, with the place of each line.
    """
    titles = {scenario.name: scenario.title for scenario in exercise.driver.scenarios}
    nearest = explanation.nearest_mistake
    return Diagnosis(
        mistakes=tuple(_name_mistake(one, exercise, learner_code) for one in details),
        first_difference=evidence.first_difference,
        yours=tuple(_with_learner_line(moment, learner_code) for moment in evidence.timelines.yours),
        right=evidence.timelines.right,
        order_scenario=evidence.order_scenario,
        recipe=evidence.recipe,
        unexplained=tuple(titles[name] for name in explanation.unexplained),
        near=None if nearest is None else NamedMistake.of((nearest,)),
        pasted=explanation.pasted,
    )


def _name_mistake(details: _MistakeDetails, exercise: Exercise, learner_code: LearnerCode) -> NamedMistake:
    """Return one mistake as the learner reads it, with its line as the learner counts lines."""
    mistake, text = details.mistake, details.text
    titles = {scenario.name: scenario.title for scenario in exercise.driver.scenarios}
    scenario_titles = tuple(titles[name] for name in mistake.scenarios)
    named = NamedMistake.of(mistake.shown_alternatives, scenario_titles, text.explain)
    named = replace(
        named,
        ids=tuple(alternative.id for alternative in mistake.alternatives),
        titles=(text.title,) if text.title else named.titles,
        hint=details.hint,
        mend=details.mend,
        symptom=text.symptom,
        difference=details.difference,
        right_lines=right_lines(exercise, mistake),
    )
    return named if details.location is None else _at_location(named, details.location, learner_code)


def _way_to_mend(mistake: ExplainedMistake) -> str:
    """Return what to write instead, in words; empty if it may be one of several mistakes, or nothing tells it."""
    if len(mistake.shown_alternatives) > 1:
        return ""
    shown = mistake.shown_variant
    return shown.mistake.way_to_mend(shown.number)


def _at_location(named: NamedMistake, location: Location, learner_code: LearnerCode) -> NamedMistake:
    """Return the named mistake with the location as the learner counts lines, and the text of the line."""
    place, text = learner_code.place_of(location.line), learner_code.line_text(location.line)
    return replace(
        named,
        line=place.line if place else None,
        cell=place.cell if place else None,
        before=location.side == "before",
        after=location.side == "after",
        source_line=None if text is None else text[:_MAX_LINE_CHARACTERS],
    )


def _with_learner_line(moment: Moment, learner_code: LearnerCode) -> Moment:
    """Return the moment with its line as the learner counts lines."""
    place = learner_code.place_of(moment.line)
    return replace(moment, line=place.line if place else None)


def _unexplained_checks(explanation: Explanation, verdict: Verdict, reference: Reference) -> tuple[str, ...]:
    """Return the titles of the failed checks that the named mistakes do not explain wholly.

    These are the checks with a scenario that stays unexplained, or that is changed by a mistake of the combination
    that is not named. Empty if nothing stays unexplained.
    """
    if not explanation.unexplained:
        return ()
    named = {mistake.variant for mistake in explanation.mistakes}
    unnamed = [variant for variant in explanation.combination if variant not in named]
    scenarios = {
        *explanation.unexplained,
        *(
            name
            for name in verdict.differences
            if any(reference.behaviour(variant, name) != 0 for variant in unnamed)
        ),
    }
    exercise = reference.exercise
    return tuple(
        check.title for check in exercise.checks if not scenarios.isdisjoint(exercise.deciding(check))
    )


def _unexplained_exception(explanation: Explanation, trace: Trace, reference: Reference) -> Failure | None:
    """Return the first exception that the named mistakes do not explain, and whose line in the program is known.

    Only scenarios that stay unexplained are looked at. There too, an exception is explained if the solution with the
    named mistakes raises for the same reason: then another difference is what stays unexplained.

    None if there is no such exception, or if no mistake is named.
    """
    named = tuple(mistake.variant for mistake in explanation.mistakes)
    for name in explanation.unexplained:
        failure = trace.runs[name].failure if name in trace.runs else None
        if failure is None or failure.line is None:
            continue
        with_named = reference.run_with_mistakes(named, name)
        expected = with_named.failure if with_named is not None else None
        if expected is None or not has_same_cause(failure, expected):
            return failure
    return None


def _line_to_show(details: Sequence[_MistakeDetails], evidence: Evidence) -> int | None:
    """Return the line, counted in the program, that the feedback points at if no exception decides.

    This is the line of the first named mistake. If no mistake is named, it is that of the learner's first event that
    differs (`Evidence.suspect_line`). None if it is unknown.
    """
    if not details:
        return evidence.suspect_line
    location = details[0].location
    return None if location is None else location.line


def _make_feedback(
    exercise: Exercise,
    trace: Trace,
    verdict: Verdict,
    diagnosis: Diagnosis,
    line: int | None,
    learner_code: LearnerCode,
) -> Feedback:
    """Return the feedback; it points at the line that raised or, if none did, at `line` of the program.

    If the learner's own `raise` ended the run and a named mistake explains it, the feedback points at `line`, too, if
    that is known: the `raise` does what the condition above it says, so the mistake is in the condition.
    """
    failure = verdict.failure
    if failure is not None and failure.line is not None:
        is_explained = bool(diagnosis.mistakes) and not diagnosis.exception_apart
        is_raise_of_named_mistake = failure.own and is_explained and line is not None
        if not is_raise_of_named_mistake:
            line = failure.line
    place = learner_code.place_of(line)
    error = f"{failure.type}: {failure.message}" if failure else None
    raised = failure is not None and failure.own
    printing_scenario = _printing_scenario(exercise, trace, verdict)
    return Feedback(
        lesson=exercise.lesson,
        exercise=exercise.name,
        title=exercise.title,
        status=verdict.status,
        checks=verdict.checks,
        message=played_message(verdict.status, diagnosis, error=error, raised=raised),
        diagnosis=diagnosis,
        line=place.line if place else None,
        cell=place.cell if place else None,
        source_line=learner_code.line_text(line),
        file=learner_code.file,
        error=error,
        raised=raised,
        notes=tuple(map(learner_code.warning_with_place, trace.warnings)),
        seconds=trace.seconds,
        kind=exercise.kind,
        because=exercise.because if verdict.status == "passed" else "",
        printed=None if printing_scenario is None else trace.runs[printing_scenario.name].printed,
        printed_in="" if printing_scenario is None else printing_scenario.title,
    )


def _printing_scenario(exercise: Exercise, trace: Trace, verdict: Verdict) -> Scenario | None:
    """Return the scenario whose output is shown: the first that differs and prints, else the first that prints.

    None if the function printed nothing.
    """
    scenarios = sorted(
        exercise.driver.scenarios, key=lambda scenario: scenario.name not in verdict.differences
    )
    for scenario in scenarios:
        if scenario.name in trace.runs and trace.runs[scenario.name].printed:
            return scenario
    return None


def _with_signature_difference(feedback: Feedback, exercise: Exercise, learner_code: LearnerCode) -> Feedback:
    """Return feedback that says how the learner's function takes other arguments than the exercise says.

    If it takes the same arguments, return the feedback unchanged. Of the diagnosis, only the named mistakes stay, and
    what they leave unexplained: what a function does with misplaced arguments is no evidence of anything.
    """
    found = signature_difference(exercise, learner_code.text)
    if found is None:
        return feedback
    diagnosis = Diagnosis(
        mistakes=feedback.diagnosis.mistakes,
        unexplained=feedback.diagnosis.unexplained,
        unexplained_checks=feedback.diagnosis.unexplained_checks,
        exception_apart=feedback.diagnosis.exception_apart,
        signature=found.sentence,
        first_difference=FirstDifference("", _SIGNATURES_TITLE, expected=found.right, got=found.yours),
    )
    feedback = with_diagnosis(feedback, diagnosis)
    if diagnosis.mistakes:  # the line stays that of the first mistake
        return feedback
    place = learner_code.place_of(found.line)
    return replace(
        feedback,
        line=place.line if place else None,
        cell=place.cell if place else None,
        source_line=learner_code.line_text(found.line),
    )
