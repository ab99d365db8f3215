"""Observe models: modules built and called, their modes, the losses and what stands before them."""

import itertools
import weakref
from collections import Counter
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from grader.scripts import graph
from grader.scripts.batch_hashes import is_continuous, row_hashes
from grader.scripts.batch_parts import first_tensor, is_readable, tokens
from grader.scripts.copy_events import ModuleCopied
from grader.scripts.eager import is_compiled
from grader.scripts.facts import (
    Detached,
    ForwardRan,
    LossComputed,
    ModeSet,
    NumberRead,
    PartWithoutGrad,
)
from grader.scripts.observers.copies import CopyObserver
from grader.scripts.observers.dropping import DropObserver
from grader.scripts.observers.loss_inputs import filled, row_sums
from grader.scripts.observers.memory import InputMemory, PartMemory
from grader.scripts.observers.mixing import MixingObserver
from grader.scripts.observers.shapes import ShapeObserver
from grader.scripts.observers.unregistered import name_unregistered
from grader.scripts.patches import Original
from grader.scripts.places import Place, callers, own_frames, own_place, place_of
from grader.scripts.things import ModuleFacts
from grader.scripts.watch import Watch, autocast_type

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_OFTEN, _SELDOM = 60, 8
"""The first calls are looked at closely, and then every eighth."""
_MOST_TARGETS = 4096
_MOST_CUTS = 4
_LOOKED_AT = 4
_MOST_CALLERS = 8
_SEVERAL = 3
"""A tensor so many times as large as a batch holds a data set, not a buffer for one batch."""
_DISTINCT = 3
"""Distinct entries of a row from which on equal rows are no chance."""


