"""Watches model and optimizer while a student's function runs, and writes down what it leaves behind."""

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.observe.argument_guard import ArgumentGuard
from grader.observe.forward_notes import ForwardNotes
from grader.observe.noted_calls import noted_calls, noted_prints, shadow
from grader.observe.parameters import flattened, identity, parameters_of
from grader.observe.program import STUDENT_ERRORS, Program, describe_failure
from grader.observe.rounding import rounding_of_states
from grader.observe.trace import MAX_EVENTS, Array, Event, Fact, Parameter, Run
from grader.observe.values import as_number, close, equal, settled, to_array, type_name

_MAX_STATES = 2000  # a submission that loops must not fill the memory with its own states


class ScenarioOver(Exception):
    """The student's code raised; what has been observed so far is the scenario's result."""


class Diverged(BaseException):
    """A state differs from the run it is compared with; the rest need not be played."""


class Recorder:
    """Collects one scenario's `Run`.

    States are compared, events are not: closures, `model.zero_grad()` or `torch.autograd.grad` change the
    order of events of a right program and none of its parameters.
    """

    def __init__(self, program: Program, *, against: Run | None = None, atol: float = 0.0) -> None:
        """With `against`, the scenario is broken off (`Diverged`) at the first state that differs from that run."""
        self.run = Run()
        theta = None if against is None else against.arrays.get("theta")
        self._against = theta if theta is not None and theta.ndim == 2 else None
        self._tolerance = np.zeros(0) if self._against is None else atol + rounding_of_states(self._against)
        self.program = program
        self.calls = 0
        self.warned: list[str] = []
        """Category names of the warnings raised inside the student's function."""
        self.forward_modes: list[bool] = []
        """For each forward pass inside the student's function: was the model in train mode?"""
        self.graphs_built = 0
        """Forward passes inside the student's function whose output had a graph."""
        self.forwards = ForwardNotes()
        """What the forward passes inside the student's function were made under."""
        self.prints = 0
        """How often the student's function called `print`."""
        self._model: nn.Module | None = None
        self._optimizer: Optimizer | None = None
        self._own: list[nn.Parameter] = []
        self._batches: Sequence[Tensor] = ()
        self._at_forwards = True
        self._keeps_states = True
        self._states: list[Array] = []
        self._points: list[Array] = []
        self._rates: list[Array] = []
        self._returned: list[float] = []
        self._return_types: list[Fact] = []
        self._recording = False
        self._hooks: list[Any] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Recorder":
        return self  # a student may copy the model; the copy reports here too

    # ---- what the drivers call -------------------------------------------------------------------

    def watch(
        self,
        model: nn.Module,
        optimizer: Optimizer | None = None,
        scheduler: Any = None,
        *,
        batches: Sequence[Tensor] = (),
        at_forwards: bool = True,
        states: bool = True,
    ) -> None:
        """Record from now on what happens to `model` and `optimizer`; `batches` are the inputs by number.

        With `at_forwards=False` only updates and the ends of calls make a state, so that the number of states counts
        updates. Parameters that a forward pass sees in between (SAM's w + e) are kept as evidence. With `states=False`
        parameters are not compared: for a scenario about something else, which a wrong update must not fail.
        """
        self._model, self._optimizer, self._batches = model, optimizer, batches
        self._at_forwards, self._keeps_states = at_forwards, states
        self._own = parameters_of(model)
        for module in model.modules():
            if hasattr(module, "observer"):
                setattr(module, "observer", self)  # noqa: B010 - a plain attribute, which nn.Module types away
        first = next((p for p in self._own if p.requires_grad), None)
        if first is not None:
            hook = first.register_post_accumulate_grad_hook(lambda _: self._event("gradient"))
            self._hooks.append(hook)
        shadow(model, "zero_grad", lambda: self._event("zero_grad"))
        if optimizer is not None:
            self.adopt(optimizer)
        if scheduler is not None:
            shadow(scheduler, "step", lambda: self._event("scheduler"))
        self.state()

    def adopt(self, optimizer: Optimizer) -> None:
        """Record what `optimizer` does to the watched model; it may have been built by the student's function."""
        self._optimizer = optimizer
        shadow(optimizer, "zero_grad", lambda: self._event("zero_grad"))
        optimizer.register_step_pre_hook(self._stepping)
        optimizer.register_step_post_hook(lambda *_: self.state())

    @property
    def states(self) -> Sequence[Array]:
        """The parameters so far: at the start, and after each update."""
        return self._states

    def note(self, kind: str) -> None:
        """Add an event that only the driver can see."""
        self._event(kind)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the student's function.

        Raises:
            ScenarioOver: it raised; the failure is in the run.
        """
        try:
            return self._observed(function, *args, **kwargs)
        except STUDENT_ERRORS as error:
            self.run.failure = describe_failure(error, self.program, self.calls)
            raise ScenarioOver from None
        finally:
            self.state()
            self.calls += 1

    def expect(
        self,
        exception: type[BaseException],
        fact: str,
        function: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Call the student's function, which should raise `exception`; what it did becomes the fact."""
        outcome = "아무 예외도 내지 않음"
        try:
            self._observed(function, *args, **kwargs)
        except exception:
            outcome = exception.__name__
        except STUDENT_ERRORS as error:
            outcome = type(error).__name__
        finally:
            self.state()
            self.calls += 1
        self.fact(fact, outcome)

    def returned(self, value: Any) -> None:
        """Record a returned number and its type. A tensor is turned into a number; its type is still `Tensor`."""
        self._return_types.append(type_name(value))
        self._returned.append(as_number(value))

    def array(self, name: str, value: Tensor | Array | Sequence[float]) -> None:
        """Record an array that is compared."""
        self.run.arrays[name] = to_array(value)

    def fact(self, name: str, value: Fact) -> None:
        """Record a fact that is compared exactly."""
        self.run.facts[name] = settled(value)

    def append_fact(self, name: str, value: Fact) -> None:
        """Add to a list of facts."""
        existing = self.run.facts.setdefault(name, [])
        if isinstance(existing, list) and len(existing) < MAX_EVENTS:
            existing.append(settled(value))

    def state(self) -> None:
        """Record the parameters, unless they are still what they were."""
        if self._model is None or not self._keeps_states or len(self._states) >= _MAX_STATES:
            return
        parameters = parameters_of(self._model)
        vector = flattened(parameters)
        if self._states and equal(self._states[-1], vector):
            return
        self._states.append(vector)
        self._rates.append(self._learning_rates(parameters))
        if self._against is not None and not self._follows(vector, len(self._states) - 1):
            self._against = None
            raise Diverged

    def _follows(self, vector: Array, row: int) -> bool:
        assert self._against is not None
        if row >= len(self._against) or self._against[row].shape != vector.shape:
            return False
        return close(vector, self._against[row], atol=float(self._tolerance[row]))

    def modes(self, name: str = "모드") -> None:
        """Record as a fact which submodules are in train mode."""
        if self._model is not None:
            self.append_fact(name, [m.training for m in self._model.modules()])

    def gradients_left(self) -> bool:
        """Whether some parameter holds a gradient that is not zero."""
        return self._model is not None and any(
            p.grad is not None and bool(p.grad.any()) for p in parameters_of(self._model)
        )

    def finish(self) -> Run:
        """Write the collected states into the run and hand it over."""
        if self._model is not None and self._states:
            sizes = {state.shape for state in (*self._states, *self._points)}
            if len(sizes) == 1:
                self.run.arrays["theta"] = np.stack(self._states)
                self.run.evidence["lr"] = np.stack(self._rates)
                if self._points:
                    self.run.evidence["points"] = np.stack(self._points)
            else:
                self.run.facts["매개변수의 크기"] = "바뀜"
            self.run.parameters = [Parameter(name, p.numel()) for name, p in self._model.named_parameters()]
            self.run.evidence["gradients_left"] = np.array([self.gradients_left()])
        if self._return_types:
            self.run.facts["반환 타입"] = self._return_types
            self.run.arrays["returned"] = np.array(self._returned)
        return self.run

    def release(self) -> None:
        """Take its hooks from the models it watched.

        Torch never frees a parameter whose hook leads back to it (the hook holds this recorder, and this recorder the
        model): each played scenario would stay in memory with model, optimizer and states.
        """
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    # ---- what the fixtures call ------------------------------------------------------------------

    def forward(self, inputs: Tensor) -> None:
        """A forward pass of the watched model starts (fixture models call this)."""
        if not self._recording:
            return
        point = None
        if self._holds_its_own_parameters():
            if self._at_forwards:
                self.state()
            else:
                point = self._point()
        self._event("forward", batch=self._batch_number(inputs), point=point)

    def forwarded(self, outputs: Tensor, training: bool, model: nn.Module | None = None) -> None:
        """That forward pass is over (fixture models call this; `model` may be a copy of the watched one)."""
        if self._recording and len(self.forward_modes) < MAX_EVENTS:
            self.forward_modes.append(training)
            self.graphs_built += outputs.requires_grad
            if model is not None:
                self.forwards.note(model, outputs)

    # ---- inside ----------------------------------------------------------------------------------

    def _observed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        guard = ArgumentGuard((*args, *kwargs.values()))
        with (
            noted_calls(function, self._note_call),
            noted_prints(self._note_print),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            self._recording = True
            try:
                return function(*args, **kwargs)
            finally:
                self._recording = False
                for what in guard.changes():
                    self.fact("받은 데이터에서 바뀐 것", what)
                self.warned += [w.category.__name__ for w in caught][:100]

    def _event(self, kind: str, **details: Any) -> None:
        if self._recording and len(self.run.events) < MAX_EVENTS:
            line = self._line()
            if kind == "gradient" and line is None:  # on a GPU, hooks run in a thread of autograd's own
                line = next((e.line for e in reversed(self.run.events) if e.kind == "backward"), None)
            state = len(self._states) - 1
            self.run.events.append(Event(kind, line, self.calls, state=state, **details))

    def _note_call(self, kind: str, by_hand: bool) -> None:
        self._event(kind, by_hand=by_hand)

    def _note_print(self) -> None:
        self.prints += 1

    def _line(self) -> int | None:
        frame = sys._getframe(2)
        while frame is not None:
            if self.program.owns(frame.f_code.co_filename):
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None

    def _holds_its_own_parameters(self) -> bool:
        """False inside `torch.func.functional_call`, which lends the model other tensors for one call."""
        return self._model is not None and all(
            now is own for now, own in zip(parameters_of(self._model), self._own, strict=False)
        )

    def _point(self) -> int | None:
        """Where a forward pass finds the parameters: a row of the evidence `points`, None for the last state."""
        assert self._model is not None
        vector = flattened(parameters_of(self._model))
        if equal(self._states[-1], vector) or len(self._points) >= _MAX_STATES:
            return None
        if not self._points or not equal(self._points[-1], vector):
            self._points.append(vector)
        return len(self._points) - 1

    def _batch_number(self, inputs: Tensor) -> int | None:
        for number, batch in enumerate(self._batches):
            if inputs.shape == batch.shape and torch.equal(inputs.detach(), batch):
                return number
        return None

    def _gradients_found(self) -> Literal["none", "zero", "set"]:
        assert self._model is not None
        grads = [p.grad for p in parameters_of(self._model) if p.requires_grad]
        if all(g is None for g in grads):
            return "none"
        return "set" if any(g is not None and bool(g.any()) for g in grads) else "zero"

    def _learning_rates(self, parameters: Sequence[nn.Parameter]) -> Array:
        """Learning rate of each element of the state (0 where the optimizer does not hold it)."""
        rates: dict[int, float] = {}
        if self._optimizer is not None:
            for group in self._optimizer.param_groups:
                rates.update(dict.fromkeys(map(identity, group["params"]), float(group["lr"])))
        return np.repeat([rates.get(identity(p), 0.0) for p in parameters], [p.numel() for p in parameters])

    def _stepping(self, _: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a step where it reads the gradients: after the closure, if it is given one."""
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)

        def read(value: Any = None) -> Any:
            self._event("step", gradients=self._gradients_found())
            return value

        if closure is None:
            return read()
        return args[:1], {**kwargs, "closure": lambda: read(closure())}
