"""Define the trace: what one program did in an exercise, as plain arrays and JSON.

`play.py` makes it, the recorder fills its runs, `judging/` compares them with the solution's. A trace is all that comes
out of the sandbox about a program's behaviour, and it may be forged. `to_bytes` serializes it, `from_bytes` reads it;
nothing is pickled. What is too large to be honest is refused by `sandbox/trace_bounds.py`.

To add a field of a run, an event or a failure, see "A field of a run" in grader/ADDING.md.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from grader.observe.printed import Printed

Array = NDArray[Any]
Fact = bool | int | float | str | None | list["Fact"]
"""A value that JSON can hold, and that is compared exactly."""

MAX_EVENTS = 2000
"""Maximum number of events kept for a scenario, so that a submission that loops does not fill the memory with them."""

MAX_MESSAGE_CHARS = 2000
"""Maximum characters of an exception's message; `program.describe_failure` cuts it."""
MAX_CLASS_NAME_CHARS = 200
"""Maximum characters of the name of an exception's class; `program.describe_failure` cuts it."""

MAX_TRACE_BYTES = 16 * 2**20
"""Maximum bytes of a serialized trace; a larger one is refused unread. A right trace of any exercise is below 1 MiB."""
MAX_TEXT_BYTES = 4 * 2**20
"""Maximum bytes of the JSON in a serialized trace: all of it but its arrays."""


class TraceError(ValueError):
    """The bytes are no trace that a recorder can have written."""


@dataclass(frozen=True)
class Event:
    """One thing that the learner's function did. Events are kept in order; feedback uses them, marks do not."""

    kind: str
    """`zero_grad`, `forward`, `backward`, `gradient` (a gradient reached the first trainable parameter), `clip`,
    `first_step` (SAM's climb to w + e), `second_step` (its way back to w; the `step` follows), `step` or
    `scheduler`."""
    line: int | None = None
    """Line of the submission that caused it; None if no frame of the submission was on the stack."""
    call: int = 0
    """Index of the call of the learner's function, from 0."""
    batch: int | None = None
    """For a forward: index of the scenario's batch that went in; None if it is none of them."""
    state: int = 0
    """Index of the parameter state (row of `theta`) at that moment; -1 before the first one."""
    point: int | None = None
    """For a forward at parameters that are not a state (SAM's w + e): their row in the evidence `points`."""
    by_hand: bool = False
    """For a backward: True if it returns the gradients (`torch.autograd.grad`) instead of leaving them in `.grad`."""
    gradients: Literal["none", "zero", "set"] | None = None
    """For a step or `zero_grad`: what it found in `.grad`: nothing anywhere, only zeros, or numbers."""


@dataclass(frozen=True)
class Failure:
    """An exception raised by the learner's code."""

    type: str
    """Name of the exception's class."""
    bases: tuple[str, ...]
    """Names of all classes of which it is an instance (its class and the base classes), its own first."""
    message: str
    line: int | None = None
    """Deepest line of the submission that the exception passed through; None if there is none."""
    call: int = 0
    """Index of the call of the learner's function, from 0."""
    own: bool = False
    """True if a `raise` or `assert` of the submission raised it, so that the message is the learner's own."""

    @property
    def out_of_memory(self) -> bool:
        """True if it says that the code asked for more memory than there is."""
        if {"MemoryError", "OutOfMemoryError"} & set(self.bases):
            return True
        message = self.message.lower()  # torch on the CPU raises a RuntimeError, mmap an OSError
        tells = any(phrase in message for phrase in ("allocate memory", "out of memory", "not enough memory"))
        return tells and bool({"RuntimeError", "OSError"} & set(self.bases))


@dataclass(frozen=True)
class Parameter:
    """One parameter of the watched model."""

    name: str
    size: int
    """Its number of elements."""


