"""Watch a model and its optimizer while a learner's function runs, and record the states and events as a run.

A driver's scenario calls `watch`, then `call` with the learner's function, then records results by `returned`, `array`,
`fact` and `claim`. A *state* is the vector of all parameters after an update; states are compared with the solution's.
Events (forward, backward, step …) only serve to word feedback. `play.py` makes a `Recorder` for each scenario and takes
its run. Nothing is judged here.

To record something more, add a method that calls `array`, `fact` or `claim`; grader/ADDING.md lists the other steps ("A
value that drivers record"), and those for another kind of event.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch._C import DisableTorchFunctionSubclass
from torch.optim import Optimizer

from grader.observe.argument_guard import ArgumentGuard
from grader.observe.deprecated_calls import note_deprecated_calls
from grader.observe.forward_notes import ForwardNotes
from grader.observe.memory import GraphMeter
from grader.observe.noted_calls import note_before, noted_calls, noted_prints
from grader.observe.parameters import flattened, identity, parameters_of
from grader.observe.program import STUDENT_ERRORS, Program, describe_failure
from grader.observe.rounding import rounding_of_states
from grader.observe.trace import MAX_EVENTS, Array, Event, Fact, Parameter, Run
from grader.observe.values import as_number, as_plain_fact, close, equal, to_array, type_name

_MAX_STATES = 2000
"""Maximum number of states kept, so that a submission that loops does not fill the memory with them."""

_MAX_WARNINGS_PER_CALL = 100
"""Maximum number of warnings kept for a call, for the same reason."""


class ScenarioOver(Exception):
    """Ends a scenario in which the learner's code raised; what has been recorded so far is its result."""


class Diverged(BaseException):
    """Ends a scenario as soon as a state differs from that of the run it is compared with (`Recorder`'s `against`)."""


