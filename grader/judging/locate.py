"""Find the line of the learner's program that each explained mistake is about.

It is the line at which the program raises, if the mistake is the cause. Otherwise texts are compared
(`text_location`); where that finds nothing, the line of the event, the `return`, the method or the definition that the
mistake is about is taken.
"""

from grader.judging.compare_runs import has_same_cause
from grader.judging.edits import MistakeVariant, exercise_source
from grader.judging.event_orders import differing
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.origin import Origin
from grader.judging.reference import Reference
from grader.judging.text_location import Location, locate_in_text
from grader.observe.trace import Trace
from grader.submission.syntax import definition_of, methods, returns


def locate(
    explanation: Explanation, trace: Trace, reference: Reference, origin: Origin
) -> list[Location | None]:
    """Return the location of each of the explanation's mistakes, with lines of the program.

    Args:
        explanation: what explains the submission.
        trace: the submission's trace.
        reference: what it was judged by.
        origin: the learner's code.
    """
    return [_location(m, explanation, trace, reference, origin) for m in explanation.mistakes]


def _location(
    mistake: ExplainedMistake, explanation: Explanation, trace: Trace, reference: Reference, origin: Origin
) -> Location | None:
    """Return the location of one mistake; None if the learner's code does not define the exercise."""
    return (
        (None if mistake.variant.mistake.only_near else _of_raise(mistake, trace, reference))
        or _in_text(mistake, explanation, reference, origin.source)
        or _of_event(mistake, trace, reference)
        or _in_definition(mistake, reference, origin)
    )


def _of_raise(mistake: ExplainedMistake, trace: Trace, reference: Reference) -> Location | None:
    """Return the line at which the learner's program raises, if the mistake itself is the cause; None otherwise.

    The mistake's program must raise for the same reason, and either in a line that the mistake changed or because of
    a None, which may come from an earlier line. What the learner's own `raise` raised does not count.
    """
    wrong = reference.sources[mistake.variant.name]
    unchanged = exercise_source(reference.exercise).splitlines()
    for scenario in mistake.scenarios:
        raised = trace.runs[scenario].failure
        if raised is None or raised.line is None or raised.own:
            continue
        failure = reference.known(wrong, scenario).failure
        if failure is None or failure.line is None or not has_same_cause(raised, failure):
            continue
        if "NoneType" in raised.message or wrong.splitlines()[failure.line - 1] not in unchanged:
            return Location(raised.line)
    return None


def _in_text(
    mistake: ExplainedMistake, explanation: Explanation, reference: Reference, source: str
) -> Location | None:
    """Return the line that resembles what the mistake changes; None if none does.

    Of several variants of the mistake that behave alike, the one that resembles the learner's text most counts.
    """
    same = (mistake.variant, *reference.equivalent_variants(mistake.variant))
    locations = [_in_text_as(variant, explanation, reference, source) for variant in same]
    found = [location for location in locations if location is not None]
    return max(found, key=lambda location: location.likeness, default=None)


def _in_text_as(
    variant: MistakeVariant, explanation: Explanation, reference: Reference, source: str
) -> Location | None:
    """Return the line that resembles what this variant changes; None if there is none.

    The variant is compared in the presence of the other mistakes that the learner makes, if their edits combine.
    """
    exercise, mistake = reference.exercise, variant.mistake
    solution, wrong = exercise_source(exercise), reference.sources[variant.name]
    others = tuple(other for other in explanation.combination if other.mistake.id != mistake.id)
    if others and not mistake.near:  # `near` is a line of the solution, which another mistake may change
        both = tuple(v for v in reference.variants if v == variant or v in others)
        less, more = reference.program_of_all(others), reference.program_of_all(both)
        if less and more:
            solution, wrong = less, more
    return locate_in_text(
        solution,
        wrong,
        source,
        exercise.name,
        at=mistake.at,
        near=mistake.near,
        only_near=mistake.only_near,
    )


def _of_event(mistake: ExplainedMistake, trace: Trace, reference: Reference) -> Location | None:
    """Return the line of the learner's first event of the kind that the mistake is about, if possible one too many."""
    runs = [(trace.runs[scenario], reference.solution(scenario)) for scenario in mistake.scenarios]
    extra = (event for run, solution in runs for event in differing(run, solution))
    every = (event for run, _ in runs for event in run.events)
    for event in (*extra, *every):
        if event.kind == mistake.variant.mistake.at and event.line is not None:
            return Location(event.line)
    return None


def _in_definition(mistake: ExplainedMistake, reference: Reference, origin: Origin) -> Location | None:
    """Return the line of the last return, the method or the definition that the mistake is about."""
    definition = definition_of(origin.source, reference.exercise.name)
    if definition is None:
        return None
    at = mistake.names[0].at
    line = methods(definition).get(at.removeprefix("def "), definition).lineno
    if at == "return":
        line = max((statement.lineno for statement in returns(definition)), default=line)
    return Location(line + origin.first_line - 1)
