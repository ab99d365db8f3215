"""Observe states: `state_dict`, `load_state_dict`, `torch.save` and `torch.load`, and who trains loaded weights."""

import sys
import weakref
from collections.abc import Mapping
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from grader.scripts.batch_parts import is_readable
from grader.scripts.observers.schedulers import rates, rates_of
from grader.scripts.patches import Original
from grader.scripts.states import FileLoaded, FileSaved, StateLoaded, StateTaken
from grader.scripts.things import FirstStep
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_LOOKED_AT, _MOST_LATE = 8, 256
_MARKS = {
    "optimizer": {"state", "param_groups"},
    "scheduler": {"last_epoch"},
    "scaler": {"scale", "growth_factor"},
}
"""Keys by which a nested dictionary is recognised."""


class FileObserver:
    """Handlers around checkpoints."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._taking = False
        self._late = 0
        """States that were taken after the watch."""
        self._taken: list[tuple[weakref.ref[Tensor], StateTaken]] = []
        self._loaded: list[tuple[frozenset[int], StateLoaded]] = []
        """Weights (numbers) that were loaded and not trained since."""
        self._groups: dict[int, tuple[StateTaken, list[Any], tuple[float, ...]]] = {}
        """By optimizer (number): the groups in its state that was taken last, and their rates then."""
        watch.at_end.append(self._look_at_kept)

    def state_taken(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a state; a module's is followed by a weak reference, to see whether it is kept."""
        watch = self._watch
        if watch.busy or self._taking:
            return original(*args, **kwargs)
        self._taking = True
        try:
            state = original(*args, **kwargs)
        finally:
            self._taking = False
        with watch.working():
            kind, owner = _kind(args[0]), self._number(args[0])
            if watch.over:
                self._taken_late(StateTaken(kind=kind, owner=owner, shares=False, late=True), args[0], state)
                return state
            self._look_at_kept()
            first = next((one for one in state.values() if isinstance(one, Tensor)), None)
            own = {one.data_ptr() for one in args[0].parameters()} if kind == "module" else set()
            shares = (
                first is not None
                and kind == "module"
                and any(
                    one.data_ptr() in own for one in state.values() if isinstance(one, Tensor) and one.numel()
                )
            )
            event = watch.add(StateTaken(kind=kind, owner=owner, shares=shares))
            event.weights = _some_weights(state) if kind == "module" else None
            event.used = _has_stepped(args[0])
            if shares:
                assert first is not None
                self._taken.append((weakref.ref(first), event))
            groups = state.get("param_groups")
            if kind == "optimizer" and isinstance(groups, list):
                self._groups[owner] = event, groups, rates_of(groups)
                watch.hook_steps()
        return state

    def _taken_late(self, event: StateTaken, owner: Any, state: Any) -> None:
        """Note a state that is taken after the watch, which a training may be resumed from; the first ones only."""
        if self._late >= _MOST_LATE:
            return
        self._late += 1
        event.weights = _some_weights(state) if event.kind == "module" else None
        event.used = _has_stepped(owner)
        self._watch.add(event)

    def _look_at_kept(self) -> None:
        updates = self._watch.facts.updates
        for reference, event in self._taken:
            if reference() is not None and updates > event.update:
                event.kept = True
        self._taken = [pair for pair in self._taken if pair[0]() is not None]

    def _number(self, owner: Any) -> int:
        watch = self._watch
        if isinstance(owner, nn.Module):
            return -1 if (found := watch.modules.find(owner)) is None else found
        if isinstance(owner, torch.optim.Optimizer) and hasattr(owner, "param_groups"):
            return watch.optimizer(owner)
        return -1 if (found := watch.schedulers.find(owner)) is None else found

    def state_loaded(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a loaded state, and from which taken one it comes."""
        watch = self._watch
        if watch.busy or self._taking:
            return original(*args, **kwargs)
        given = args[1] if len(args) > 1 else kwargs.get("state_dict", {})
        itself = isinstance(args[0], nn.Module) and isinstance(given, Mapping) and _is_own(args[0], given)
        self._taking = True
        try:
            done = original(*args, **kwargs)
        finally:
            self._taking = False
        with watch.working():
            self._look_at_kept()
            tensors = {id(one) for one in given.values()} if isinstance(given, dict) else set()
            taken = next((event for ref, event in self._taken if id(ref()) in tensors), None)
            if taken is not None:
                taken.restored = True
            serial = None if taken is None else taken.serial
            event = watch.add(
                StateLoaded(kind=_kind(args[0]), owner=self._number(args[0]), taken=serial, itself=itself)
            )
            if isinstance(args[0], nn.Module):
                self._weights_loaded(args[0], given, event)
        return done

    def _weights_loaded(self, module: nn.Module, given: Any, event: StateLoaded) -> None:
        watch = self._watch
        weights = [  # `strict=False` leaves the others as they were
            watch.parameter(tensor)
            for name, tensor in module.named_parameters()
            if not isinstance(given, dict) or name in given
        ]
        for number in weights:
            watch.facts.parameters[number].loaded = True
        if isinstance(given, Mapping):
            event.given, event.own = _names(given), _names(module.state_dict())
            event.weights = _some_weights(given)
        if event.taken is None:
            self._loaded.append((frozenset(weights), event))
            watch.hook_steps()

    def went_on(self, optimizer: Any, args: Arguments, kwargs: Keywords) -> None:
        """Note how an optimizer stands before the first step after weights were loaded, or its state was taken."""
        if self._groups:
            self._look_at_groups(optimizer)
        loaded, self._loaded = self._loaded, []
        if not loaded:
            return
        watch = self._watch
        with watch.working():
            number = watch.optimizer(optimizer)
            first = FirstStep(number, _is_fresh(optimizer), rates(optimizer), self._schedules(optimizer))
            for weights, event in loaded:
                if weights & watch.facts.optimizers[number].parameters:
                    event.first = first

    def _look_at_groups(self, optimizer: Any) -> None:
        """Note whether rates were written into the state that was taken, where the optimizer does not read them."""
        number = self._watch.optimizers.find(optimizer)
        if number is None or number not in self._groups:
            return
        event, groups, before = self._groups.pop(number)
        alone: list[Any] = []
        gone = sys.getrefcount(groups) <= sys.getrefcount(alone)
        later = self._watch.facts.events[event.serial :]
        used = any(isinstance(one, FileSaved | StateLoaded) for one in later)
        event.rewritten = gone and not used and rates_of(groups) != before == rates(optimizer)

    def _schedules(self, optimizer: Any) -> dict[int, int]:
        """Return how far the schedulers of an optimizer are."""
        known = {number: one() for number, one in enumerate(self._watch.schedulers.references)}
        return {
            number: int(getattr(one, "last_epoch", 0))
            for number, one in known.items()
            if getattr(one, "optimizer", None) is optimizer
        }

    def file_saved(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note what a file holds."""
        if not self._watch.busy:
            thing = args[0] if args else kwargs.get("obj")
            keys = tuple(map(str, thing))[:50] if isinstance(thing, dict) else ()
            self._watch.add(FileSaved(holds=frozenset(_holdings(thing, 2)), keys=keys))
        return original(*args, **kwargs)

    def file_loaded(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note the names in a file."""
        done = original(*args, **kwargs)
        if not self._watch.busy:
            keys = tuple(map(str, done))[:50] if isinstance(done, dict) else ()
            self._watch.add(FileLoaded(keys=keys))
        return done


def _is_own(module: nn.Module, given: Mapping[Any, Any]) -> bool:
    """Return True if all parameters of a module are given, each as itself or another view of its memory."""
    return next(module.parameters(), None) is not None and all(
        isinstance(one := given.get(name), Tensor) and one.data_ptr() == tensor.data_ptr() and tensor.numel()
        for name, tensor in module.named_parameters()
    )


def _names(state: Mapping[Any, Any]) -> tuple[str, ...]:
    return tuple(str(name) for name, one in state.items() if isinstance(one, Tensor))


def _some_weights(state: Mapping[Any, Any]) -> float | None:
    """Return a sum of some entries of a state's first tensors; None if it holds none that can be read."""
    some = [one for one in islice(state.values(), _LOOKED_AT) if isinstance(one, Tensor) and is_readable(one)]
    values = [float(one.detach().reshape(-1)[:_LOOKED_AT].double().sum()) for one in some]
    return sum(values) if values else None


def _has_stepped(owner: Any) -> bool:
    """Return True if an optimizer's state, or the place of a scheduler, comes from a step."""
    if isinstance(owner, torch.optim.Optimizer):
        return bool(owner.state) and not _is_fresh(owner)
    return not isinstance(owner, nn.Module) and bool(getattr(owner, "last_epoch", 0))


def _is_fresh(optimizer: Any) -> bool:
    """Return True if an optimizer carries nothing from earlier steps; some make their state when they are built."""
    return not any(float(one.get("step", 1)) for one in optimizer.state.values())


def _kind(owner: Any) -> str:
    if isinstance(owner, nn.Module):
        return "module"
    return "optimizer" if isinstance(owner, torch.optim.Optimizer) else "scheduler"


def _holdings(thing: Any, depth: int) -> set[str]:
    if isinstance(thing, nn.Module):
        return {"module"}
    if not isinstance(thing, dict):
        return set()
    for kind, marks in _MARKS.items():
        if marks <= thing.keys():
            return {kind}
    if thing and all(isinstance(one, Tensor) for one in thing.values()):
        return {"module"}
    found: set[str] = set()
    for one in thing.values() if depth else ():
        found |= _holdings(one, depth - 1)
    return found
