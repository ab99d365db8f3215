"""Keep the books of one optimizer's gradients: what each backward put in, what was cleared, what a step read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.scripts.recipe import Array, combination, plain_sum
from grader.scripts.sketch import Sketcher

_MOST_PARTS = 128
"""Contributions of one window that are kept."""
MOST_IN_RECIPE = 64


@dataclass(slots=True)
class Reading:
    """What a step read."""

    norm: float
    recipe: dict[int, float]
    carried: float | None
    unexplained: float
    window: tuple[int, ...]
    empty: int
    total: int
    cosines: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Part:
    backward: int
    sketch: Array
    dropped: bool = False


@dataclass
class Ledger:
    """The gradients of one optimizer, in sketches."""

    groups: Callable[[], list[dict[str, Any]]]
    number_of: Callable[[Any], int]
    sketcher: Sketcher
    parts: list[_Part] = field(default_factory=list)
    carry: Array | None = None
    carry_recipe: dict[int, float] = field(default_factory=dict)
    _read: Array | None = None
    _recipe: dict[int, float] = field(default_factory=dict)
    _fresh: bool = True
    _signature: tuple[tuple[int, int, int], ...] = ()
    _sketch: Array | None = None

    def current(self) -> Array | None:
        """Sketch what lies in `.grad` now; None if every gradient is None."""
        found = [(p, p.grad) for group in self.groups() for p in group["params"] if p.grad is not None]
        signature = tuple((id(p), id(gradient), gradient._version) for p, gradient in found)
        if signature != self._signature or not signature:
            sketch = self.sketcher.sketch((self.number_of(p), gradient) for p, gradient in found)
            self._sketch = None if sketch is None else sketch.double().cpu().numpy()
            self._signature = signature
        return self._sketch

    def forget_signature(self) -> None:
        """Look anew next time: gradients were replaced."""
        self._signature = ()

    def before_backward(self) -> Array | None:
        """Note what already lies in `.grad`."""
        now = self.current()
        if self._fresh:
            self._carry(now)
            self._fresh = False
        if now is None or not now.any():
            self._drop()
        return now

    def after_backward(self, number: int, before: Array | None) -> float:
        """Book a backward's own contribution and return its norm."""
        now = self.current()
        if now is None:
            return 0.0
        own = now if before is None else now - before
        norm = float(np.linalg.norm(own))
        if now is not before and (norm > 0 or not np.isfinite(norm)):
            self.parts = [*self.parts[1 - _MOST_PARTS :], _Part(number, own)]
            return norm
        return 0.0

    def cleared(self) -> tuple[int, ...]:
        """Book a clearing and return the backwards that it threw away."""
        self.forget_signature()
        now = self.current()
        return self._drop() if now is None or not now.any() else ()

    def step(self) -> Reading:
        """Book a step: solve for what it read."""
        now = self.current()
        if self._fresh:
            self._carry(now)
        window = tuple(part.backward for part in self.parts)
        parts = [part for part in self.parts if not part.dropped]
        params = [p for group in self.groups() for p in group["params"]]
        reading = Reading(0.0, {}, None, 0.0, window, sum(p.grad is None for p in params), len(params))
        if now is not None and now.any():
            sketches = [part.sketch for part in parts] + ([] if self.carry is None else [self.carry])
            factor = plain_sum(now, [part.sketch for part in parts])
            if factor is None:
                found, reading.unexplained = combination(now, sketches)
            else:
                found = [factor] * len(parts) + ([] if self.carry is None else [0.0])
            reading.norm = float(np.linalg.norm(now))
            recipe = {part.backward: value for part, value in zip(parts, found, strict=False) if value}
            if self.carry is not None:
                reading.carried = found[-1]
                for backward, value in self.carry_recipe.items():
                    recipe[backward] = recipe.get(backward, 0.0) + found[-1] * value
            reading.cosines = _cosines(parts)
            largest = max(map(abs, recipe.values()), default=0.0)
            kept = sorted(one for one, value in recipe.items() if abs(value) > 0.01 * largest)
            reading.recipe = {one: recipe[one] for one in kept[-MOST_IN_RECIPE:]}
        self._read, self._recipe = now, reading.recipe
        self.parts, self._fresh = [], True
        return reading

    def _carry(self, now: Array | None) -> None:
        self.carry, self.carry_recipe = None, {}
        if now is None or not now.any():
            return
        self.carry = now
        if self._read is not None and self._read.any():
            (factor,), left = combination(now, [self._read])
            if left < 0.05:
                self.carry_recipe = {one: factor * value for one, value in self._recipe.items()}

    def _drop(self) -> tuple[int, ...]:
        gone = tuple(part.backward for part in self.parts if not part.dropped)
        for part in self.parts:
            part.dropped = True
        return gone


def _cosines(parts: list[_Part]) -> dict[int, float]:
    """Return the cosines of the contributions with the newest one."""
    found = {}
    for part in parts[:-1]:
        lengths = float(np.linalg.norm(part.sketch) * np.linalg.norm(parts[-1].sketch))
        if lengths > 0 and np.isfinite(lengths):
            found[part.backward] = float(part.sketch @ parts[-1].sketch) / lengths
    return found
