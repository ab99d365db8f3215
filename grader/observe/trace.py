"""What one submission did, as plain arrays and JSON: the only thing that crosses the sandbox border."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Fact = bool | int | float | str | None | list["Fact"]

MAX_TRACE_BYTES = 16 * 2**20
"""A right trace of any exercise is below 1 MiB; beyond this bound a trace is refused unread."""


class TraceError(ValueError):
    """The bytes that came back are not a trace."""


@dataclass(frozen=True)
class Event:
    """Something the student's function did, in order: it words the feedback and never decides a mark."""

    kind: str
    """zero_grad, forward, backward, gradient (reached the first parameter), clip, step, scheduler."""
    line: int | None = None
    """Line of the submission it came from, where a frame of it was on the stack."""
    call: int = 0
    """Which call of the student's function, from 0."""
    batch: int | None = None
    """For a forward: which of the scenario's batches went in."""
    state: int = 0
    """How many parameter states had been recorded before it (index of the current one)."""
    note: str = ""
    """On step: `grad none`, `grad zero`, `grad set`: what the optimizer found. On backward: `by hand`, where it handed
    the gradients over (`torch.autograd.grad`). On forward: `at 3`, where the
    parameters were no state but that row of the evidence `points` (SAM's w + e)."""


@dataclass(frozen=True)
class Failure:
    """The student's code raised."""

    type: str
    bases: tuple[str, ...]
    """Names of all exception classes it is an instance of, its own first."""
    message: str
    line: int | None = None
    """Deepest line of the submission on the stack."""
    call: int = 0


@dataclass
class Run:
    """What was observed in one scenario."""

    arrays: dict[str, Array] = field(default_factory=dict)
    """Compared with the solution's, within the scenario's tolerance."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """Compared exactly."""
    evidence: dict[str, Array] = field(default_factory=dict)
    """Never compared: what a diagnosis is worded from (learning rates, names and sizes of the parameters)."""
    labels: list[str] = field(default_factory=list)
    """A name for each element group of the arrays' last axis: `0.weight 24`."""
    events: list[Event] = field(default_factory=list)
    failure: Failure | None = None
    complete: bool = True
    """False when it was broken off because its states had left another run's (a known mistake's run, which
    is only made to be compared; a submission's is always complete)."""


@dataclass
class Trace:
    """All scenarios of one exercise."""

    runs: dict[str, Run] = field(default_factory=dict)
    seconds: float = 0.0
    load_failure: Failure | None = None
    """The submission could not even be loaded, or its function is not there."""
    warnings: list[str] = field(default_factory=list)
    """Korean lines about imports that failed and the like: they cost nothing."""


def to_bytes(trace: Trace) -> bytes:
    """One safetensors blob: arrays under `run/a/name` and `run/e/name`, the rest as JSON in its metadata."""
    from safetensors.numpy import save

    arrays: dict[str, Array] = {}
    runs: dict[str, Any] = {}
    for name, run in trace.runs.items():
        for key, value in run.arrays.items():
            arrays[f"{name}/a/{key}"] = np.ascontiguousarray(value)
        for key, value in run.evidence.items():
            arrays[f"{name}/e/{key}"] = np.ascontiguousarray(value)
        runs[name] = {
            "facts": run.facts,
            "labels": run.labels,
            "events": [[e.kind, e.line, e.call, e.batch, e.state, e.note] for e in run.events],
            "failure": _failure_to_json(run.failure),
        }
    document = {
        "runs": runs,
        "seconds": trace.seconds,
        "load_failure": _failure_to_json(trace.load_failure),
        "warnings": trace.warnings,
    }
    return bytes(save(arrays, metadata={"trace": json.dumps(document)}))


def from_bytes(blob: bytes) -> Trace:
    """Read what `to_bytes` wrote, trusting nothing in it.

    Raises:
        TraceError: the blob is too large, is no safetensors file, or does not have the shape of a trace.
    """
    if len(blob) > MAX_TRACE_BYTES:
        raise TraceError(f"trace of {len(blob)} bytes; at most {MAX_TRACE_BYTES} are read")
    try:
        from safetensors.numpy import load

        header_size = int.from_bytes(blob[:8], "little")
        header = json.loads(blob[8 : 8 + header_size])
        document = json.loads(header["__metadata__"]["trace"])
        trace = Trace(
            seconds=float(document["seconds"]),
            load_failure=_failure_from_json(document["load_failure"]),
            warnings=[str(w) for w in document["warnings"]],
        )
        for name, run in document["runs"].items():
            trace.runs[name] = Run(
                facts={str(k): _fact(v) for k, v in run["facts"].items()},
                labels=[str(label) for label in run["labels"]],
                events=[_event(e) for e in run["events"]],
                failure=_failure_from_json(run["failure"]),
            )
        for key, value in load(blob).items():
            name, kind, field_name = key.split("/", 2)
            target = trace.runs[name].arrays if kind == "a" else trace.runs[name].evidence
            target[field_name] = value
    except Exception as error:  # whatever a forged blob trips over, it is no trace
        raise TraceError(f"not a trace: {type(error).__name__}: {error}") from error
    return trace


def _fact(value: Any) -> Fact:
    if isinstance(value, list):
        return [_fact(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TraceError(f"a fact may not be a {type(value).__name__}")


def _event(fields: list[Any]) -> Event:
    kind, line, call, batch, state, note = fields
    return Event(str(kind), _optional_int(line), int(call), _optional_int(batch), int(state), str(note))


def _optional_int(value: Any) -> int | None:
    return None if value is None else int(value)


def _failure_to_json(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {
        "type": failure.type,
        "bases": list(failure.bases),
        "message": failure.message,
        "line": failure.line,
        "call": failure.call,
    }


def _failure_from_json(document: Mapping[str, Any] | None) -> Failure | None:
    if document is None:
        return None
    return Failure(
        type=str(document["type"]),
        bases=tuple(str(b) for b in document["bases"]),
        message=str(document["message"]),
        line=_optional_int(document["line"]),
        call=int(document["call"]),
    )
