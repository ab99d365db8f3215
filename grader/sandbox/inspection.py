"""Refuse traces that no recorder can have written: what comes out of a sandbox may be forged from end to end.

Judging loops over the numbers in a trace and shows its texts, so a forged trace must not make it loop a billion times
or show a text without end. The bounds here are the recorder's own, or far above what any exercise records.
"""

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
_MAX_DEPTH = 8
"""Maximum number of lists inside each other in a fact."""
_MAX_AXES = 4
"""Maximum number of axes of an array."""


def refuse_implausible(trace: Trace) -> None:
    """Refuse a trace with numbers, texts or arrays that are too large, or of a kind or shape that no recorder makes.

    Raises:
        TraceError: no recorder can have written this trace.
    """
    if len(trace.runs) > _MAX_SCENARIOS:
        raise TraceError("too many scenarios")
    for run in trace.runs.values():
        _refuse_implausible_run(run)
    for failure in (trace.load_failure, *(run.failure for run in trace.runs.values())):
        if failure is not None and not _is_plausible(failure):
            raise TraceError("a failure out of range")
    if len(trace.warnings) > _MAX_ENTRIES or any(
        len(warning) > _MAX_WARNING_CHARS for warning in trace.warnings
    ):
        raise TraceError("too many warnings, or one too long")


def _refuse_implausible_run(run: Run) -> None:
    """Raise TraceError if something in a run, other than its failure, cannot have been recorded."""
    if len(run.events) > MAX_EVENTS or any(_is_nested_too_deeply(fact) for fact in run.facts.values()):
        raise TraceError("too many events, or a fact too deep")
    for event in run.events:
        if not _is_in_range(event):
            raise TraceError(f"an event out of range: {event}")
    if max(len(run.arrays), len(run.evidence), len(run.facts)) > _MAX_ENTRIES:
        raise TraceError("too many arrays or facts")
    if any(len(name) > _MAX_NAME_CHARS for name in (*run.arrays, *run.evidence, *run.facts)):
        raise TraceError("a name that no recorder gave")
    if len(run.parameters) > _MAX_PARAMETERS:
        raise TraceError("too many parameters")
    if any(
        len(parameter.name) > _MAX_NAME_CHARS or not 0 <= parameter.size <= _MAX_PARAMETER_SIZE
        for parameter in run.parameters
    ):
        raise TraceError("a parameter that no model has")
    _refuse_misshapen_arrays(run)


def _is_in_range(event: Event) -> bool:
    """Return True if all numbers of an event are within the recorder's bounds; -1 is the state before the first one."""
    numbers = (event.call, event.state, event.line or 0, event.batch or 0, event.point or 0)
    return min(numbers) >= -1 and max(event.call, event.state) <= MAX_EVENTS and max(numbers) <= _MAX_NUMBER


def _refuse_misshapen_arrays(run: Run) -> None:
    """Raise TraceError unless all arrays hold plain numbers on few axes, and the two tables below are tables.

    `theta` holds the flat parameters and `lr` the learning rates; each has a row for each state of the model.
    """
    for name, value in (*run.arrays.items(), *run.evidence.items()):
        if value.dtype.kind not in "biuf" or value.ndim > _MAX_AXES:  # bool, int, unsigned int, float
            raise TraceError(f"{name}: {value.dtype} with {value.ndim} axes")
    for table in (run.arrays.get("theta"), run.evidence.get("lr")):
        if table is not None and (table.ndim != 2 or table.dtype != np.float64 or not len(table)):
            raise TraceError("states that are no table of numbers")


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
