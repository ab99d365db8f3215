"""Observe copies of modules that are moved by hand towards the module that they were copied from, as averages are."""

import weakref
from typing import Any

import torch
from torch import Tensor, nn

from grader.scripts.copy_events import CopyEvaluated, CopyUpdated, CopyUpdatedEarly
from grader.scripts.places import own_place
from grader.scripts.watch import Watch

_PARTS, _ENTRIES = 6, 16
_EXACT, _LEAST = 1e-3, 5e-4
_NEARLY, _CLEARLY = 0.02, 0.2
"""Of a copy that moves within a step: what may be unexplained, of its move and of what the newer weights leave."""


class CopyObserver:
    """What was copied from what, and how a copy moves outside of steps."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._pairs: dict[int, tuple[weakref.ref[nn.Module], weakref.ref[nn.Module]]] = {}
        """By number of a copy: its source and itself."""
        self._before: dict[int, Tensor] = {}
        self._in_step: dict[int, tuple[Tensor, Tensor]] = {}
        """By number of a copy: where it and its source stood when the running step began."""
        self._at_backward: dict[int, Tensor] = {}
        """By number of a copy: where it stood when the newest backward since the step before began."""
        self._statistics: dict[int, Tensor] = {}
        """By number of a copy: its batch norms' statistics when it was copied."""
        self._first: dict[int, Tensor] = {}
        """By number of a copy: some entries of its parameters when it was copied."""

    def copied(self, source: nn.Module, copy: nn.Module, number: int) -> None:
        """Remember a copy."""
        self._pairs[number] = weakref.ref(source), weakref.ref(copy)
        self._statistics[number] = _statistics(copy)
        self._first[number] = _entries(copy)

    def ran(self, module: nn.Module) -> None:
        """Note where a copy runs with gradients on."""
        for number, (_, copy) in self._pairs.items():
            if copy() is module:
                self._watch.facts.modules[number].copy_ran = own_place()

    def evaluates(self, module: nn.Module, number: int) -> None:
        """Note an evaluation of a copy; count those of a moved one with the statistics of its beginning."""
        first = self._statistics.get(number)
        if first is None or module.training:
            return
        if (stood := self._before.get(number)) is not None:
            moved = not torch.equal(_entries(module), stood)
            self._watch.add(CopyEvaluated(module=number, moved=moved))
        if not first.numel():
            return
        if torch.equal(_entries(module), self._first[number]):
            return  # the average has not begun: a teacher may run before its first update
        source = self._pairs[number][0]()
        later = first if source is None else _statistics(source)
        if torch.equal(_statistics(module), first) and not torch.equal(later, first):
            facts = self._watch.facts.modules[number]
            facts.stale_runs += 1
            facts.stale_from_birth = not first.any()

    @property
    def any(self) -> bool:
        """Return True if there are copies."""
        return bool(self._pairs)

    def step_begins(self, optimizer: int) -> None:
        """Remember where copies and their sources stand, before the optimizer's own hooks run.

        Note those that were mixed since the backward with what this optimizer is about to change.
        """
        held = self._watch.facts.optimizers[optimizer].parameters
        for number, (source, copy) in self._pairs.items():
            trained, module = source(), copy()
            if trained is None or module is None:
                continue
            now, target = self._in_step[number] = _entries(module), _entries(trained)
            before = self._at_backward.get(number)
            first = self._watch.parameters.find(next(iter(trained.parameters()), None))
            if before is not None and first in held and _averaged(before, target, now):
                self._watch.add(CopyUpdatedEarly(optimizer=optimizer, module=number))

    def step_ended(self, optimizer: int) -> None:
        """Remember where copies stand, and note those that took weights from before the step while it ran."""
        for number, (source, copy) in self._pairs.items():
            if (module := copy()) is None:
                continue
            now = self._before[number] = _entries(module)
            trained = source()
            if number in self._in_step and trained is not None:
                before, old = self._in_step[number]
                if _took_first(before, old, _entries(trained), now):
                    self._watch.add(CopyUpdatedEarly(optimizer=optimizer, module=number))
        self._in_step, self._at_backward = {}, {}

    def backward_begins(self) -> None:
        """Look how copies have moved since the step before."""
        for number, before in self._before.items():
            source, copy = (one() for one in self._pairs[number])
            if source is None or copy is None:
                continue
            now, target = _entries(copy), _entries(source)
            if now.shape == before.shape == target.shape and not torch.equal(now, before):
                self._move(number, before, now, target)
        self._before = {}
        copies = {number: copy() for number, (_, copy) in self._pairs.items()}
        self._at_backward = {number: _entries(one) for number, one in copies.items() if one is not None}

    def _move(self, number: int, before: Tensor, now: Tensor, target: Tensor) -> None:
        if float((before - target).norm()) < _EXACT * float(target.norm()):
            return  # both are alike: what was mixed cannot be told
        found, rest = _mixed(before, target, now)
        if rest < _EXACT * float(now.norm()):
            self._watch.add(CopyUpdated(module=number, kept=float(found[0]), taken=float(found[1])))


def _averaged(before: Tensor, target: Tensor, now: Tensor) -> bool:
    """Return True if a copy moved some of the way to its source."""
    if not before.shape == target.shape == now.shape or torch.equal(before, now):
        return False
    found, rest = _mixed(before, target, now)
    share = float(found[1])
    exact = rest < _NEARLY * float((now - before).norm()) and abs(float(found.sum()) - 1) < _NEARLY
    return exact and _LEAST < share < 1 - _LEAST


def _mixed(before: Tensor, target: Tensor, now: Tensor) -> tuple[Any, float]:
    """Return the shares of two tensors that come nearest to a third, and what they leave of it."""
    parts = torch.stack([before, target], 1)
    found: Any = torch.linalg.lstsq(parts, now[:, None], driver="gelsd").solution[:, 0]
    return found, float((parts @ found - now).norm())


def _took_first(before: Tensor, old: Tensor, new: Tensor, now: Tensor) -> bool:
    """Return True if a copy moved towards the older of two states of its source, and not towards the newer."""
    if not before.shape == old.shape == new.shape == now.shape or torch.equal(before, now):
        return False
    found, rest = _mixed(before, old, now)
    _, other = _mixed(before, new, now)
    exact = rest < _NEARLY * float((now - before).norm()) and rest < _CLEARLY * other
    return exact and abs(float(found.sum()) - 1) < _NEARLY and float(found[1]) > 0


def _statistics(module: nn.Module) -> Tensor:
    """Return some of the running means of a module's batch norms."""
    norms = [one for one in module.modules() if isinstance(one, nn.modules.batchnorm._BatchNorm)]
    means = [one.running_mean.detach()[:_ENTRIES].cpu() for one in norms if one.running_mean is not None]
    return torch.cat(means[:_PARTS]) if means else torch.zeros(0)


def _entries(module: nn.Module) -> Tensor:
    """Return some entries of a module's first parameters."""
    some = [one.detach().reshape(-1)[:_ENTRIES].double().cpu() for one in list(module.parameters())[:_PARTS]]
    return torch.cat(some) if some else torch.zeros(0, dtype=torch.float64)
