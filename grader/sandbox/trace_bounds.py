"""Refuse traces that exceed the bounds of what recorders write, because what comes out of a sandbox may be forged.

Judging loops over the numbers in a trace and shows its texts, so a forged trace must not make it loop a billion times
or show a text without end. The bounds here are the recorder's own, or far above what any exercise records. Two kinds of
texts are bounded elsewhere: `judging/first_difference.py fact_text` shortens facts when it shows them, and
`observe/trace.py from_bytes` checks `printed`.

`sandbox.py` and `attempts.py` read every trace by `read_bounded`. Example: an event at line 1,000,000,000 is refused
with "an event out of range".

To bound something new, add a constant with its reason, a condition to the `_check_…` function for what it bounds, and a
case to `tests/sandbox/test_trace_bounds.py`.
"""

import numpy as np

from grader.observe.trace import (
    MAX_CLASS_NAME_CHARS,
    MAX_EVENTS,
    MAX_MESSAGE_CHARS,
    Event,
    Fact,
    Failure,
    Run,
    Trace,
    TraceError,
    from_bytes,
)

_MAX_SCENARIOS = 100
"""Maximum number of scenarios of an exercise; the exercises have fewer than thirty."""
_MAX_ENTRIES = 200
"""Maximum number of a run's arrays, of its evidence and of its facts, of a trace's warnings, and of an exception's
classes (`Failure.bases`); an exercise records a dozen of each."""
_MAX_NAME_CHARS = 500
"""Maximum characters of the name of an array, a fact, a parameter or a kind of event; drivers use far fewer."""
_MAX_PARAMETERS = 500
"""Maximum number of parameters of a model, far above what our small models have."""
_MAX_PARAMETER_SIZE = 10**7
"""Maximum number of elements of a parameter; our models have far fewer."""
_MAX_WARNING_CHARS = 3000
"""Maximum characters of a warning. It names an import and quotes an exception: `observe/program.py` cuts both."""
_MAX_NUMBER = 10**6
"""Maximum of a line number, and of the `batch` and `point` of an event."""
_MIN_EVENT_NUMBER = -1
"""Minimum of the numbers of an event: the recorder writes -1 for the state before the first one."""
_MAX_DEPTH = 8
"""Maximum number of lists inside each other in a fact."""
_MAX_AXES = 4
"""Maximum number of axes of an array."""
_NUMBER_KINDS = "biuf"
"""Allowed `dtype.kind` of an array: booleans, signed and unsigned integers, floats."""


def read_bounded(trace_bytes: bytes) -> Trace:
    """Return the trace that a child sent, if it is one that a recorder may have written.

    Raises:
        TraceError: the bytes are no trace (`from_bytes`), or the trace exceeds a bound (`refuse_implausible`).
    """
    trace = from_bytes(trace_bytes)
    refuse_implausible(trace)
    return trace


def refuse_implausible(trace: Trace) -> None:
    """Refuse a trace with numbers, texts, lists or arrays beyond the bounds of this module.

    Raises:
        TraceError: the trace exceeds a bound; the text names the first that was found.
    """
    if len(trace.runs) > _MAX_SCENARIOS:
        raise TraceError("too many scenarios")
    if len(trace.warnings) > _MAX_ENTRIES or any(
        len(warning) > _MAX_WARNING_CHARS for warning in trace.warnings
    ):
        raise TraceError("too many warnings, or one too long")
    if trace.load_failure is not None:
        _check_failure(trace.load_failure)
    for run in trace.runs.values():
        _check_entries(run)
        _check_arrays(run)
        for event in run.events:
            _check_event(event)
        if run.failure is not None:
            _check_failure(run.failure)


def _check_entries(run: Run) -> None:
    """Raise TraceError if a run has too many events, arrays, facts or parameters, or if one is too long or large."""
    if len(run.events) > MAX_EVENTS:
        raise TraceError("too many events")
    if max(len(run.arrays), len(run.evidence), len(run.facts)) > _MAX_ENTRIES:
        raise TraceError("too many arrays or facts")
    if any(len(name) > _MAX_NAME_CHARS for name in (*run.arrays, *run.evidence, *run.facts)):
        raise TraceError("a name that no recorder gave")
    if any(_is_nested_too_deeply(fact) for fact in run.facts.values()):
        raise TraceError("a fact too deep")
    if len(run.parameters) > _MAX_PARAMETERS:
        raise TraceError("too many parameters")
    if any(
        len(parameter.name) > _MAX_NAME_CHARS or not 0 <= parameter.size <= _MAX_PARAMETER_SIZE
        for parameter in run.parameters
    ):
        raise TraceError("a parameter that no model has")


def _check_arrays(run: Run) -> None:
    """Raise TraceError if an array does not hold numbers, or does not have the shape that a recorder gives it.

    `theta`, which holds the flat parameters, and `lr`, which holds their learning rates, must be tables of float64 with
    a row for each state of the model.
    """
    for name, value in (*run.arrays.items(), *run.evidence.items()):
        if value.dtype.kind not in _NUMBER_KINDS or value.ndim > _MAX_AXES:
            raise TraceError(f"{name}: {value.dtype} with {value.ndim} axes")
    for name, table in (("theta", run.arrays.get("theta")), ("lr", run.evidence.get("lr"))):
        if table is not None and (table.ndim != 2 or table.dtype != np.float64 or not len(table)):
            raise TraceError(f"{name} is no table with a row for each state")


def _check_event(event: Event) -> None:
    """Raise TraceError if a number or a text of an event is out of range."""
    numbers = (event.call, event.state, event.line or 0, event.batch or 0, event.point or 0)
    if (
        min(numbers) < _MIN_EVENT_NUMBER
        or max(event.call, event.state) > MAX_EVENTS
        or max(numbers) > _MAX_NUMBER
        or len(event.kind) > _MAX_NAME_CHARS
    ):
        raise TraceError("an event out of range")


def _check_failure(failure: Failure) -> None:
    """Raise TraceError if a number or a text of a failure is out of range."""
    class_names = (failure.type, *failure.bases)
    if (
        len(failure.message) > MAX_MESSAGE_CHARS
        or not 0 <= (failure.line or 0) <= _MAX_NUMBER
        or not 0 <= failure.call <= MAX_EVENTS
        or len(class_names) > _MAX_ENTRIES
        or any(len(name) > MAX_CLASS_NAME_CHARS for name in class_names)
    ):
        raise TraceError("a failure out of range")


def _is_nested_too_deeply(fact: Fact, max_depth: int = _MAX_DEPTH) -> bool:
    """Return True if a fact consists of more than `max_depth` lists inside each other."""
    return isinstance(fact, list) and (
        max_depth == 0 or any(_is_nested_too_deeply(item, max_depth - 1) for item in fact)
    )
