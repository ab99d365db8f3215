"""Refuse traces that no recorder can have written: what comes out of a sandbox may be forged from end to end."""

import numpy as np

from grader.observe.trace import MAX_EVENTS, Fact, Failure, Run, Trace, TraceError

_MAX_NAMES = 200
"""Maximum number of arrays, facts, warnings and base classes each; an exercise records a dozen."""
_MAX_NAME_CHARS = 500
"""Maximum characters of the name of an array, a fact or a parameter, far above what drivers and our models have."""
_MAX_PARAMETERS = 500
"""Maximum number of parameters of a model, far above what our small models have."""
_MAX_WARNING_CHARS = 3000
"""Maximum characters of a warning; the recorder cuts the message in it to 2000."""


def refuse_oversized(trace: Trace) -> None:
    """Refuse a trace with numbers out of range: judging loops over them, and must not loop a billion times.

    The bounds are the recorder's own, or far above what any exercise records.

    Raises:
        TraceError: no recorder can have written this trace.
    """
    if len(trace.runs) > 100:
        raise TraceError("too many scenarios")
    failures = [trace.load_failure]
    for run in trace.runs.values():
        failures.append(run.failure)
        if len(run.events) > MAX_EVENTS or any(_nested_too_deeply(fact) for fact in run.facts.values()):
            raise TraceError("too many events, or a fact too deep")
        for event in run.events:
            numbers = (event.call, event.state, event.line or 0, event.batch or 0, event.point or 0)
            # -1 is the state before anything is watched.
            if min(numbers) < -1 or max(event.call, event.state) > MAX_EVENTS or max(numbers) > 10**6:
                raise TraceError(f"an event out of range: {event}")
        if max(len(run.arrays), len(run.evidence), len(run.facts)) > _MAX_NAMES:
            raise TraceError("too many arrays or facts")
        if any(len(name) > _MAX_NAME_CHARS for name in (*run.arrays, *run.evidence, *run.facts)):
            raise TraceError("a name that no recorder gave")
        if len(run.parameters) > _MAX_PARAMETERS:
            raise TraceError("too many parameters")
        if any(len(p.name) > _MAX_NAME_CHARS or not 0 <= p.size < 10**7 for p in run.parameters):
            raise TraceError("a parameter that no model has")
        _refuse_misshapen(run)
    for failure in failures:
        if failure is not None and not _plausible(failure):
            raise TraceError("a failure out of range")
    if len(trace.warnings) > _MAX_NAMES or any(
        len(warning) > _MAX_WARNING_CHARS for warning in trace.warnings
    ):
        raise TraceError("too many warnings")


def _refuse_misshapen(run: Run) -> None:
    """Raise TraceError unless all arrays are numbers of at most 4 axes, and the states a table of float64."""
    for name, value in (*run.arrays.items(), *run.evidence.items()):
        if value.dtype.kind not in "biuf" or value.ndim > 4:
            raise TraceError(f"{name}: {value.dtype} with {value.ndim} axes")
    states = [run.arrays.get("theta"), run.evidence.get("lr")]
    if any(s is not None and (s.ndim != 2 or s.dtype != np.float64 or not len(s)) for s in states):
        raise TraceError("states that are no table of numbers")


def _plausible(failure: Failure) -> bool:
    """Return True if all texts and numbers of a failure are within the recorder's bounds."""
    names = (failure.type, *failure.bases)
    return (
        len(failure.message) <= 2000
        and 0 <= (failure.line or 0) <= 10**6
        and 0 <= failure.call <= MAX_EVENTS
        and len(names) <= _MAX_NAMES
        and all(len(name) <= 200 for name in names)
    )


def _nested_too_deeply(fact: Fact, depth: int = 8) -> bool:
    """Return True if a fact is nested more than `depth` lists deep."""
    return isinstance(fact, list) and (
        depth == 0 or any(_nested_too_deeply(item, depth - 1) for item in fact)
    )
