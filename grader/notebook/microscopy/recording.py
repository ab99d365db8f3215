"""Run one program in a situation of the microscope and record the whole state after everything it does.

Every relevant call (`zero_grad`, forward, loss, `backward`, clip, `step`, …) opens a moment, and so does every line of
the program. The next one, or the end of the call, closes it with a snapshot of the state; a line that changed nothing
is dropped.
"""

import inspect
import io
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.notebook.microscopy.situations import NAMES, SEED, Bench, mean_square
from grader.observe.noted_calls import note_before, noted_calls
from grader.observe.play import TimeLimit, restored_process_state
from grader.observe.program import STUDENT_ERRORS, Program, describe_failure
from grader.observe.trace import Failure

MOST_MOMENTS = 120
"""Maximum number of moments kept. A right program makes a tenth of them, and nobody could scrub through more."""
_MOST_LINES = 5_000
"""Maximum lines of the program that are traced; a run beyond is stopped as endless."""
Numbers = tuple[float, ...]
"""One number for each of the model's numbers, in the order of `NAMES`."""
Slots = tuple[float | None, ...]
"""The same, with None where there is no number."""


@dataclass(frozen=True)
class Snapshot:
    """Everything that a training step may change."""

    values: Numbers
    grads: Slots
    """The gradient's numbers; None for each number of a parameter whose `.grad` is None."""
    state: dict[str, Slots]
    """The optimizer's state: entry name (`momentum_buffer`) -> a number for each of the model's numbers."""
    rate: float
    mode: str
    loss: float | None
    """The loss that was computed last; None before the first."""
    scale: float | None
    """The GradScaler's scale; None without one."""


@dataclass(frozen=True)
class RecordedMoment:
    """One thing that the program did, and the state after it."""

    kind: str
    """`zero_grad`, `forward`, `loss`, `backward`, `clip`, `step`, …; empty for a line that changed something by hand.
    """
    line: int | None
    call: int
    """Index of the call of the function, from 0."""
    batches: tuple[int, ...]
    """For a forward pass: indices of the batches that went in, from 0."""
    after: Snapshot


@dataclass
class Recording:
    """Everything that one program did."""

    start: Snapshot
    moments: list[RecordedMoment] = field(default_factory=list)
    failure: Failure | None = None
    stopped: str = ""
    """Why the run was cut short: `lines`, `seconds` or `moments` for a limit reached, `crashed` for an exception that
    is no ordinary error; empty if it ran to its end or raised an ordinary error.
    """


class _NullOutput(io.TextIOBase):
    """Discards what the program prints; learners see it when they call `check`."""

    def write(self, text: str) -> int:
        return len(text)


