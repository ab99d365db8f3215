"""What one submission did, as plain arrays and JSON: the only thing that crosses the sandbox border."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Fact = bool | int | float | str | None | list["Fact"]

MAX_EVENTS = 2000
"""Largest number of events kept for a scenario: a submission that loops must not fill the memory with them."""

MAX_TRACE_BYTES = 16 * 2**20
"""A right trace of any exercise is below 1 MiB; beyond this bound a trace is refused unread."""
MAX_WORDS_BYTES = 4 * 2**20
"""Of a trace: everything but its arrays."""


class TraceError(ValueError):
    """The bytes that came back are not a trace."""


@dataclass(frozen=True)
class Event:
    """Something the student's function did. Events are kept in order. Feedback uses them; marks do not."""

    kind: str
    """zero_grad, forward, backward, gradient (reached the first parameter), clip, step, scheduler."""
    line: int | None = None
    """Line of the submission that caused it; None if no frame of the submission was on the stack."""
    call: int = 0
    """Which call of the student's function, from 0."""
    batch: int | None = None
    """For a forward: which of the scenario's batches went in."""
    state: int = 0
    """Index of the parameter state it found: how many had been recorded before that one."""
    point: int | None = None
    """For a forward at parameters that are no state (SAM's w + e): their row in the evidence `points`."""
    by_hand: bool = False
    """For a backward that hands the gradients over (`torch.autograd.grad`) instead of leaving them in `.grad`."""
    gradients: Literal["none", "zero", "set"] | None = None
    """For a step: what the optimizer found in `.grad`: nothing anywhere, only zeros, or numbers."""


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
    own: bool = False
    """Whether a `raise` (or an `assert`) of the submission itself raised it: its message is the learner's."""

    @property
    def out_of_memory(self) -> bool:
        """Whether the code asked for more memory than there is."""
        if {"MemoryError", "OutOfMemoryError"} & set(self.bases):
            return True
        message = self.message.lower()  # torch on the CPU raises a RuntimeError, mmap an OSError
        starved = any(sign in message for sign in ("allocate memory", "out of memory", "not enough memory"))
        return starved and bool({"RuntimeError", "OSError"} & set(self.bases))


@dataclass(frozen=True)
class Parameter:
    """One of the watched model's parameters."""

    name: str
    size: int
    """Its number of elements."""


@dataclass
class Run:
    """What was observed in one scenario.

    The array `theta` holds the watched model's parameters, shape (states, elements of all parameters): row 0 as they
    were at the start, then one row for each time they had changed, which is after each update. Two runs are the same
    when all their arrays, facts and failures are.
    """

    arrays: dict[str, Array] = field(default_factory=dict)
    """Compared with the solution's, within the scenario's tolerance. Besides `theta` they are what the driver recorded:
    `returned` (one number for each call), `rates`, `buffers/…`."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """Compared exactly."""
    evidence: dict[str, Array] = field(default_factory=dict)
    """Never compared: what a diagnosis is worded from. `lr`: learning rate of each element of `theta`, in its shape;
    `points` (points x elements): parameters at forward passes between two states; `gradients_left`: one bool."""
    parameters: list[Parameter] = field(default_factory=list)
    """What the last axis of `theta` is made of, in its order."""
    events: list[Event] = field(default_factory=list)
    failure: Failure | None = None
    complete: bool = True
    """False when it was broken off because its states differed from another run's. Only a known mistake's run, which is
    made only to be compared, is ever broken off; a submission's run is always complete."""


@dataclass
class Trace:
    """All scenarios of one exercise."""

    runs: dict[str, Run] = field(default_factory=dict)
    seconds: float = 0.0
    load_failure: Failure | None = None
    """The submission could not even be loaded, or its function is not there."""
    warnings: list[str] = field(default_factory=list)
    """Korean lines about imports that failed and the like: they cost nothing."""


@dataclass
class _RunWords:
    """A run without its arrays, as it crosses the border."""

    facts: dict[str, Any]
    parameters: list[Parameter]
    events: list[Event]
    failure: Failure | None


@dataclass
class _TraceWords:
    """A trace without its arrays, as it crosses the border."""

    runs: dict[str, _RunWords]
    seconds: float
    load_failure: Failure | None
    warnings: list[str]


def to_bytes(trace: Trace) -> bytes:
    """One safetensors blob: arrays under `run/a/name` and `run/e/name`, the rest as JSON in its metadata."""
    from safetensors.numpy import save

    arrays: dict[str, Array] = {}
    for name, run in trace.runs.items():
        for key, value in run.arrays.items():
            arrays[f"{name}/a/{key}"] = np.ascontiguousarray(value)
        for key, value in run.evidence.items():
            arrays[f"{name}/e/{key}"] = np.ascontiguousarray(value)
    runs = {n: _RunWords(r.facts, r.parameters, r.events, r.failure) for n, r in trace.runs.items()}
    words = _TraceWords(runs, trace.seconds, trace.load_failure, trace.warnings)
    # `json`, not msgspec: a student's text may hold halves of surrogate pairs, which are an error only to msgspec.
    return bytes(save(arrays, metadata={"trace": json.dumps(words, default=vars)}))


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
        if header_size > MAX_WORDS_BYTES:  # before it is parsed
            raise TraceError(f"{header_size} bytes of text")
        header = json.loads(blob[8 : 8 + header_size])
        words = msgspec.convert(json.loads(header["__metadata__"]["trace"]), _TraceWords)
        trace = Trace({}, words.seconds, words.load_failure, words.warnings)
        for name, run in words.runs.items():
            facts = {key: _fact(value) for key, value in run.facts.items()}
            trace.runs[name] = Run(
                facts=facts, parameters=run.parameters, events=run.events, failure=run.failure
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
