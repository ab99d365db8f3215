"""Find the line of the learner's program that each explained mistake is about.

Four ways are tried, and the first that finds a line counts:

1. the line that raises, if the mistake is the cause of the exception,
2. the line that resembles the text that the mistake changes (`text_location`),
3. the line of an event of the kind that the mistake is about (`Mistake.at`),
4. the `return`, the method or the definition that the mistake is about.
"""

from grader.judging.compare_runs import has_same_cause
from grader.judging.edits import MistakeVariant, exercise_source
from grader.judging.event_orders import unpaired_events
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.origin import Origin
from grader.judging.reference import Reference
from grader.judging.text_location import Location, locate_in_text
from grader.observe.trace import Trace
from grader.submission.syntax import definition_of, methods, returns


def locate(
    explanation: Explanation, trace: Trace, reference: Reference, origin: Origin
) -> list[Location | None]:
    """Return one location for each of the explanation's mistakes, with lines of the program.

    None in the list: the learner's code does not define the exercise.

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
        (None if mistake.variant.mistake.only_near else _raising_line(mistake, trace, reference))
        or _resembling_line(mistake, explanation, reference, origin.source)
        or _event_line(mistake, trace, reference)
        or _line_of_definition(mistake, reference, origin)
    )


def _raising_line(mistake: ExplainedMistake, trace: Trace, reference: Reference) -> Location | None:
    """Return the line at which the learner's program raises, if the mistake is the cause; None otherwise.

    The mistake is the cause if its program fails for the same reason, in a line that the mistake changed. Where the
    reason is a None, the line may be any, because the None may come from an earlier line. An exception of the learner's
    own `raise` does not count.
    """
    wrong = reference.sources[mistake.variant.name]
    unchanged = exercise_source(reference.exercise).splitlines()
    for scenario in mistake.scenarios:
        raised = trace.runs[scenario].failure
        if raised is None or raised.line is None or raised.own:
            continue
        failure = reference.run_so_far(wrong, scenario).failure
        if failure is None or failure.line is None or not has_same_cause(raised, failure):
            continue
        if "NoneType" in raised.message or wrong.splitlines()[failure.line - 1] not in unchanged:
            return Location(raised.line)
    return None


def _resembling_line(
    mistake: ExplainedMistake, explanation: Explanation, reference: Reference, source: str
) -> Location | None:
    """Return the line that resembles what the mistake changes; None if none does.

    Variants of the mistake that behave alike are all compared, and the one that resembles the learner's text most
    decides: only the text can tell which of them the learner wrote.
    """
    alike = (mistake.variant, *reference.equivalent_variants(mistake.variant))
    locations = [_line_resembling(variant, explanation, reference, source) for variant in alike]
    found = [location for location in locations if location is not None]
    return max(found, key=lambda location: location.fit, default=None)


def _line_resembling(
    variant: MistakeVariant, explanation: Explanation, reference: Reference, source: str
) -> Location | None:
    """Return the line that resembles what this variant changes; None if there is none.

    The learner's text is compared with the solution and with the program of the variant. If the mistake has no `near`,
    both also make the learner's other mistakes, provided that the edits combine: then the text around the change is
    more like the learner's. (`near` is a line of the solution, which another mistake may change.)
    """
    exercise, mistake = reference.exercise, variant.mistake
    solution, wrong = exercise_source(exercise), reference.sources[variant.name]
    others = tuple(other for other in explanation.combination if other.mistake.id != mistake.id)
    with_others = reference.source_with_mistakes(others) if others else None
    if with_others and not mistake.near:
        all_variants = tuple(v for v in reference.variants if v == variant or v in others)  # in their order
        with_all = reference.source_with_mistakes(all_variants)
        if with_all:
            solution, wrong = with_others, with_all
    return locate_in_text(
        solution,
        wrong,
        source,
        exercise.name,
        at=mistake.at,
        near=mistake.near,
        only_near=mistake.only_near,
        side=mistake.side,
        with_other_mistakes=with_others or "",
    )


def _event_line(mistake: ExplainedMistake, trace: Trace, reference: Reference) -> Location | None:
    """Return the line of the learner's first event of the kind that the mistake is about; None if there is none.

    Events that the solution lacks come before all others.
    """
    runs = [(trace.runs[scenario], reference.solution_run(scenario)) for scenario in mistake.scenarios]
    superfluous = (event for run, solution in runs for event in unpaired_events(run, solution))
    all_events = (event for run, _ in runs for event in run.events)
    for event in (*superfluous, *all_events):
        if event.kind == mistake.variant.mistake.at and event.line is not None:
            return Location(event.line)
    return None


def _line_of_definition(mistake: ExplainedMistake, reference: Reference, origin: Origin) -> Location | None:
    """Return the line of the last `return`, of the method, or of the definition, as `Mistake.at` says.

    None if the learner's code does not define the exercise.
    """
    definition = definition_of(origin.source, reference.exercise.name)
    if definition is None:
        return None
    at = mistake.names[0].at  # the one whose title is shown first
    line = methods(definition).get(at.removeprefix("def "), definition).lineno
    if at == "return":
        line = max((statement.lineno for statement in returns(definition)), default=line)
    return Location(line + origin.first_line - 1)