class ModelObserver:
    """Handlers and hooks around modules and losses."""

    def __init__(
        self,
        watch: Watch,
        copies: CopyObserver,
        shapes: ShapeObserver,
        mixing: MixingObserver,
        dropping: DropObserver,
    ) -> None:
        self._watch = watch
        self._mixing = mixing
        self._copies = copies
        self._shapes = shapes
        self._running: list[nn.Module] = []
        self._event: ForwardRan | None = None
        self._sensitive: dict[int, list[nn.Module]] = {}
        self._losses: Counter[Place | None] = Counter()
        self._late: Counter[Place | None] = Counter()
        """By line: divergences that were computed after the watch."""
        self._setting_mode = False
        self._copying = False
        self._input: tuple[Tensor, int] | None = None
        self._input_versions: dict[int, int] = {}
        """By id of a part that runs: how often the input had been written into before it."""
        self._memory, self._parts_seen = InputMemory(), PartMemory()
        self._versions: dict[int, int] = {}
        """By id of a tensor whose parts were inputs: how often it had been written into."""
        self._changed: list[weakref.ref[Tensor]] = []
        self._cuts: Counter[Place | None] = Counter()
        self._without: Counter[int] = Counter()
        self._silent: dict[int, PartWithoutGrad] = {}
        """By id of a part that runs without gradients: its event."""
        shapes.in_forward = lambda: bool(self._running)
        dropping.running = lambda: (self._event, self._running[-1] if self._running else None)
        watch.at_end.append(partial(name_unregistered, watch))

    # ---- modules -----------------------------------------------------------------------------

    def module_built(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Remember where a module is constructed."""
        done = original(*args, **kwargs)
        watch = self._watch
        module = args[0]
        reference = weakref.ref(module)
        lines = _construction(module)
        watch.birth_callers[id(module)] = lines
        watch.births[id(module)] = (
            reference,
            lines[0] if lines else None,
            len(watch.facts.events),
            bool(self._running),
        )
        return done

    def compiled(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note that something is to be compiled."""
        self._watch.facts.compiled = True
        return original(*args, **kwargs)

    def birth(self, module: nn.Module) -> tuple[Any, Place | None, int, bool] | None:
        """Return what is known of a module's construction."""
        born = self._watch.births.get(id(module))
        return born if born is not None and born[0]() is module else None

    def forward_began(self, module: nn.Module, args: Arguments) -> None:
        """Note a forward of an outermost module that has parameters."""
        watch = self._watch
        if watch.busy or watch.in_backward:  # a recomputation may be left by an exception, without its end
            return
        if self._copies.any and torch.is_grad_enabled():
            self._copies.ran(module)
        outermost = not self._running
        self._running.append(module)
        if (
            self._event is not None
            and module.training
            and isinstance(module, nn.modules.batchnorm._BatchNorm)
        ):
            self._event.single_norms += bool(args) and isinstance(args[0], Tensor) and len(args[0]) == 1
        if not outermost:
            if self._input is not None:
                self._input_versions[id(module)] = self._input[0]._version
            self._part_began(module)
            born = self.birth(module)
            built = None if born is None else born[1]
            self._shapes.part_began(module, args, built)
            self._mixing.part_began(module, args, built)
        if not outermost or next(module.parameters(), None) is None:
            return
        lowered = autocast_type()
        with watch.working():
            number = self._module(module)
            given = first_tensor(args)
            parts = self._sensitive[number]
            event = ForwardRan(
                module=number,
                training=module.training,
                grad=False,
                autocast=lowered,
                rows=None if given is None else row_hashes(given),
                batch=0 if given is None else given.size(0),
                continuous=given is not None and is_continuous(given, _DISTINCT),
                live_parts=sum(part.training for part in parts),
            )
            self._copies.evaluates(module, number)
            event.frozen_parts = len(parts) - event.live_parts
            event.live_drops = sum(
                part.training and not isinstance(part, nn.modules.batchnorm._BatchNorm) for part in parts
            )
            event.live_frozen_norms = frozenset(
                watch.parameter(part.weight) for part in parts if _is_live_frozen_norm(part)
            )
            self._event = event
            self._input = None
            if given is not None and is_readable(given):
                self._look_at_input(event, given)
        event.grad = torch.is_grad_enabled()
        watch.add(event)
        self._mixing.forward_began(event)
        watch.last_forward = event
        if event.grad:
            watch.forward_began()
        else:
            self._builds_no_graph(event, module)

    def _builds_no_graph(self, event: ForwardRan, module: nn.Module) -> None:
        event.callers = callers()
        if module.training:
            with self._watch.working():
                event.weights = _weights(module)
        self._watch.evaluated(event.module)

    def forward_ended(
        self, module: nn.Module, args: Arguments, kwargs: Keywords | None, output: Any = None
    ) -> None:
        """Note the end of a forward; a tensor that came by keyword is hashed now.

        After an exception PyTorch calls this without keywords and output.
        """
        watch = self._watch
        if watch.busy or watch.in_backward or not self._running:
            return
        while self._running and self._running.pop() is not module:
            pass
        self._part_ended(module)
        silent = self._silent.pop(id(module), None) if self._silent else None
        if silent is not None and isinstance(output, Tensor):
            silent.shape = tuple(output.shape)
        if self._running or self._event is None:
            return
        event, self._event = self._event, None
        self._mixing.forward_ended()
        event.raised = output is None
        with watch.working():
            if event.rows is None and kwargs and (given := first_tensor(kwargs)) is not None:
                event.rows, event.batch = row_hashes(given), given.size(0)
                event.tokens = tokens(given)
            if self._input is not None:
                self._look_for_changes(event, *self._input)
                self._input = None
            self._parameters(module, event.module)
            graph.mark_output(output, event.serial)

    def _look_at_input(self, event: ForwardRan, given: Tensor) -> None:
        event.tokens = tokens(given)
        rows = event.rows
        if rows is not None and len(rows) > 1 and given.stride(0) != 0:
            event.repeated_row = bool((rows == rows[0]).all())
        event.rewritten = self._is_rewritten(event, given)
        event.needs_grad = given.requires_grad
        event.sharing = self._memory.sharing(given)
        self._input = None if given.is_inference() else (given, given._version)

    def _is_rewritten(self, event: ForwardRan, given: Tensor) -> bool:
        """Return True if a tensor is a part of one that was written into since the forward before saw a part of it."""
        whole = given._base
        if whole is None or given.is_inference() or whole.numel() < _SEVERAL * given.numel():
            return False
        if given.is_floating_point() and not given.requires_grad:
            event.drifted = self._parts_seen.drifted(given, whole)
        before, self._versions[id(whole)] = self._versions.get(id(whole)), whole._version
        return before is not None and before < whole._version

    def _look_for_changes(self, event: ForwardRan, given: Tensor, version: int) -> None:
        """Note whether the forward wrote into its input, and whether that input outlives it."""
        if given._version == version:
            return
        event.input_changed = True
        whole = given if given._base is None else given._base
        event.input_lasts = any(reference() is whole for reference in self._changed)
        if not event.input_lasts:
            self._changed = [one for one in self._changed if one() is not None]
            self._changed.append(weakref.ref(whole))

    def _part_ended(self, module: nn.Module) -> None:
        """Note the innermost layer of torch that wrote into the input of the outermost module."""
        before = self._input_versions.pop(id(module), None)
        if before is None or self._input is None or self._event is None or self._event.changed_by is not None:
            return
        own = type(module).__module__.startswith("torch.nn")
        if own and self._input[0]._version != before and (born := self.birth(module)) is not None:
            self._event.changed_by = born[1]

    def _part_began(self, module: nn.Module) -> None:
        """Note a part that runs without gradients inside a forward that has them."""
        if self._event is None or not self._event.grad or torch.is_grad_enabled():
            return
        self._without[id(module)] += 1
        if self._without[id(module)] > _MOST_CUTS:
            return
        watch = self._watch
        with watch.working():
            held = frozenset(map(watch.parameter, module.parameters()))
            if held:
                live = [part for part in module.modules() if part.training and _is_sensitive(part)]
                norms = sum(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in live)
                self._silent[id(module)] = watch.add(
                    PartWithoutGrad(
                        parameters=held,
                        kind=type(module).__name__,
                        live_parts=len(live),
                        live_drops=len(live) - norms,
                        weights=_weights(module),
                        callers=callers(),
                    )
                )

    def detached(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note which parameters stand behind a detached tensor."""
        watch = self._watch
        if watch.busy or watch.in_backward or watch.in_steps or args[0].grad_fn is None:
            return original(*args, **kwargs)
        place = own_place()
        self._cuts[place] += 1
        if self._cuts[place] <= _MOST_CUTS:
            with watch.working():
                leaves = frozenset(map(watch.parameter, graph.read_graph([args[0]]).leaves))
                watch.add(Detached(parameters=leaves, in_forward=bool(self._running)), place)
        return original(*args, **kwargs)

    def _module(self, module: nn.Module) -> int:
        watch = self._watch
        number = watch.modules.find(module)
        if number is None:
            number = watch.modules.add(module)
            born = self.birth(module)
            place = born[1] if born is not None else None
            facts = ModuleFacts(number, type(module).__name__, place, frozenset(), 0, 0)
            watch.facts.modules.append(facts)
            self._parameters(module, number, always=True)
            watch.facts.compiled = watch.facts.compiled or is_compiled(module)
        return number

    def _parameters(self, module: nn.Module, number: int, *, always: bool = False) -> None:
        """Note the parameters that a module has now, with their names and births."""
        watch = self._watch
        if not always and watch.facts.updates > 3 and watch.facts.updates % 10:
            return
        facts = watch.facts.modules[number]
        found = set()
        sensitive = []
        for path, part in module.named_modules():
            prefix = path.removeprefix("_orig_mod").removeprefix(".")  # of `torch.compile(module)`
            if _is_sensitive(part):
                sensitive.append(part)
            born = self.birth(part)
            for name, tensor in part._parameters.items():
                if tensor is None:
                    continue
                one = watch.parameter(tensor)
                found.add(one)
                about = watch.facts.parameters[one]
                if not about.name:
                    about.name = f"{prefix}.{name}" if prefix else name
                    about.module_kind = type(part).__name__
                    if born is not None:
                        about.module_place, about.module_serial, about.born_in_forward = born[1:]
                        about.module_callers = watch.birth_callers.get(id(part), ())
        facts.parameters = frozenset(found)
        facts.mode_sensitive = len(sensitive)
        facts.batch_norms = sum(isinstance(one, nn.modules.batchnorm._BatchNorm) for one in sensitive)
        self._sensitive[number] = sensitive

    def mode_set(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note `train()` and `eval()`; the calls for submodules are part of the first."""
        watch = self._watch
        if watch.busy or self._setting_mode:
            return original(*args, **kwargs)
        self._setting_mode = True
        try:
            done = original(*args, **kwargs)
        finally:
            self._setting_mode = False
        if next(args[0].parameters(), None) is not None:
            with watch.working():
                watch.add(ModeSet(module=self._module(args[0]), training=args[0].training))
        return done

    def copied(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note that a module is copied."""
        watch = self._watch
        thing = args[0] if args else kwargs.get("x")
        if watch.busy or self._copying or not isinstance(thing, nn.Module):
            return original(*args, **kwargs)
        self._copying = True
        try:
            done = original(*args, **kwargs)
        finally:
            self._copying = False
        with watch.working():
            if next(thing.parameters(), None) is not None:
                source = self._module(thing)
                event = watch.add(ModuleCopied(source=source))
                copied = watch.facts.modules[self._module(done)]
                copied.copied_from = source
                self._copies.copied(thing, done, copied.number)
                for number in copied.parameters:
                    watch.facts.parameters[number].loaded = True
                event.frozen = frozenset(watch.parameter(p) for p in done.parameters() if not p.requires_grad)
        return done

    # ---- losses ------------------------------------------------------------------------------

    def loss_computed(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note what a loss is given and what made it."""
        watch = self._watch
        done = original(*args, **kwargs)
        if watch.busy or watch.in_backward:
            return done
        given = args[0] if args else kwargs.get("input")
        target = args[1] if len(args) > 1 else kwargs.get("target")
        if not isinstance(given, Tensor) or not isinstance(target, Tensor):
            return done
        place = own_place()
        self._losses[place] += 1
        closely = self._losses[place] <= _OFTEN or not self._losses[place] % _SELDOM
        grad = torch.is_grad_enabled()
        with watch.working():
            integer = not target.is_floating_point()
            event = watch.add(
                LossComputed(
                    name=original.name,
                    shape=tuple(given.shape),
                    target_shape=tuple(target.shape),
                    dtype=str(given.dtype).removeprefix("torch."),
                    target_dtype=str(target.dtype).removeprefix("torch."),
                    grad=grad,
                    training=None if watch.last_forward is None else watch.last_forward.training,
                    reduction=str(kwargs.get("reduction", "mean")),
                    ignore_index=kwargs.get("ignore_index", -100) if integer else None,
                    class_weights=kwargs.get("weight") is not None,
                    producers=graph.producers(given),
                    module_place=self._loss_module_place(),
                    row_sums=row_sums(given, last=original.name == "kl_div") if closely else None,
                    targets=target.detach().reshape(-1)[:_MOST_TARGETS].clone()
                    if integer and closely
                    else None,
                    filled=filled(target) if closely and not integer else 0.0,
                    value=done.detach().clone() if isinstance(done, Tensor) and done.numel() == 1 else None,
                    target_rows=row_hashes(target) if closely else None,
                    input_laid=graph.flattened_from(given),
                    target_laid=self._shapes.laid(target),
                ),
                place,
            )
            if grad and self._losses[place] <= _LOOKED_AT:
                event.behind = frozenset(map(watch.parameter, graph.read_graph([given]).leaves))
            if isinstance(done, Tensor):
                graph.mark(done, event.serial)
            if target.grad_fn is not None:
                event.behind_input = tuple(sorted(set(graph.read_graph([given]).forwards)))
                event.behind_target = tuple(sorted(set(graph.read_graph([target]).forwards)))
        return done

    def divergence_computed(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a divergence as any loss; after the watch (a teacher was trained in it) the first ones of a line."""
        if not self._watch.over:
            return self.loss_computed(original, args, kwargs)
        self._late[place := own_place()] += 1
        if self._late[place] > _LOOKED_AT:
            return original(*args, **kwargs)
        return self.loss_computed(original, args, kwargs)

    def _loss_module_place(self) -> Place | None:
        if not self._running or type(self._running[-1]).__module__ != "torch.nn.modules.loss":
            return None
        born = self.birth(self._running[-1])
        return None if born is None else born[1]

    def squashed(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Mark the graph where softmax or sigmoid was applied."""
        done = original(*args, **kwargs)
        watch = self._watch
        if watch.busy or watch.in_backward or not isinstance(done, Tensor) or done.grad_fn is None:
            return done
        if original.name == "softmax":
            self._mixing.softmaxed(done)
        place = None
        if self._running and type(self._running[-1]).__module__ == "torch.nn.modules.activation":
            born = self.birth(self._running[-1])
            place = None if born is None else born[1]
        graph.mark(done, place or own_place())
        return done

    def number_read(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note `.item()`."""
        done = original(*args, **kwargs)
        if not self._watch.busy and not self._watch.in_backward and not self._watch.in_steps:
            self._watch.add(NumberRead(of_loss=args[0].grad_fn is not None, loss=graph.loss_of(args[0])))
        return done


def _construction(module: nn.Module) -> tuple[Place, ...]:
    """Return the learner's lines that construct a module, innermost first, outside of the module's own `__init__`."""
    found = []
    for frame in own_frames()[:_MOST_CALLERS]:
        code = frame.f_code
        first = code.co_varnames[0] if code.co_argcount else ""
        if code.co_name != "__init__" or frame.f_locals.get(first) is not module:
            found.append(place_of(code, frame.f_lineno))
    return tuple(found)


def _is_sensitive(module: nn.Module) -> bool:
    """Return True if a module works differently in training and evaluation."""
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        return module.track_running_stats
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    return float(getattr(module, "dropout", 0) or 0) > 0 if isinstance(module, nn.RNNBase) else False


def _is_live_frozen_norm(part: nn.Module) -> bool:
    """Return True for a batch norm whose weight is frozen and whose statistics are not."""
    weight = getattr(part, "weight", None)
    norm = isinstance(part, nn.modules.batchnorm._BatchNorm)
    return norm and part.training and isinstance(weight, Tensor) and not weight.requires_grad


def _weights(module: nn.Module) -> float:
    """Return a sum of some entries of a module's parameters."""
    some = itertools.islice(module.parameters(), _LOOKED_AT)
    return float(sum(float(p.detach().reshape(-1)[:8].double().sum()) for p in some))