class ProgramRecorder:
    """Records one program in one situation. `recording` holds what was seen so far, even if the program never ends."""

    def __init__(self, function: Callable[..., Any], program: Program, bench: Bench) -> None:
        self._function, self._program, self._bench = function, program, bench
        self._globals = getattr(inspect.unwrap(function), "__globals__", None)
        self._parameters = list(bench.model.parameters())
        self._sizes = [p.numel() for p in self._parameters]
        self._call = self._lines = 0
        self._loss: float | None = None
        self._open: tuple[str, int | None, tuple[int, ...]] | None = None
        self.recording = Recording(self._snapshot())
        self._last = self.recording.start
        bench.model.observer = self._forward
        bench.wrap_loss(self._loss_fn)
        for owner, method, kind in bench.noted:
            note_before(owner, method, lambda kind=kind: self._open_moment(kind))  # type: ignore[misc]
        # The pre-hook closes the moment that led up to the step. What has changed when the post-hook runs is the step's
        # doing, except for lines of a closure, which open and close moments of their own.
        bench.optimizer.register_step_pre_hook(lambda *_: self._close_moment())
        bench.optimizer.register_step_post_hook(lambda *_: self._stepped())

    def __deepcopy__(self, memo: dict[int, Any]) -> "ProgramRecorder":
        return self  # a program may copy the model, which refers to this observer

    def record(self) -> Recording:
        """Make all calls of the function. An error of the program ends up in the recording.

        Raises:
            TimeLimit: an outside time limit was reached; `recording` is complete up to there.
        """
        try:
            with restored_process_state(), redirect_stdout(_NullOutput()), self._tracing():
                _set_known_state()
                for number, (positional, keywords) in enumerate(self._bench.calls):
                    self._call = number
                    translating = self._program.cuda.translating(self._program.names)
                    with translating, noted_calls(self._function, self._noted):
                        self._function(*positional, **keywords)
                    self._close_moment()
        except STUDENT_ERRORS as error:
            self.recording.failure = describe_failure(error, self._program, self._call)
        except TimeLimit:
            self.recording.stopped = self.recording.stopped or "seconds"
            if self._lines <= _MOST_LINES:
                raise
        finally:
            self._close_moment()
        return self.recording

    # ---- observing the program -----------------------------------------------------------------------

    @contextmanager
    def _tracing(self) -> Iterator[None]:
        """Trace the lines of the program inside this context, and silence its warnings."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: types.FrameType, _event: str, _arg: Any) -> Any:
        return self._step if self._belongs_to_program(frame) else None

    def _step(self, frame: types.FrameType, event: str, _arg: Any) -> Any:
        """Open a moment for each line; stop a program that runs too many lines."""
        if event == "line":
            self._lines += 1
            if self._lines > _MOST_LINES:
                self.recording.stopped = "lines"
                raise TimeLimit
            self._open_moment("", frame.f_lineno)
        elif event == "return":
            self._close_moment()
        return self._step

    def _noted(self, kind: str, by_hand: bool) -> None:
        if kind != "gradient":  # this note only says where a backward pass hands over gradients
            self._open_moment(kind)

    def _forward(self, inputs: Tensor) -> None:
        self._open_moment("forward", None, self._batches_in(inputs))

    def _loss_fn(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self._open_moment("loss")
        loss = mean_square(outputs, targets)
        self._loss = float(loss.detach())
        return loss

    def _stepped(self) -> None:
        self._open = ("step", self._line(), ())
        self._close_moment()

    def _open_moment(self, kind: str, line: int | None = None, batches: tuple[int, ...] = ()) -> None:
        """Close the open moment and open the next one."""
        self._close_moment()
        self._open = (kind, self._line() if line is None else line, batches)

    def _close_moment(self) -> None:
        """Close the open moment and keep it, unless it is a line that changed nothing."""
        if self._open is None:
            return
        (kind, line, batches), self._open = self._open, None
        after = self._snapshot()
        if not kind and after == self._last:
            return
        self._last = after
        if len(self.recording.moments) >= MOST_MOMENTS:
            self.recording.stopped = self.recording.stopped or "moments"
            return
        self.recording.moments.append(RecordedMoment(kind, line, self._call, batches, after))

    def _line(self) -> int | None:
        """Return the innermost line of the program on the call stack; None if it is not running."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None:
            if self._belongs_to_program(frame):
                return frame.f_lineno
            frame = frame.f_back
        return None

    def _belongs_to_program(self, frame: types.FrameType) -> bool:
        """Decide by the file's name and by the globals, because several files may be called `<string>`."""
        return frame.f_globals is self._globals and self._program.owns(frame.f_code.co_filename)

    def _batches_in(self, inputs: Tensor) -> tuple[int, ...]:
        """Return the indices of the batches all of whose rows are in `inputs`, so that a
        concatenation counts for each.
        """
        rows = inputs.detach().double()
        if rows.ndim != 2 or rows.shape[1] != self._bench.batches[0][0].shape[1]:
            return ()
        there = [bool((row == rows).all(1).any()) for xb, _ in self._bench.batches for row in xb]
        sizes = [len(xb) for xb, _ in self._bench.batches]
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        return tuple(
            n
            for n, (start, size) in enumerate(zip(starts, sizes, strict=True))
            if all(there[start : start + size])
        )

    # ---- reading the state ---------------------------------------------------------------------------

    def _snapshot(self) -> Snapshot:
        """Return the current state of model, optimizer and scaler."""
        bench = self._bench
        values = tuple(v for p, n in zip(self._parameters, self._sizes, strict=True) for v in _flat(p, n))
        grads: Slots = tuple(
            g for p, n in zip(self._parameters, self._sizes, strict=True) for g in _flat(p.grad, n)
        )
        modes = {module.training for module in bench.model.modules()}
        return Snapshot(
            tuple(float("nan") if v is None else v for v in values),
            grads,
            self._state(),
            float(bench.optimizer.param_groups[0]["lr"]),
            "섞임" if len(modes) > 1 else ("학습" if modes == {True} else "평가"),
            self._loss,
            None if bench.scaler is None else float(bench.scaler.get_scale()),
        )

    def _state(self) -> dict[str, Slots]:
        """Return the optimizer's entries that have a number for each number of a parameter (so not the step count)."""
        found: dict[str, list[float | None]] = {}
        for index, parameter in enumerate(self._parameters):
            entries = self._bench.optimizer.state.get(parameter, {})
            for key, entry in entries.items():
                if isinstance(entry, Tensor) and entry.shape == parameter.shape:
                    slots = found.setdefault(str(key), [None] * len(NAMES))
                    first = sum(self._sizes[:index])
                    slots[first : first + self._sizes[index]] = _flat(entry, self._sizes[index])
        return {key: tuple(slots) for key, slots in found.items()}


def _flat(tensor: Tensor | None, size: int) -> list[float | None]:
    """Return the tensor's numbers; `size` times None if there is no tensor or its size has changed."""
    if tensor is None or tensor.numel() != size:
        return [None] * size
    return [float(v) for v in tensor.detach().double().flatten().tolist()]


def _set_known_state() -> None:
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
    torch.set_grad_enabled(True)
