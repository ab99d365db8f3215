"""Find the line of the learner's program that each explained mistake is about, for `assess.py`.

Five ways are tried, and the first that finds a line counts:

1. the line that raises, if the mistake is the cause of the exception and has no `only_near`,
2. if the mistake only moves statements: the line of the event that the solution has elsewhere; not with `only_near`,
3. the line that resembles the text that the mistake changes, or the gap where that belongs (`text_location`),
4. if the texts cannot be compared: the line of an event of the kind that the mistake is about (`Mistake.at`),
5. the `return`, the method or the definition that the mistake is about.

If the line found in the third way caused no event in the scenarios that show the mistake, but an equal simple
statement did, its line is taken. Another way goes into `_locate_one`.

Example: the mistake `no-division` turns `loss = loss_fn(logits, yb) / len(window)` into `loss = loss_fn(logits, yb)`,
and raises nothing. If the learner wrote `error = loss_fn(model(x), y)`, the third way finds this line. Where that does
not compare, because the learner's function is too long, the fourth way takes the line of a `backward`, because the
mistake has `at = "backward"`.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from grader.judging.changed_statements import only_reorders
from grader.judging.compare_runs import has_same_cause
from grader.judging.edits import MistakeVariant
from grader.judging.event_orders import unpaired_events
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import Reference
from grader.judging.solution import exercise_source
from grader.judging.text_location import Location, locate_in_text
from grader.observe.trace import Event, Trace
from grader.submission.syntax import definition_of, is_compound, methods, returns, top_level


def locate(
    explanation: Explanation, trace: Trace, reference: Reference, learner_code: LearnerCode
) -> list[Location | None]:
    """Return the location of each of the explanation's mistakes (`_locate_one`); lines are counted in the program.

    Args:
        explanation: what explains the submission.
        trace: the submission's trace.
        reference: the runs with which it was compared.
        learner_code: the learner's code, with the place of each line.
    """
    return [
        _locate_one(mistake, explanation, trace, reference, learner_code) for mistake in explanation.mistakes
    ]


def _locate_one(
    mistake: ExplainedMistake,
    explanation: Explanation,
    trace: Trace,
    reference: Reference,
    learner_code: LearnerCode,
) -> Location | None:
    """Return the location of one mistake; None only if `def` or `class` does not define the exercise."""
    if not mistake.variant.mistake.only_near:  # with it, the course has fixed the line: no exception moves it
        raising = _line_that_raises(mistake, trace, reference, learner_code.text)
        if raising is not None:
            return raising
        moved = _line_of_moved_event(mistake, trace, reference)
        if moved is not None:
            return moved
    location = _line_like_any_variant(mistake, explanation, reference, learner_code.text)
    if location is not None:
        return _in_a_branch_that_ran(location, mistake, trace, learner_code.text)
    return _line_of_event(mistake, trace, reference) or _line_in_definition(mistake, reference, learner_code)


def _line_that_raises(
    mistake: ExplainedMistake, trace: Trace, reference: Reference, source: str
) -> Location | None:
    """Return the line at which the learner's program raises, if the mistake is the cause; None otherwise.

    The mistake is the cause if its program raises for the same reason, in a line that the solution does not have. If
    the reason is a None, the solution may have that line, because the None may come from an earlier one.

    For an exception of the learner's own `raise`, the line is that of the `if` around it, or its own without one; and
    only if the mistake changes the `if` around the `raise` of its program: otherwise the line to repair is elsewhere.
    """
    mistaken_source = reference.sources[mistake.variant.name]
    solution_lines = exercise_source(reference.exercise).splitlines()
    line_of_other_type: int | None = None
    for scenario in mistake.scenarios:
        raised = trace.runs[scenario].failure
        if raised is None or raised.line is None:
            continue
        # Complete: a run that is kept may be broken off where it differed from an earlier learner's.
        expected = reference.complete_run(mistaken_source, scenario).failure
        if expected is None or expected.line is None or not has_same_cause(raised, expected):
            continue
        line: int | None = None
        if raised.own:
            condition = _line_of_condition(mistaken_source, expected.line)
            if condition and mistaken_source.splitlines()[condition - 1] not in solution_lines:
                line = _line_of_condition(source, raised.line) or raised.line
        elif (
            "NoneType" in raised.message
            or mistaken_source.splitlines()[expected.line - 1] not in solution_lines
        ):
            line = raised.line
        # Two mistakes that forget a None raise for the same reason; the exception's type may tell which of them it is.
        if line is not None and raised.type == expected.type:
            return Location(line)
        line_of_other_type = line_of_other_type or line
    return None if line_of_other_type is None else Location(line_of_other_type)


def _line_of_moved_event(mistake: ExplainedMistake, trace: Trace, reference: Reference) -> Location | None:
    """Return the line of the event that the mistake moves, such as `clip` for clipping after the update.

    None if the mistake does more than reorder statements, or if the solution lacks no such event: then another
    statement may be said to have moved.
    """
    solution = exercise_source(reference.exercise)
    if not only_reorders(solution, reference.sources[mistake.variant.name]):
        return None
    return _line_of_superfluous_event(mistake, trace, reference)


def _line_of_condition(source: str, line: int) -> int | None:
    """Return the line of the innermost `if` whose body holds the line; None if it stands in no such body."""
    conditions = [
        node.lineno
        for statement in top_level(source)
        for node in ast.walk(statement)
        if isinstance(node, ast.If) and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
    ]
    return max(conditions, default=None)


def _line_like_any_variant(
    mistake: ExplainedMistake, explanation: Explanation, reference: Reference, source: str
) -> Location | None:
    """Return the line of `source`, the learner's program, that resembles what the mistake changes; None if none does.

    If several variants of the mistake behave like the one that was found, only the text can tell which of them the
    learner wrote. So all of them are compared with it, and the one that fits it best decides.
    """
    equivalent = (mistake.variant, *reference.equivalent_variants(mistake.variant))
    locations = [_line_like_variant(variant, explanation, reference, source) for variant in equivalent]
    found = [location for location in locations if location is not None]
    return max(found, key=lambda location: location.fit, default=None)


def _line_like_variant(
    variant: MistakeVariant, explanation: Explanation, reference: Reference, source: str
) -> Location | None:
    """Return the line of the learner's program that resembles what this variant changes; None if there is none.

    The learner's program is compared with the solution and with the variant's program. If possible, the learner's other
    mistakes are made in both, because then the text around the change is more like the learner's. It is not possible if
    the edits cannot be combined, or if the mistake has a `near`: this is a line of the solution, which another mistake
    may change. To find what stands in its place then, the solution with the other mistakes is handed over, too.
    """
    exercise, mistake = reference.exercise, variant.mistake
    base = reference.source_to_edit(variant) or exercise_source(exercise)
    wrong = reference.sources[variant.name]
    others = tuple(other for other in explanation.combination if other.mistake.id != mistake.id)
    with_others = reference.source_to_edit(variant, others) if others else None
    if with_others and not mistake.near:
        with_all = reference.source_with_mistakes((variant, *others))
        if with_all:
            base, wrong = with_others, with_all
    return locate_in_text(
        base,
        wrong,
        source,
        exercise.name,
        at=mistake.at,
        near=mistake.near,
        only_near=mistake.only_near,
        side=mistake.side,
        with_other_mistakes=with_others,
    )


def _in_a_branch_that_ran(
    location: Location, mistake: ExplainedMistake, trace: Trace, source: str
) -> Location:
    """Return the location, moved to the first equal statement that ran if its own did not in the mistake's scenarios.

    A text comparison cannot tell `clip_grad_norm_(…)` under `if scaler:` from the same line under `else:`. A line
    counts as run if it caused an event, so a location is moved only to a line that did.
    """
    lines_run = {event.line for scenario in mistake.scenarios for event in trace.runs[scenario].events}
    statements = _simple_statements(source)
    statement = statements.get(location.line)
    equal_lines = [line for line, text in statements.items() if text == statement and line in lines_run]
    if location.line in lines_run or not equal_lines:
        return location
    return replace(location, line=min(equal_lines))


@lru_cache(maxsize=1)  # the mistakes of one submission are located one after another
def _simple_statements(source: str) -> Mapping[int, str]:
    """Return the text of a statement without a body, by its first line. Cached: do not modify it."""
    return {
        node.lineno: ast.unparse(node)
        for statement in top_level(source)
        for node in ast.walk(statement)
        if isinstance(node, ast.stmt) and not is_compound(node)
    }


def _line_of_event(mistake: ExplainedMistake, trace: Trace, reference: Reference) -> Location | None:
    """Return the line of an event of the kind that the mistake is about (`Mistake.at`); None if there is none.

    The first event of that kind that the solution lacks is taken, if its line is known; else the first one at all.
    """
    return _line_of_superfluous_event(mistake, trace, reference) or _first_line_of(
        mistake, (event for scenario in mistake.scenarios for event in trace.runs[scenario].events)
    )


def _line_of_superfluous_event(
    mistake: ExplainedMistake, trace: Trace, reference: Reference
) -> Location | None:
    """Return the line of the first event of the mistake's kind without a partner in the solution's run, or None."""
    runs = ((trace.runs[scenario], reference.solution_run(scenario)) for scenario in mistake.scenarios)
    return _first_line_of(
        mistake, (event for run, solution in runs for event in unpaired_events(run, solution))
    )


def _first_line_of(mistake: ExplainedMistake, events: Iterable[Event]) -> Location | None:
    """Return the line of the first of these events that is of the mistake's kind and has a line, or None."""
    lines = (event.line for event in events if event.kind == mistake.variant.mistake.at)
    return next((Location(line) for line in lines if line is not None), None)


def _line_in_definition(
    mistake: ExplainedMistake, reference: Reference, learner_code: LearnerCode
) -> Location | None:
    """Return the line of the last `return` if `Mistake.at` is `return`, or that of the method which it names.

    Where there is none, return the line of the definition's `def` or `class`; None if neither defines the exercise.
    """
    definition = definition_of(learner_code.text, reference.exercise.name)
    if definition is None:
        return None
    # Of twins, the card explains the one that is shown first, and no text or event has spoken for another.
    at = mistake.shown_variant.mistake.at
    line = methods(definition).get(at.removeprefix("def "), definition).lineno
    if at == "return":
        line = max((statement.lineno for statement in returns(definition)), default=line)
    return Location(line)
