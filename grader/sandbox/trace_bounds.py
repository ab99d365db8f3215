"""Refuse traces that no recorder can have written: what comes out of a sandbox may be forged from end to end.

Judging loops over the numbers in a trace and shows its texts, so a forged trace must not make it loop a billion times
or show a text without end. The bounds here are the recorder's own, or far above what any exercise records.

Example: an event at line 1,000,000,000 is refused with "an event out of range", before anything loops to that line.

To bound something new, add a constant with its reason, and a line to the `_…_problems` function for what it bounds.
"""

from collections.abc import Iterator

import numpy as np

from grader.observe.trace import MAX_EVENTS, Event, Fact, Failure, Run, Trace, TraceError

_MAX_SCENARIOS = 100
"""Maximum number of scenarios of an exercise; the exercises have fewer than thirty."""
_MAX_ENTRIES = 200
"""Maximum number of arrays, of facts, of warnings and of an exception's base classes; an exercise records a dozen."""
_MAX_NAME_CHARS = 500
"""Maximum characters of the name of an array, a fact or a parameter, far above what drivers and our models have."""
_MAX_PARAMETERS = 500
"""Maximum number of parameters of a model, far above what our small models have."""
_MAX_PARAMETER_SIZE = 10**7
"""Maximum number of elements of a parameter; our models have far fewer."""
_MAX_WARNING_CHARS = 3000
"""Maximum characters of a warning; the recorder cuts the message in it to 2000."""
_MAX_MESSAGE_CHARS = 2000
"""Maximum characters of an exception's message; the recorder cuts it to this length."""
_MAX_TYPE_CHARS = 200
"""Maximum characters of the name of an exception's class."""
_MAX_NUMBER = 10**6
"""Maximum of a line number, and of the numbers of an event that have no smaller bound."""
_MIN_EVENT_NUMBER = -1
"""Minimum of the numbers of an event: the recorder writes -1 for the state before the first one."""
_MAX_DEPTH = 8
"""Maximum number of lists inside each other in a fact."""
_MAX_AXES = 4
"""Maximum number of axes of an array."""
_NUMBER_KINDS = "biuf"
"""`dtype.kind` of the arrays that a recorder writes: booleans, signed and unsigned integers, floats."""


def refuse_implausible(trace: Trace) -> None:
    """Refuse a trace with numbers, texts or arrays that are too large, or of a kind or shape that no recorder makes.

    Raises:
        TraceError: no recorder can have written this trace; the text names the first problem.
    """
    problem = next(_trace_problems(trace), None)
    if problem is not None:
        raise TraceError(problem)


def _trace_problems(trace: Trace) -> Iterator[str]:
    """Yield what no recorder can have written in a trace, one thing after the other."""
    if len(trace.runs) > _MAX_SCENARIOS:
        yield "too many scenarios"
    for run in trace.runs.values():
        yield from _run_problems(run)
        yield from _array_problems(run)
    for failure in (trace.load_failure, *(run.failure for run in trace.runs.values())):
        if failure is not None and not _is_plausible(failure):
            yield "a failure out of range"
    if len(trace.warnings) > _MAX_ENTRIES or any(
        len(warning) > _MAX_WARNING_CHARS for warning in trace.warnings
    ):
        yield "too many warnings, or one too long"


def _run_problems(run: Run) -> Iterator[str]:
    """Yield what no recorder can have written in a run, other than its failure and the numbers in its arrays."""
    if len(run.events) > MAX_EVENTS:
        yield "too many events"
    if any(_is_nested_too_deeply(fact) for fact in run.facts.values()):
        yield "a fact too deep"
    for event in run.events:
        if not _is_in_range(event):
            yield f"an event out of range: {event}"
    if max(len(run.arrays), len(run.evidence), len(run.facts)) > _MAX_ENTRIES:
        yield "too many arrays or facts"
    if any(len(name) > _MAX_NAME_CHARS for name in (*run.arrays, *run.evidence, *run.facts)):
        yield "a name that no recorder gave"
    if len(run.parameters) > _MAX_PARAMETERS:
        yield "too many parameters"
    if any(
        len(parameter.name) > _MAX_NAME_CHARS or not 0 <= parameter.size <= _MAX_PARAMETER_SIZE
        for parameter in run.parameters
    ):
        yield "a parameter that no model has"


def _array_problems(run: Run) -> Iterator[str]:
    """Yield the arrays that hold no plain numbers or have too many axes, and the tables that are none.

    The tables are `theta`, which holds the flat parameters, and `lr`, which holds the learning rates: each has a row
    for each state of the model.
    """
    for name, value in (*run.arrays.items(), *run.evidence.items()):
        if value.dtype.kind not in _NUMBER_KINDS or value.ndim > _MAX_AXES:
            yield f"{name}: {value.dtype} with {value.ndim} axes"
    for table in (run.arrays.get("theta"), run.evidence.get("lr")):
        if table is not None and (table.ndim != 2 or table.dtype != np.float64 or not len(table)):
            yield "states that are no table of numbers"


def _is_in_range(event: Event) -> bool:
    """Return True if all numbers of an event are within the recorder's bounds."""
    numbers = (event.call, event.state, event.line or 0, event.batch or 0, event.point or 0)
    return (
        min(numbers) >= _MIN_EVENT_NUMBER
        and max(event.call, event.state) <= MAX_EVENTS
        and max(numbers) <= _MAX_NUMBER
    )


def _is_plausible(failure: Failure) -> bool:
    """Return True if all texts and numbers of a failure are within the recorder's bounds."""
    class_names = (failure.type, *failure.bases)
    return (
        len(failure.message) <= _MAX_MESSAGE_CHARS
        and 0 <= (failure.line or 0) <= _MAX_NUMBER
        and 0 <= failure.call <= MAX_EVENTS
        and len(class_names) <= _MAX_ENTRIES
        and all(len(name) <= _MAX_TYPE_CHARS for name in class_names)
    )


def _is_nested_too_deeply(fact: Fact, max_depth: int = _MAX_DEPTH) -> bool:
    """Return True if a fact consists of more than `max_depth` lists inside each other."""
    return isinstance(fact, list) and (
        max_depth == 0 or any(_is_nested_too_deeply(item, max_depth - 1) for item in fact)
    )
