"""Observe learning-rate schedulers: built and stepped."""

from typing import Any

import torch
from torch import Tensor

from grader.scripts.facts import Scheduled, SchedulerBuilt
from grader.scripts.patches import Original
from grader.scripts.places import own_place
from grader.scripts.things import SchedulerFacts
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class SchedulerObserver:
    """Handlers around schedulers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._scheduling = 0

    def scheduler_built(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a scheduler; its own first step is left out."""
        watch = self._watch
        if watch.busy:
            return original(*args, **kwargs)
        self._scheduling += 1
        try:
            done = original(*args, **kwargs)
        finally:
            self._scheduling -= 1
        if self._scheduling == 0:
            with watch.working():
                watch.add(SchedulerBuilt(scheduler=self._scheduler(args[0], built=True)))
        return done

    def _scheduler(self, scheduler: Any, *, built: bool = False) -> int:
        watch = self._watch
        number = watch.schedulers.find(scheduler)
        optimizer = getattr(scheduler, "optimizer", None)
        optimizer = getattr(optimizer, "optimizer", optimizer)
        held = watch.optimizer(optimizer) if isinstance(optimizer, torch.optim.Optimizer) else None
        if number is None:
            number = watch.schedulers.add(scheduler)
            place = own_place() if built else None
            facts = SchedulerFacts(number, type(scheduler).__name__, place, held, {})
            watch.facts.schedulers.append(facts)
        numbers = {
            name: float(value)
            for name, value in vars(scheduler).items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        watch.facts.schedulers[number].options = numbers
        return number

    def scheduled(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a step of a scheduler, with the rates before and after."""
        watch = self._watch
        if watch.busy or self._scheduling:
            return original(*args, **kwargs)
        optimizer = getattr(args[0], "optimizer", None)
        before = rates(optimizer)
        self._scheduling += 1
        try:
            done = original(*args, **kwargs)
        finally:
            self._scheduling -= 1
        with watch.working():
            number = self._scheduler(args[0])
            after = rates(optimizer)
            self._count(number, before, after)
            if watch.over:
                return done
            event = watch.add(Scheduled(scheduler=number, before=before, after=after))
            given = args[1] if len(args) > 1 else kwargs.get("metrics")
            if isinstance(args[0], torch.optim.lr_scheduler.ReduceLROnPlateau):
                event.mode = str(args[0].mode)
                event.metric = _number(given)
        return done

    def _count(self, number: int, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        facts = self._watch.facts.schedulers[number]
        facts.steps += 1
        if after:
            facts.rises += after[0] > before[0]
            facts.rate = after[0]


def rates(optimizer: Any) -> tuple[float, ...]:
    """Return the learning rates of an optimizer's groups."""
    return tuple(float(group.get("lr", 0.0)) for group in getattr(optimizer, "param_groups", ()))


def _number(given: Any) -> float | None:
    if isinstance(given, Tensor):
        given = given.detach()
    try:
        return float(given)
    except (TypeError, ValueError):
        return None
