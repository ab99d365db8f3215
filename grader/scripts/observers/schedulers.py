"""Observe learning-rate schedulers: built and stepped."""

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from grader.scripts.facts import Scheduled, SchedulerBuilt
from grader.scripts.patches import Original
from grader.scripts.places import callers, own_place
from grader.scripts.things import Deserted, SchedulerFacts
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


_MOST_RATES = 4096


class SchedulerObserver:
    """Handlers around schedulers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._scheduling = 0
        self._stepped: dict[int, tuple[weakref.ref[Any], int]] = {}
        """By id of an optimizer: itself and its steps."""
        self._strides: dict[int, int] = {}
        """By optimizer (number): of so many steps the rate of one is kept."""
        self._counts: dict[int, dict[int, int]] = {}
        """By scheduler: steps of each optimizer when it stepped last."""

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
            watch.hook_steps()
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
        number = watch.schedulers.find(args[0]) if watch.over else None
        if number is not None:  # after the watch, a step costs next to nothing: no context, no options
            after = rates(optimizer)
            self._count(number, before, after)
            self._look_for_another(number, getattr(optimizer, "optimizer", optimizer), before, after)
            return done
        with watch.working():
            number = self._scheduler(args[0])
            after = rates(optimizer)
            self._count(number, before, after)
            self._look_for_another(number, getattr(optimizer, "optimizer", optimizer), before, after)
            if watch.over:
                return done
            event = watch.add(Scheduled(scheduler=number, before=before, after=after, callers=callers()))
            given = args[1] if len(args) > 1 else kwargs.get("metrics")
            if isinstance(args[0], torch.optim.lr_scheduler.ReduceLROnPlateau):
                event.mode = str(args[0].mode)
                event.metric = _number(given)
        return done

    def went_on(self, optimizer: Any, args: Arguments, kwargs: Keywords) -> None:
        """Count the steps of an optimizer."""
        reference, count = self._stepped.get(id(optimizer), (None, 0))
        if reference is None or reference() is not optimizer:
            reference, count = weakref.ref(optimizer), 0
        self._stepped[id(optimizer)] = reference, count + 1
        number = self._watch.optimizers.find(optimizer)
        if number is not None and count % self._strides.setdefault(number, 1) == 0:
            course = self._watch.facts.optimizers[number].course
            course.append(float(optimizer.param_groups[0].get("lr", 0.0)))
            if len(course) > _MOST_RATES:
                del course[1::2]
                self._strides[number] *= 2

    def _look_for_another(
        self, number: int, held: Any, before: tuple[float, ...], after: tuple[float, ...]
    ) -> None:
        """Note whether another optimizer has trained the scheduler's parameters since its last step, and only it."""
        counts = self._counts.get(number)
        self._counts[number] = {key: count for key, (_, count) in self._stepped.items()}
        since = {
            key: self._counts[number][key] - (counts or {}).get(key, 0)
            for key, (reference, _) in self._stepped.items()
            if reference() is not None
        }
        facts = self._watch.facts.schedulers[number]
        if counts is None or since.pop(id(held), 0):
            facts.deserted = None
            return
        others = [one for key in since if since[key] and _trains(one := self._stepped[key][0](), held)]
        if len(others) != 1 or self._is_held(others[0]) or not (before and after):
            facts.deserted = facts.deserted if not any(since.values()) else None
            return
        with self._watch.working():
            other, now = self._watch.optimizer(others[0]), rates(others[0])
        found = facts.deserted
        if found is None or found.optimizer != other or found.rates != now:
            found = facts.deserted = Deserted(optimizer=other, rates=now, first=before[0])
        found.calls += 1
        found.updates += since[id(others[0])]
        found.last = after[0]

    def _is_held(self, optimizer: Any) -> bool:
        """Return True if some scheduler is bound to an optimizer."""
        known = [one() for one in self._watch.schedulers.references]
        return any(getattr(one, "optimizer", None) is optimizer for one in known if one is not None)

    def _count(self, number: int, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        facts = self._watch.facts.schedulers[number]
        facts.steps += 1
        if after:
            facts.rises += after[0] > before[0]
            facts.rate = after[0]


def _trains(optimizer: Any, other: Any) -> bool:
    """Return True if two optimizers hold some parameters both, in groups of their own."""
    groups = [getattr(one, "param_groups", []) for one in (optimizer, other)]
    if any(mine is group for mine in groups[0] for group in groups[1]):
        return False
    held = [{id(p) for group in own for p in group["params"]} for own in groups]
    return bool(held[0] & held[1])


def rates(optimizer: Any) -> tuple[float, ...]:
    """Return the learning rates of an optimizer's groups."""
    return rates_of(getattr(optimizer, "param_groups", ()))


def rates_of(groups: Iterable[Any]) -> tuple[float, ...]:
    """Return the learning rates of an optimizer's groups, or of the copies in its state."""
    return tuple(float(group.get("lr", 0.0)) for group in groups)


def _number(given: Any) -> float | None:
    if isinstance(given, Tensor):
        given = given.detach()
    try:
        return float(given)
    except (TypeError, ValueError):
        return None