class Recorder:
    """Collect the `Run` of one scenario. Most of its methods are named after what they record.

    States are compared and events are not: a right program may use a closure, `model.zero_grad()` or
    `torch.autograd.grad`, which changes the order of events but no parameter.
    """

    def __init__(self, program: Program, *, against: Run | None = None, atol: float = 0.0) -> None:
        """Start with an empty run.

        Args:
            program: the program that is played.
            against: run to compare with: `Diverged` is raised at the first state that differs from its states. None:
                nothing is compared while the program is played.
            atol: absolute tolerance of that comparison, in addition to float32 rounding.
        """
        self.run = Run()
        expected = None if against is None else against.arrays.get("theta")
        self._expected_states = expected if expected is not None and expected.ndim == 2 else None
        """States of `against`, shape (states, elements); None if nothing is compared (any more)."""
        self._tolerance = (
            np.zeros(0) if self._expected_states is None else atol + rounding_of_states(self._expected_states)
        )
        """Absolute tolerance for each of those states."""
        self.program = program
        self.call_count = 0
        """Number of calls of the learner's function that have ended."""
        self.warned: list[str] = []
        """Category names of the warnings raised inside the learner's function."""
        self.lacked_gpu = False
        """True if the program asked for a GPU that is absent, and so must be played once more (see `absent_gpu`)."""
        self.training_at_forward: list[bool] = []
        """For each forward pass inside the learner's function, True if the model was in train mode."""
        self.graphs_built = 0
        """Number of forward passes inside the learner's function whose output had a graph."""
        self.forward_notes = ForwardNotes()
        """Conditions of the forward passes inside the learner's function."""
        self.memory: GraphMeter | None = None
        """Measures which graphs are alive at the same time; None unless `measure_memory` was called."""
        self.print_count = 0
        """Number of times the learner's function called `print`."""
        self.hears_this_thread: Callable[[], bool] = lambda: True
        """Returns True if events in the current thread are recorded. A driver that plays the function on several ranks
        (threads) lets only the watched model's rank be heard."""
        self._model: nn.Module | None = None
        self._optimizer: Optimizer | None = None
        self._own_parameters: list[nn.Parameter] = []
        """The watched model's own parameters, to notice when `torch.func.functional_call` lends it others."""
        self._batches: Sequence[Tensor] = ()
        """The scenario's inputs, among which a forward event finds its batch."""
        self._states_at_forwards = True
        """True to record a state at each forward pass too; see `watch`."""
        self._compares_states = True
        """True to record and compare states at all; see `watch`."""
        self._states: list[Array] = []
        self._points: list[Array] = []
        """Parameters at forward passes that are not states; they become the evidence `points`."""
        self._rates: list[Array] = []
        """For each state, the learning rate of each element; they become the evidence `lr`."""
        self._returned: list[float] = []
        self._return_types: list[Fact] = []
        self._recording = False
        """True while the learner's function runs."""
        self._hooks: list[Any] = []
        """Handles of hooks on models and parameters, to be removed by `release`."""
        self._at_end: list[Callable[[], Any]] = []
        """Functions that `release` calls."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Recorder":
        return self  # a learner may copy the model, whose copy must report here too

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
        clears: bool = True,
    ) -> None:
        """Record from now on what happens to a model and its optimizer.

        Args:
            model: the model.
            optimizer: its optimizer; None if the learner's function builds one (see `watch_optimizer`).
            scheduler: a learning rate scheduler, whose steps become events.
            batches: input tensors; a forward event names the one it was given by its index.
            at_forwards: also record a state at each forward pass. If False, only updates and the ends of calls make a
                state, so that the number of states counts updates; parameters that a forward pass sees in between
                (SAM's w + e) are then kept as evidence.
            states: compare parameters. False for a scenario about something else, which a wrong update must not fail.
            clears: record when the model clears its gradients. False where an optimizer that may clear them instead is
                not watched: the order of events would show one program's clearing and not the other's.
        """
        self._model, self._optimizer, self._batches = model, optimizer, batches
        self._states_at_forwards, self._compares_states = at_forwards, states
        self._own_parameters = parameters_of(model)
        for module in model.modules():
            if hasattr(module, "observer"):
                setattr(module, "observer", self)  # noqa: B010 - a plain attribute, which nn.Module types away
        # One parameter is enough to see that a backward pass has left gradients.
        first = next((p for p in self._own_parameters if p.requires_grad), None)
        if first is not None:
            hook = first.register_post_accumulate_grad_hook(lambda _: self._add_event("gradient"))
            self._hooks.append(hook)
        if clears:
            note_before(model, "zero_grad", self._note_clear)
        if optimizer is not None:
            self.watch_optimizer(optimizer)
        if scheduler is not None:
            note_before(scheduler, "step", lambda: self._add_event("scheduler"))
        self.record_state()

    def measure_memory(self, model: nn.Module) -> GraphMeter:
        """Measure from now on which graphs of the model are alive together while the learner's function runs."""
        self.memory = GraphMeter()
        self._hooks += self.memory.watch(model)
        return self.memory

    def watch_optimizer(self, optimizer: Optimizer) -> None:
        """Record from now on what an optimizer does to the watched model. The learner's function may have built it."""
        self._optimizer = optimizer
        note_before(optimizer, "zero_grad", self._note_clear)
        optimizer.register_step_pre_hook(self._step_pre_hook)
        optimizer.register_step_post_hook(lambda *_: self.record_state())

    @property
    def states(self) -> Sequence[Array]:
        """States recorded so far, each a vector of all parameters: the start, and one for each update."""
        return self._states

    def note(self, kind: str) -> None:
        """Add an event of this kind (see `Event.kind`) which only a driver's own object can notice."""
        self._add_event(kind)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the learner's function with these arguments, record what it does, and return its result.

        Raises:
            ScenarioOver: the function raised; the failure is in the run.
        """
        try:
            return self._call_observed(function, *args, **kwargs)
        except STUDENT_ERRORS as error:
            self.run.failure = describe_failure(error, self.program, self.call_count)
            raise ScenarioOver from None
        finally:
            self.record_state()
            self.call_count += 1

    def record_raised(
        self,
        exception: type[BaseException],
        fact: str,
        function: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Call the learner's function, and record as a fact the type it raised, or that it raised nothing.

        Unlike `call`, the scenario goes on if the function raises. Use this for arguments that must be refused, and for
        those just inside the limits, which must not.

        Args:
            exception: type recorded by this name also if a subclass of it was raised. Give a type that the function is
                to raise, or would most likely raise; a type such as KeyboardInterrupt is caught only if given here.
            fact: name of the fact.
            function: the learner's function.
            args: its positional arguments.
            kwargs: its keyword arguments.
        """
        outcome = "아무 예외도 내지 않음"
        try:
            self._call_observed(function, *args, **kwargs)
        except exception:
            outcome = exception.__name__
        except STUDENT_ERRORS as error:
            outcome = type(error).__name__
        finally:
            self.record_state()
            self.call_count += 1
        self.fact(fact, outcome)

    def at_end(self, function: Callable[[], Any]) -> None:
        """Have a function called when the scenario is over, however it ends, to undo what a learner's object set up.

        What the function raises costs nothing. A scenario that is to judge that calls the function itself.
        """
        self._at_end.append(function)

    def returned(self, value: Any) -> None:
        """Record a returned value as a number and a type. A tensor is recorded as its mean and the type `Tensor`."""
        self._return_types.append(type_name(value))
        self._returned.append(as_number(value))

    def array(self, name: str, value: Tensor | Array | Sequence[float]) -> None:
        """Record an array under this name; it is compared within the scenario's tolerance."""
        self.run.arrays[name] = to_array(value)

    def fact(self, name: str, value: Fact) -> None:
        """Record a fact under this name; it is compared exactly."""
        self.run.facts[name] = as_plain_fact(value)

    def claim(self, name: str, fact: Fact, witness: Tensor | Array | Sequence[float]) -> None:
        """Record a fact, and an array of the same name as its witness.

        A fact is often the same for every seed, so a program could write it into the record without doing anything.
        The witness holds numbers that follow from the seed and depend on nothing but the fact (see
        `exercises/fixtures/witnesses.py`).
        """
        self.fact(name, fact)
        self.array(name, witness)

    def append_fact(self, name: str, value: Fact) -> None:
        """Append a value to the fact of this name, a list, which begins empty."""
        existing = self.run.facts.setdefault(name, [])
        if isinstance(existing, list) and len(existing) < MAX_EVENTS:
            existing.append(as_plain_fact(value))

    def record_state(self) -> None:
        """Record the parameters as a state, unless they equal the last state.

        Raises:
            Diverged: the state differs from that of the run it is compared with.
        """
        if self._model is None or not self._compares_states or len(self._states) >= _MAX_STATES:
            return
        parameters = parameters_of(self._model)
        vector = flattened(parameters)
        if self._states and equal(self._states[-1], vector):
            return
        self._states.append(vector)
        self._rates.append(self._learning_rates(parameters))
        if self._expected_states is not None and not self._matches_expected(vector, len(self._states) - 1):
            # So that it is raised once only: `record_state` runs in `finally` clauses too.
            self._expected_states = None
            raise Diverged

    def modes(self, name: str = "모드") -> None:
        """Append the train modes of the watched model and its submodules to a fact of this name, as a list of bools."""
        if self._model is not None:
            self.append_fact(name, [m.training for m in self._model.modules()])

    def gradients_left(self) -> bool:
        """Return True if some parameter of the watched model holds a gradient that is not zero."""
        with DisableTorchFunctionSubclass():
            # Only leaves: torch warns when `.grad` of another tensor is read.
            return self._model is not None and any(
                p.is_leaf and p.grad is not None and bool(p.grad.any()) for p in parameters_of(self._model)
            )

    def finish(self) -> Run:
        """Write what was collected (states, returned values) into the run, and return it; the recorder is done then."""
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
        """Call what `at_end` was given, and remove the recorder's hooks from the models it watched.

        Torch never frees a parameter whose hook refers back to it, and here the hook holds this recorder, which holds
        the model. So each played scenario would stay in memory with its model, optimizer and states.
        """
        for function in self._at_end:
            with suppress(*STUDENT_ERRORS):
                function()
        self._at_end.clear()
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    # ---- called by fixtures ----------------------------------------------------------------------

    def forward_started(self, inputs: Tensor) -> None:
        """Note that a forward pass of the watched model starts with these inputs; fixture models call this."""
        if not self._recording:
            return
        point = None
        if self._holds_its_own_parameters():
            if self._states_at_forwards:
                self.record_state()
            else:
                point = self._record_point()
        self._add_event("forward", batch=self._batch_number(inputs), point=point)

    def forward_ended(self, outputs: Tensor, training: bool, model: nn.Module | None = None) -> None:
        """Note that a forward pass has ended; fixture models call this.

        Args:
            outputs: the model's outputs.
            training: True if the model is in train mode.
            model: the model that ran, which may be a copy of the watched one.
        """
        if self._recording and len(self.training_at_forward) < MAX_EVENTS:
            self.training_at_forward.append(training)
            self.graphs_built += outputs.requires_grad
            if self.memory is not None:
                self.memory.forwarded(outputs)
            if model is not None:
                self.forward_notes.note(model, outputs)

    # ---- internal --------------------------------------------------------------------------------

    def _matches_expected(self, vector: Array, row: int) -> bool:
        """Return True if `vector` equals state `row` of the run that is compared with, within the tolerance."""
        assert self._expected_states is not None
        if row >= len(self._expected_states) or self._expected_states[row].shape != vector.shape:
            return False
        return close(vector, self._expected_states[row], atol=float(self._tolerance[row]))

    def _call_observed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the learner's function while recording events, prints, warnings and changes to its arguments."""
        guard = ArgumentGuard((*args, *kwargs.values()))
        with (
            noted_calls(function, self._note_call),
            noted_prints(self._count_print),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            self._recording = True
            try:
                # Innermost, so that the translation of CUDA requests has ended before anything below is compared.
                with self.program.cuda.translating(self.program.names):
                    return function(*args, **kwargs)
            except STUDENT_ERRORS as error:
                self.lacked_gpu |= self.program.cuda.translate_after(describe_failure(error, self.program))
                raise
            finally:
                self._recording = False
                for change in guard.changes():
                    self.fact("받은 데이터에서 바뀐 것", change)
                self.warned += [w.category.__name__ for w in caught][:_MAX_WARNINGS_PER_CALL]
                note_deprecated_calls(self.program, caught)

    def _add_event(self, kind: str, **details: Any) -> None:
        """Add an event at the program's current line; do nothing unless the learner's function is running."""
        if kind == "gradient" and self.memory is not None:
            self.memory.gradient()
        if self._recording and len(self.run.events) < MAX_EVENTS and self.hears_this_thread():
            line = self._current_line()
            if kind == "gradient" and line is None:
                # On a GPU, hooks run in a thread of autograd, which has none of the program's frames.
                line = next((e.line for e in reversed(self.run.events) if e.kind == "backward"), None)
            state = len(self._states) - 1
            self.run.events.append(Event(kind, line, self.call_count, state=state, **details))

    def _note_call(self, kind: str, by_hand: bool) -> None:
        """Add the event of a call that `noted_calls` has noticed."""
        self._add_event(kind, by_hand=by_hand)

    def _count_print(self) -> None:
        """Count a call of `print` that `noted_prints` has noticed."""
        self.print_count += 1

    def _current_line(self) -> int | None:
        """Return the innermost line of the program on the stack; None if there is none."""
        frame = sys._getframe(2)
        while frame is not None:
            if self.program.owns(frame.f_code.co_filename):
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None

    def _holds_its_own_parameters(self) -> bool:
        """Return True except inside `torch.func.functional_call`, which lends the model other tensors for one call."""
        return self._model is not None and all(
            now is own for now, own in zip(parameters_of(self._model), self._own_parameters, strict=False)
        )

    def _record_point(self) -> int | None:
        """Record the parameters that a forward pass sees, and return their row in the evidence `points`.

        Return None if they equal the last state, or if too many points have been recorded.
        """
        assert self._model is not None
        vector = flattened(parameters_of(self._model))
        if equal(self._states[-1], vector) or len(self._points) >= _MAX_STATES:
            return None
        if not self._points or not equal(self._points[-1], vector):
            self._points.append(vector)
        return len(self._points) - 1

    def _batch_number(self, inputs: Tensor) -> int | None:
        """Return the index of the scenario's batch that has these inputs; None if no batch has."""
        for number, batch in enumerate(self._batches):
            if inputs.shape == batch.shape and torch.equal(inputs.detach(), batch):
                return number
        return None

    def _note_clear(self) -> None:
        """Note a call of `zero_grad`, with what it found."""
        self._add_event("zero_grad", gradients=self._gradients_found())

    def _gradients_found(self) -> Literal["none", "zero", "set"]:
        """Return what the trainable parameters hold in `.grad`: all None, only zeros (or None), or other numbers."""
        assert self._model is not None
        grads = [p.grad if p.is_leaf else None for p in parameters_of(self._model) if p.requires_grad]
        if all(g is None for g in grads):
            return "none"
        return "set" if any(g is not None and bool(g.any()) for g in grads) else "zero"

    def _learning_rates(self, parameters: Sequence[nn.Parameter]) -> Array:
        """Return the learning rate of each element of a state; 0 for parameters that the optimizer does not hold."""
        rates: dict[int, float] = {}
        if self._optimizer is not None:
            for group in self._optimizer.param_groups:
                rates.update(dict.fromkeys(map(identity, group["params"]), float(group["lr"])))
        return np.repeat([rates.get(identity(p), 0.0) for p in parameters], [p.numel() for p in parameters])

    def _step_pre_hook(self, _: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note an optimizer's step at the moment when it reads the gradients: after its closure, if it has one.

        This is a pre-hook of `Optimizer.step`. It returns the (args, kwargs) for the step, or None to leave them as
        they are. `args[0]` is the optimizer itself.
        """
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)

        def note_step() -> None:
            self._add_event("step", gradients=self._gradients_found())

        if closure is None:
            note_step()
            return None

        def noted_closure() -> Any:
            loss = closure()
            note_step()
            return loss

        return args[:1], {**kwargs, "closure": noted_closure}
