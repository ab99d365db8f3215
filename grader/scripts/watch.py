"""Watch a script: put the observers on, number what is seen, decide when enough was seen, take everything off."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from grader.scripts import places
from grader.scripts.facts import Event, Facts, ForwardRan, Stepped
from grader.scripts.ledger import Ledger
from grader.scripts.numbering import Numbering
from grader.scripts.places import Place
from grader.scripts.sketch import Sketcher
from grader.scripts.things import OptimizerFacts, ParameterFacts

USUAL_UPDATES, MOST_UPDATES = 40, 400
"""Without a number of updates to watch: at least, and at most until an evaluation and the update after it were seen."""
LONGEST_WAIT = 30.0
"""Seconds beyond the usual updates, in which a script may come to its first evaluation."""
_SILENCE = 10.0
"""Seconds between two lines on the progress of the watch."""
_AFTER_EVALUATION = 4
_FIRST_LOOK = 4
_SAMPLE = 64

_E = TypeVar("_E", bound=Event)


class WatchOver(BaseException):
    """Raised inside the script to end it, if asked to stop after the watch."""


class Watch:
    """State shared by the observers of one run."""

    def __init__(self, script: str, folder: str, updates: int | None, over: Callable[[], None]) -> None:
        self.facts = Facts(script, folder)
        self.updates = updates
        self.busy = False
        """An observer is working: calls that it makes are passed on."""
        self.over = False
        """Enough was seen: what is still observed makes no more events of its own, or few."""
        self.in_backward = False
        self.in_steps: list[int] = []
        self.sketcher = Sketcher()
        self.parameters, self.optimizers, self.modules = Numbering(), Numbering(), Numbering()
        self.loaders, self.schedulers, self.scalers = Numbering(), Numbering(), Numbering()
        self.ledgers: dict[int, Ledger] = {}
        self.last_forward: ForwardRan | None = None
        self.births: dict[int, tuple[Any, Place | None, int, bool]] = {}
        """By id of a module: weak reference, place, serial, whether it was built during a forward."""
        self.birth_callers: dict[int, tuple[Place, ...]] = {}
        """By id of a module: the learner's lines that led to its construction, innermost first."""
        self.at_end: list[Callable[[], None]] = []
        """What observers still want to look at when the watch ends."""
        self.forward_began: Callable[[], None] = lambda: None
        """Called when an outermost module begins a forward that builds a graph."""
        self.stage_began: Callable[[Any], None] = lambda optimizer: None
        """Called with an optimizer that is built after the watch."""
        self.hook_steps: Callable[[], None] = lambda: None
        """Calls `went_on` of an observer before every step from then on."""
        self._samples: dict[int, Tensor] = {}
        self._moved: dict[int, bool] = {}
        """By parameter: whether it had moved when somebody last looked."""
        self._over = over
        self._usual_seen = self._said = time.monotonic()
        """When the usual number of updates was reached, and when progress was told."""
        self._evaluations: list[int] = []
        self._without_gradients = -1
        """The update of the last forward without gradients."""
        self.stepped: int | None = None
        """The optimizer that stepped last."""

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Let our own operations be neither observed, recorded by autograd nor autocast."""
        before, self.busy = self.busy, True
        try:
            with torch.no_grad(), torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
                yield
        finally:
            self.busy = before

    def add(self, event: _E, place: Place | None = None) -> _E:
        """Append an event; its place is the learner's running line if none is given."""
        event.serial = len(self.facts.events)
        event.place = place or places.own_place()
        event.update = self.facts.updates
        self.facts.events.append(event)
        return event

    def parameter(self, tensor: Any) -> int:
        """Return the number of a tensor that gets gradients, numbering it if it is new."""
        number = self.parameters.find(tensor)
        if number is None:
            lazy = is_lazy(tensor)  # it has no shape before its first forward
            number = self.parameters.add(tensor)
            known = isinstance(tensor, torch.nn.Parameter)
            shape = () if lazy else tuple(tensor.shape)
            self.facts.parameters.append(ParameterFacts(number, shape, "", known))
            if not lazy and tensor.numel():
                self._samples[number] = _sample(tensor)
        return number

    def optimizer(self, optimizer: Any, place: Place | None = None) -> int:
        """Return the number of an optimizer, numbering it if it is new."""
        number = self.optimizers.find(optimizer)
        if number is None:
            number = self.optimizers.add(optimizer)
            facts = OptimizerFacts(number, type(optimizer).__name__, place, len(self.facts.events), [], [])
            self.facts.optimizers.append(facts)
            reference = self.optimizers.references[number]
            self.ledgers[number] = Ledger(
                lambda: getattr(reference(), "param_groups", []), self.parameter, self.sketcher
            )
        self.read_groups(number)
        return number

    def read_groups(self, number: int) -> None:
        """Read anew which parameters an optimizer holds and with which settings."""
        optimizer = self.optimizers.thing(number)
        if optimizer is not None:
            facts = self.facts.optimizers[number]
            facts.groups = [
                frozenset(map(self.parameter, group["params"])) for group in optimizer.param_groups
            ]
            facts.options = [
                {name: _plain(value) for name, value in group.items() if name != "params"}
                for group in optimizer.param_groups
            ]

    def evaluated(self, module: int) -> None:
        """Note that a forward without gradients ran after an update: no evaluation if a teacher makes one for each."""
        now, before = self.facts.updates, self._without_gradients
        self._without_gradients = now
        trained = (
            self.stepped is None
            or self.facts.modules[module].parameters & self.facts.optimizers[self.stepped].parameters
        )
        if now and now not in self._evaluations and (trained or before < now - 1):
            self._evaluations.append(now)

    def update_ended(self) -> None:
        """Count an update, and end the watch if enough was seen."""
        self.facts.updates += 1
        done = self.facts.updates
        if (
            done >= _FIRST_LOOK and done.bit_count() == 1
        ):  # a script may end at any time, and its model with it
            with self.working():
                for number in range(len(self.parameters.references)):
                    self.moved(number)
        if self.updates is not None:
            enough = done >= self.updates
        else:
            if done == USUAL_UPDATES:
                self._usual_seen = time.monotonic()
            seen = len(self._evaluations) > 1 and done >= self._evaluations[1] + _AFTER_EVALUATION
            late = not self._evaluations and time.monotonic() > self._usual_seen + LONGEST_WAIT
            enough = done >= MOST_UPDATES or (done >= USUAL_UPDATES and (seen or late))
        self._say_progress(enough)
        if enough:
            self.over = True
            self._over()

    def _say_progress(self, enough: bool) -> None:
        """Say in a terminal, from time to time, how far a slow watch is."""
        now = time.monotonic()
        if enough or now < self._said + _SILENCE or not sys.stderr.isatty():
            return
        self._said = now
        most = self.updates or MOST_UPDATES
        sys.stderr.write(f"xray: {self.facts.updates}/{most}\n")

    def moved(self, number: int) -> bool | None:
        """Compare a parameter with its sample from when it was first seen; of one that is gone, as it last was."""
        tensor = self.parameters.thing(number)
        sample = self._samples.get(number)
        if tensor is not None and sample is not None and sample.device == tensor.device:
            self._moved[number] = not torch.equal(_sample(tensor), sample)
        return self._moved.get(number)

    def finish(self, surviving: Callable[[], AbstractContextManager[None]]) -> None:
        """Complete the facts with what is known only at the end; a look that fails costs only itself."""
        with self.working():
            for look in (*self.at_end, self._look_at_tree, self._look_at_optimizers):
                with surviving():
                    look()
            for facts in self.facts.parameters:
                with surviving():
                    self._look_at_parameter(facts)

    def _look_at_optimizers(self) -> None:
        groups = {}
        for number, optimizer in enumerate(self.optimizers.references):
            self.read_groups(number)
            one = optimizer()
            if one is not None:
                groups[number] = {id(p) for group in one.param_groups for p in group["params"]}
        for number, ids in groups.items():
            others = frozenset(k for k, other in groups.items() if k != number and ids & other)
            self.facts.optimizers[number].shares_groups_with = others

    def _look_at_tree(self) -> None:
        tree = set()
        for number in range(len(self.modules.references)):
            module = self.modules.thing(number)
            if module is not None:
                tree |= {self.parameters.find(p) for p in module.parameters()}
            else:
                tree |= self.facts.modules[number].parameters
        for facts in self.facts.parameters:
            facts.in_tree = facts.number in tree

    def _look_at_parameter(self, facts: ParameterFacts) -> None:
        tensor = self.parameters.thing(facts.number)
        facts.alive = tensor is not None
        facts.frozen = tensor is not None and not tensor.requires_grad
        facts.moved = self.moved(facts.number)

    def steps_seen(self, optimizer: int) -> int:
        """Return how often an optimizer stepped."""
        return sum(isinstance(e, Stepped) and e.optimizer == optimizer for e in self.facts.events)


def _sample(tensor: Tensor) -> Tensor:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // _SAMPLE)].clone()


def _plain(value: Any) -> object:
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 else tuple(value.shape)
    return (
        value
        if isinstance(value, bool | int | float | str | tuple) or value is None
        else type(value).__name__
    )


def autocast_type() -> str | None:
    """Return the type to which autocast lowers now; None if it is off."""
    for device in ("cuda", "cpu"):
        if torch.is_autocast_enabled(device):
            return str(torch.get_autocast_dtype(device)).removeprefix("torch.")
    return None
