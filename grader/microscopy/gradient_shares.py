"""What `.grad` and each update are made of at every moment: how much of which batch's own gradient.

Moment by moment, a changed `.grad` is the old one times a number, plus numbers times the gradients of the batches that
went forward since. With four numbers in the model and few unknowns, least squares fits to rounding or not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from grader.microscopy.recording import Moment, Numbers, Recording, Slots, Snapshot
from grader.microscopy.situations import Batch, FourNumbers, mean_square

_RTOL = 1e-9
_UPDATES_ELSEWHERE = ("first_step", "second_step")
"""SAM's way to w + e and back: parameters move, but this is no update."""
Vector = NDArray[np.float64]
Amounts = Mapping["Key", float]


@dataclass(frozen=True, order=True)
class Key:
    """One batch's gradient at one place."""

    batch: int
    """From 0."""
    away: bool
    """Taken at SAM's w + e."""
    update: int
    """How many updates were before: the same batch has another gradient after one."""


@dataclass
class Contents:
    """What is in `.grad` after a moment, and what went into the update that it made."""

    grad: Amounts | None
    """None: no mixture of the batches' gradients."""
    update: Amounts | None = None
    """None where no update was made, or one that is no mixture (Adam divides)."""
    updated: bool = False


@dataclass
class Flow:
    """The contents after each moment, and the gradients themselves."""

    contents: list[Contents] = field(default_factory=list)
    gradients: dict[Key, Numbers] = field(default_factory=dict)


def flow(recording: Recording, batches: Sequence[Batch]) -> Flow:
    """Follow every gradient through a recording.

    Args:
        recording: of one program.
        batches: that the program was given.
    """
    with torch.random.fork_rng(devices=[]):
        return _Follower(batches).follow(recording)


class _Follower:
    def __init__(self, batches: Sequence[Batch]) -> None:
        self._model, self._batches = FourNumbers(torch.Generator()), batches
        """A model of its own: the program may have spoilt the one that it was given."""
        self._flow = Flow()
        self._grad: Amounts | None = {}
        self._buffer: Amounts | None = {}
        self._known: list[Key] = []
        """What was in `.grad` when that was last known: a clip by hand changes one tensor after the other."""
        self._pending: list[Key] = []
        self._home: Numbers = ()
        self._updates = 0

    def follow(self, recording: Recording) -> Flow:
        before = recording.start
        self._home = before.values
        for moment in recording.moments:
            if moment.kind == "forward":
                self._pending += [self._key(batch, before.values) for batch in moment.batches]
            contents = self._updated(moment, before) or Contents(None)
            if moment.after.grads != before.grads:
                self._grad = self._changed(before.grads, moment.after.grads)
            contents.grad = self._grad
            self._flow.contents.append(contents)
            before = moment.after
        return self._flow

    def _key(self, batch: int, values: Numbers) -> Key:
        key = Key(batch, values != self._home, self._updates)
        if key not in self._flow.gradients:
            self._flow.gradients[key] = self._gradient(batch, values)
        return key

    def _gradient(self, batch: int, values: Numbers) -> Numbers:
        parameters = list(self._model.parameters())
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.tensor(values, dtype=torch.float64), parameters)
        xb, yb = self._batches[batch]
        found = torch.autograd.grad(mean_square(self._model(xb), yb), parameters)
        return tuple(float(v) for gradient in found for v in gradient.flatten().tolist())

    def _changed(self, before: Slots, after: Slots) -> Amounts | None:
        pending, self._pending = list(dict.fromkeys(self._pending)), []
        old, new = _vector(before), _vector(after)
        if not new.any():
            self._known = []
            return {}
        found = None if self._grad is None else self._added(self._grad, pending, old, new)
        if found is None:
            keys = list(dict.fromkeys([*self._known, *pending]))
            amounts = _solve(self._columns(keys), new, float(np.abs(new).max()))
            found = None if amounts is None else dict(zip(keys, amounts, strict=True))
        self._known = list(dict.fromkeys([*self._known, *pending])) if found is None else list(found)
        return (
            None if found is None else {key: amount for key, amount in found.items() if abs(amount) > _RTOL}
        )

    def _added(self, held: Amounts, pending: Sequence[Key], old: Vector, new: Vector) -> Amounts | None:
        """The old gradient plus new ones; or times a number; or both."""
        fresh = self._columns(pending)
        for columns, target, scaled in (
            (fresh, new - old, False),
            ([old], new, True),
            ([old, *fresh], new, True),
        ):
            amounts = _solve(columns, target, float(np.abs(new).max()))
            if amounts is None:
                continue
            times, more = (amounts[0], amounts[1:]) if scaled else (1.0, amounts)
            kept = {key: times * amount for key, amount in held.items()}
            for key, amount in zip(pending, more, strict=False):
                kept[key] = kept.get(key, 0.0) + amount
            return kept
        return None

    def _columns(self, keys: Sequence[Key]) -> list[Vector]:
        return [np.array(self._flow.gradients[key]) for key in keys]

    def _updated(self, moment: Moment, before: Snapshot) -> Contents | None:
        """The contents of a moment that moved the parameters for good."""
        after = moment.after
        if after.values == before.values:
            return None
        if moment.kind in _UPDATES_ELSEWHERE:
            return None
        self._home = after.values
        self._updates += 1
        if not np.isfinite([*before.values, *after.values]).all():
            return Contents(None, None, True)
        moved = np.array(before.values) - np.array(after.values)
        size = float(np.abs(before.values).max())
        grad, step = _vector(before.grads), before.rate
        now, then = after.state.get("momentum_buffer"), before.state.get("momentum_buffer")
        if now is not None:
            self._buffer = self._mixed(_vector(then or (0.0,) * len(now)), grad, _vector(now))
            same = _close(moved, step * _vector(now), size)
            return Contents(None, self._buffer if same else None, True)
        return Contents(None, self._grad if _close(moved, step * grad, size) else None, True)

    def _mixed(self, old: Vector, grad: Vector, new: Vector) -> Amounts | None:
        """The momentum buffer, which is the old one times a number plus the gradient times another."""
        if self._grad is None or self._buffer is None:
            return None
        columns = [old, grad] if old.any() else [grad]
        amounts = _solve(columns, new, float(np.abs(new).max()))
        if amounts is None:
            return None
        times, share = (amounts[0], amounts[1]) if old.any() else (0.0, amounts[0])
        kept = {key: times * amount for key, amount in self._buffer.items()}
        for key, amount in self._grad.items():
            kept[key] = kept.get(key, 0.0) + share * amount
        return {key: amount for key, amount in kept.items() if abs(amount) > _RTOL}


def _vector(slots: Slots) -> Vector:
    return np.array([0.0 if slot is None else slot for slot in slots], dtype=np.float64)


def _solve(columns: Sequence[Vector], target: Vector, size: float) -> list[float] | None:
    """What each column is multiplied by to give the target; None where nothing does, or too much would."""
    if not columns or len(columns) >= len(target) or not np.isfinite([*columns, target]).all():
        return None
    solved, *_ = np.linalg.lstsq(np.stack(columns, axis=1), target, rcond=1e-12)
    reached = np.stack(columns, axis=1) @ solved
    return [float(v) for v in solved] if _close(reached, target, size) else None


def _close(one: Vector, other: Vector, size: float) -> bool:
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=0.0, atol=_RTOL * max(size, 1e-300))
    )