@dataclass
class Run:
    """Everything observed while one program was played in one scenario.

    The array `theta` holds the flat parameters of the watched model, shape (states, elements of all parameters). Row 0
    is the start, and each update, that is, each change of the parameters, adds a row. Two runs are the same if their
    arrays, facts and failures are the same.
    """

    arrays: dict[str, Array] = field(default_factory=dict)
    """Arrays that are compared with the solution's, within the scenario's tolerance: `theta`, and those that the driver
    recorded, such as `returned` (one number for each call), `rates`, `buffers/…`."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """Values that are compared exactly."""
    evidence: dict[str, Array] = field(default_factory=dict)
    """Arrays that are never compared, but used to word a diagnosis:
    `lr`: learning rate of each element of `theta`, in its shape;
    `points`: flat parameters at forward passes between two states, shape (points, elements);
    `gradients_left`: one bool, True if some parameter still holds a gradient that is not zero."""
    parameters: list[Parameter] = field(default_factory=list)
    """The parameters that make up the last axis of `theta`, in order."""
    events: list[Event] = field(default_factory=list)
    """What the learner's function did, in order."""
    failure: Failure | None = None
    """The exception that ended the scenario; None if there was none."""
    complete: bool = True
    """False if the run was broken off at the first state that differed from another run's. Only runs of known mistakes,
    which are played to be compared with a submission's run, are broken off; a submission's run is always complete."""
    printed: Printed | None = None
    """What the learner's function printed; shown, never compared. None if nothing."""


@dataclass
class Trace:
    """The runs of all scenarios of one exercise."""

    runs: dict[str, Run] = field(default_factory=dict)
    """Name of the scenario -> its run, in the order played."""
    seconds: float = 0.0
    """Wall time of playing all scenarios."""
    load_failure: Failure | None = None
    """Set if this failure is all there is to judge; there are no runs then.

    Most often the program could not be loaded, or its function is missing. In the sandbox, there are two other causes:
    the program replaced something of torch's or the grader's while it was played, or it raised an exception that no
    recorder catches (KeyboardInterrupt, or a BaseException of its own)."""
    warnings: list[str] = field(default_factory=list)
    """Korean lines about imports that failed and the like; they cost no points."""


@dataclass
class _RunText:
    """A run without its arrays, as it is serialized."""

    facts: dict[str, Any]
    parameters: list[Parameter]
    events: list[Event]
    failure: Failure | None
    printed: Printed | None


@dataclass
class _TraceText:
    """A trace without its arrays, as it is serialized."""

    runs: dict[str, _RunText]
    seconds: float
    load_failure: Failure | None
    warnings: list[str]


def to_bytes(trace: Trace) -> bytes:
    """Serialize a trace as one safetensors blob.

    Compared arrays are stored under `SCENARIO/a/NAME`, evidence under `SCENARIO/e/NAME`, and the rest as JSON in the
    metadata.
    """
    from safetensors.numpy import save

    arrays: dict[str, Array] = {}
    for name, run in trace.runs.items():
        for key, value in run.arrays.items():
            arrays[f"{name}/a/{key}"] = np.ascontiguousarray(value)
        for key, value in run.evidence.items():
            arrays[f"{name}/e/{key}"] = np.ascontiguousarray(value)
    runs = {
        name: _RunText(run.facts, run.parameters, run.events, run.failure, run.printed)
        for name, run in trace.runs.items()
    }
    text = _TraceText(runs, trace.seconds, trace.load_failure, trace.warnings)
    # `json`, not msgspec, because a learner's text may hold lone surrogates, which msgspec refuses.
    return bytes(save(arrays, metadata={"trace": json.dumps(text, default=vars)}))


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
        if header_size > MAX_TEXT_BYTES:  # checked first, because parsing takes time and memory
            raise TraceError(f"{header_size} bytes of text")
        header = json.loads(blob[8 : 8 + header_size])
        text = msgspec.convert(json.loads(header["__metadata__"]["trace"]), _TraceText)
        trace = Trace({}, text.seconds, text.load_failure, text.warnings)
        for name, run in text.runs.items():
            trace.runs[name] = _run_without_arrays(run)
        for key, value in load(blob).items():
            name, kind, field_name = key.split("/", 2)
            arrays = trace.runs[name].arrays if kind == "a" else trace.runs[name].evidence
            arrays[field_name] = value
    except Exception as error:  # a forged blob may fail anywhere
        raise TraceError(f"not a trace: {type(error).__name__}: {error}") from error
    return trace


def _run_without_arrays(text: _RunText) -> Run:
    """Return what was read from JSON as a run; raise TraceError if no recorder can have written it."""
    facts = {name: _checked_fact(value) for name, value in text.facts.items()}
    if text.printed is not None and not text.printed.is_genuine:
        raise TraceError(f"output of {text.printed.lines} lines, {len(text.printed.text)} characters")
    return Run(
        facts=facts,
        parameters=text.parameters,
        events=text.events,
        failure=text.failure,
        printed=text.printed,
    )


def _checked_fact(value: Any) -> Fact:
    """Return a value read from JSON as a fact; raise TraceError if it is of another type."""
    if isinstance(value, list):
        return [_checked_fact(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TraceError(f"a fact may not be a {type(value).__name__}")
