"""Watch a model and its optimizer while a student's function runs, and record the states and events as a run.

A driver's scenario calls `watch`, then `call` with the student's function, then records results with `returned`,
`array`, `fact` and `claim`. A *state* is the vector of all parameters after an update; states are compared with the
solution's. Events (forward, backward, step …) only serve to word feedback.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch._C import DisableTorchFunctionSubclass
from torch.optim import Optimizer

from grader.observe.argument_guard import ArgumentGuard
from grader.observe.forward_notes import ForwardNotes
from grader.observe.memory import GraphMeter
from grader.observe.noted_calls import noted_calls, noted_prints, shadow
from grader.observe.parameters import flattened, identity, parameters_of
from grader.observe.program import STUDENT_ERRORS, Program, describe_failure
from grader.observe.rounding import rounding_of_states
from grader.observe.trace import MAX_EVENTS, Array, Event, Fact, Parameter, Run
from grader.observe.values import as_number, close, equal, settled, to_array, type_name

_MAX_STATES = 2000  # limit, so that a submission that loops does not fill the memory with states


class ScenarioOver(Exception):
    """The student's code raised; what has been recorded so far is the scenario's result."""


class Diverged(BaseException):
    """A state differs from that of the run it is compared with, so the rest need not be played."""


class Recorder:
    """Collect the `Run` of one scenario.

    States are compared, events are not, because closures, `model.zero_grad()` or `torch.autograd.grad` change the order
    of events in a right program but none of its parameters.
    """

    def __init__(self, program: Program, *, against: Run | None = None, atol: float = 0.0) -> None:
        """Start with an empty run.

        Args:
            program: the program that is played.
            against: raise `Diverged` at the first state that differs from this run's; None: never.
            atol: absolute tolerance of that comparison, in addition to float32 rounding.
        """
        self.run = Run()
        theta = None if against is None else against.arrays.get("theta")
        self._against = theta if theta is not None and theta.ndim == 2 else None
        self._tolerance = np.zeros(0) if self._against is None else atol + rounding_of_states(self._against)
        self.program = program
        self.calls = 0
        self.warned: list[str] = []
        """Category names of the warnings raised inside the student's function."""
        self.lacked_gpu = False
        """True if this run shows what happens without a GPU, so that it must be played once more (`absent_gpu`)."""
        self.forward_modes: list[bool] = []
        """For each forward pass inside the student's function, True if the model was in train mode."""
        self.graphs_built = 0
        """Number of forward passes inside the student's function whose output had a graph."""
        self.forwards = ForwardNotes()
        """Conditions of the forward passes inside the student's function."""
        self.memory: GraphMeter | None = None
        """What is alive at the same time; None unless `measure_memory` was called."""
        self.prints = 0
        """Number of times the student's function called `print`."""
        self._model: nn.Module | None = None
        self._optimizer: Optimizer | None = None
        self._own_parameters: list[nn.Parameter] = []
        """The watched model's own parameters, to notice when `functional_call` lends it others."""
        self._batches: Sequence[Tensor] = ()
        """The scenario's inputs, among which a forward event finds its batch."""
        self._at_forwards = True
        """True to record a state at each forward pass too; see `watch`."""
        self._keeps_states = True
        """True to record and compare states at all; see `watch`."""
        self._states: list[Array] = []
        self._points: list[Array] = []
        """Parameters at forward passes that are not states; the evidence `points`."""
        self._rates: list[Array] = []
        """Learning rate of each element, for each state; the evidence `lr`."""
        self._returned: list[float] = []
        self._return_types: list[Fact] = []
        self._recording = False
        """True while the student's function runs."""
        self._hooks: list[Any] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Recorder":
        return self  # a student may copy the model, whose copy must report here too

    # ---- called by drivers -----------------------------------------------------------------------

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
        """Record from now on what happens to a model and its optimizer.

        Args:
            model: the model.
            optimizer: its optimizer; None if the student's function builds one (see `adopt`).
            scheduler: a learning rate scheduler, whose steps become events.
            batches: input tensors; a forward event names the one it was given by its index.
            at_forwards: also record a state at each forward pass. If False, only updates and the ends of calls make a
                state, so that the number of states counts updates; parameters that a forward pass sees in between
                (SAM's w + e) are then kept as evidence.
            states: compare parameters. False for a scenario about something else, which a wrong update must not fail.
        """
        self._model, self._optimizer, self._batches = model, optimizer, batches
        self._at_forwards, self._keeps_states = at_forwards, states
        self._own_parameters = parameters_of(model)
        for module in model.modules():
            if hasattr(module, "observer"):
                setattr(module, "observer", self)  # noqa: B010 - a plain attribute, which nn.Module types away
        first = next((p for p in self._own_parameters if p.requires_grad), None)
        if first is not None:
            hook = first.register_post_accumulate_grad_hook(lambda _: self._event("gradient"))
            self._hooks.append(hook)
        shadow(model, "zero_grad", lambda: self._event("zero_grad"))
        if optimizer is not None:
            self.adopt(optimizer)
        if scheduler is not None:
            shadow(scheduler, "step", lambda: self._event("scheduler"))
        self.state()

    def measure_memory(self, model: nn.Module) -> GraphMeter:
        """Measure from now on what the model's forward passes keep alive inside the student's function."""
        self.memory = GraphMeter()
        self._hooks += self.memory.watch(model)
        return self.memory

    def adopt(self, optimizer: Optimizer) -> None:
        """Record what `optimizer` does to the watched model; the student's function may have built it."""
        self._optimizer = optimizer
        shadow(optimizer, "zero_grad", lambda: self._event("zero_grad"))
        optimizer.register_step_pre_hook(self._step_pre_hook)
        optimizer.register_step_post_hook(lambda *_: self.state())

    @property
    def states(self) -> Sequence[Array]:
        """The states recorded so far, each a vector of all parameters: at the start, and after each update."""
        return self._states

    def note(self, kind: str) -> None:
        """Add an event that only the driver can observe."""
        self._event(kind)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the student's function, watch it and return its result.

        Raises:
            ScenarioOver: the function raised; the failure is in the run.
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
        """Call the student's function and record as a fact what it raised, or that it raised nothing.

        Args:
            exception: the exception that may be expected; a subclass is recorded under its name.
            fact: name of the fact.
            function: the student's function.
            args: its positional arguments.
            kwargs: its keyword arguments.
        """
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
        """Record a returned number and its type. A tensor is recorded as its mean, but its type as `Tensor`."""
        self._return_types.append(type_name(value))
        self._returned.append(as_number(value))

    def array(self, name: str, value: Tensor | Array | Sequence[float]) -> None:
        """Record an array, which is compared within the scenario's tolerance."""
        self.run.arrays[name] = to_array(value)

    def fact(self, name: str, value: Fact) -> None:
        """Record a fact, which is compared exactly."""
        self.run.facts[name] = settled(value)

    def claim(self, name: str, fact: Fact, witness: Tensor | Array | Sequence[float]) -> None:
        """Record a fact, and under its name an array as its witness.

        A fact is often the same for every seed, so code that writes it into the record need not have done anything. The
        witness holds numbers that follow from the seed and depend on what the fact says, and on nothing else.
        """
        self.fact(name, fact)
        self.array(name, witness)

    def append_fact(self, name: str, value: Fact) -> None:
        """Append a value to a fact that is a list."""
        existing = self.run.facts.setdefault(name, [])
        if isinstance(existing, list) and len(existing) < MAX_EVENTS:
            existing.append(settled(value))

    def state(self) -> None:
        """Record the parameters as a state, unless they equal the last one.

        Raises:
            Diverged: the state differs from that of the run it is compared with.
        """
        if self._model is None or not self._keeps_states or len(self._states) >= _MAX_STATES:
            return
        parameters = parameters_of(self._model)
        vector = flattened(parameters)
        if self._states and equal(self._states[-1], vector):
            return
        self._states.append(vector)
        self._rates.append(self._learning_rates(parameters))
        if self._against is not None and not self._matches_reference(vector, len(self._states) - 1):
            self._against = None
            raise Diverged

    def _matches_reference(self, vector: Array, row: int) -> bool:
        """Return True if `vector` equals, within the tolerance, state `row` of the run that this is compared with."""
        assert self._against is not None
        if row >= len(self._against) or self._against[row].shape != vector.shape:
            return False
        return close(vector, self._against[row], atol=float(self._tolerance[row]))

    def modes(self, name: str = "모드") -> None:
        """Append to a fact the train mode of each submodule, as a list of bools."""
        if self._model is not None:
            self.append_fact(name, [m.training for m in self._model.modules()])

    def gradients_left(self) -> bool:
        """Return True if some parameter holds a gradient that is not zero."""
        with DisableTorchFunctionSubclass():
            return self._model is not None and any(
                p.grad is not None and bool(p.grad.any()) for p in parameters_of(self._model)
            )

    def finish(self) -> Run:
        """Write the collected states and return values into the run, and return it."""
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
        """Remove the recorder's hooks from the models it watched.

        Torch never frees a parameter whose hook refers back to it (the hook holds this recorder, which holds the
        model). So each played scenario would stay in memory with its model, optimizer and states.
        """
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    # ---- called by fixtures ----------------------------------------------------------------------

    def forward(self, inputs: Tensor) -> None:
        """Note that a forward pass of the watched model starts; fixture models call this."""
        if not self._recording:
            return
        point = None
        if self._holds_its_own_parameters():
            if self._at_forwards:
                self.state()
            else:
                point = self._record_point()
        self._event("forward", batch=self._batch_number(inputs), point=point)

    def forwarded(self, outputs: Tensor, training: bool, model: nn.Module | None = None) -> None:
        """Note that a forward pass has ended; fixture models call this.

        Args:
            outputs: the model's outputs.
            training: True if the model is in train mode.
            model: the model that ran, which may be a copy of the watched one.
        """
        if self._recording and len(self.forward_modes) < MAX_EVENTS:
            self.forward_modes.append(training)
            self.graphs_built += outputs.requires_grad
            if self.memory is not None:
                self.memory.forwarded(outputs)
            if model is not None:
                self.forwards.note(model, outputs)

    # ---- internal --------------------------------------------------------------------------------

    def _observed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the student's function while recording events, prints, warnings and changes to its arguments."""
        guard = ArgumentGuard((*args, *kwargs.values()))
        with (
            noted_calls(function, self._note_call),
            noted_prints(self._note_print),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            self._recording = True
            try:
                # Innermost: whatever the function does to this context is over before anything is compared
                with self.program.cuda.translating(self.program.names):
                    return function(*args, **kwargs)
            except STUDENT_ERRORS as error:
                self.lacked_gpu |= self.program.cuda.translate_after(describe_failure(error, self.program))
                raise
            finally:
                self._recording = False
                for what in guard.changes():
                    self.fact("받은 데이터에서 바뀐 것", what)
                self.warned += [w.category.__name__ for w in caught][:100]

    def _event(self, kind: str, **details: Any) -> None:
        """Add an event at the current line of the program, if the student's function is running."""
        if kind == "gradient" and self.memory is not None:
            self.memory.gradient()
        if self._recording and len(self.run.events) < MAX_EVENTS:
            line = self._line()
            if kind == "gradient" and line is None:
                # On a GPU, hooks run in a thread of autograd, which has none of the program's frames.
                line = next((e.line for e in reversed(self.run.events) if e.kind == "backward"), None)
            state = len(self._states) - 1
            self.run.events.append(Event(kind, line, self.calls, state=state, **details))

    def _note_call(self, kind: str, by_hand: bool) -> None:
        self._event(kind, by_hand=by_hand)

    def _note_print(self) -> None:
        self.prints += 1

    def _line(self) -> int | None:
        """Return the innermost line of the program on the stack; None if there is none."""
        frame = sys._getframe(2)
        while frame is not None:
            if self.program.owns(frame.f_code.co_filename):
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None

    def _holds_its_own_parameters(self) -> bool:
        """True except inside `torch.func.functional_call`, which lends the model other tensors for one call."""
        return self._model is not None and all(
            now is own for now, own in zip(parameters_of(self._model), self._own_parameters, strict=False)
        )

    def _record_point(self) -> int | None:
        """Record the parameters that a forward pass sees; return their row in the evidence `points`.

        None if they equal the last state, or too many points have been recorded.
        """
        assert self._model is not None
        vector = flattened(parameters_of(self._model))
        if equal(self._states[-1], vector) or len(self._points) >= _MAX_STATES:
            return None
        if not self._points or not equal(self._points[-1], vector):
            self._points.append(vector)
        return len(self._points) - 1

    def _batch_number(self, inputs: Tensor) -> int | None:
        """Return the index of the batch whose inputs these are; None if it is none of them."""
        for number, batch in enumerate(self._batches):
            if inputs.shape == batch.shape and torch.equal(inputs.detach(), batch):
                return number
        return None

    def _gradients_found(self) -> Literal["none", "zero", "set"]:
        """Return what `.grad` holds over all parameters: nothing, only zeros, or numbers."""
        assert self._model is not None
        grads = [p.grad for p in parameters_of(self._model) if p.requires_grad]
        if all(g is None for g in grads):
            return "none"
        return "set" if any(g is not None and bool(g.any()) for g in grads) else "zero"

    def _learning_rates(self, parameters: Sequence[nn.Parameter]) -> Array:
        """Return the learning rate of each element of a state; 0 for parameters the optimizer does not hold."""
        rates: dict[int, float] = {}
        if self._optimizer is not None:
            for group in self._optimizer.param_groups:
                rates.update(dict.fromkeys(map(identity, group["params"]), float(group["lr"])))
        return np.repeat([rates.get(identity(p), 0.0) for p in parameters], [p.numel() for p in parameters])

    def _step_pre_hook(self, _: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note an optimizer's step at the moment it reads the gradients: after the closure, if it is given one.

        A pre-hook of `Optimizer.step`: returns the (args, kwargs) to call it with, or None to leave them unchanged.
        """
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)

        def read(value: Any = None) -> Any:
            self._event("step", gradients=self._gradients_found())
            return value

        if closure is None:
            return read()
        return args[:1], {**kwargs, "closure": lambda: read(closure())}
