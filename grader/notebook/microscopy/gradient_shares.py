"""Work out what `.grad` and each update are made of at every moment: how much of which batch's own gradient.

A recording only holds numbers: four values of `.grad` after each moment. The gradient that a batch has at given
parameters can be computed separately, so the mix can be solved for. Whenever `.grad` changes, three explanations are
tried in turn: the old `.grad` plus multiples of the gradients of the batches that went forward since then; the old
`.grad` times a number (a clip, a division); both at once. Each is a least-squares problem with fewer unknowns than the
model's four numbers, so it fits to rounding or not at all. If none fits, the mix is unknown (None) until a later
`.grad` can be solved for. An update takes over the mix of `.grad` if the parameters moved by exactly rate * `.grad`, or
the mix of the momentum buffer if they moved by rate * buffer; otherwise (Adam divides) it has none.

Example: `.grad` holds g₁. Batch 2 goes forward, `(loss / 2).backward()` runs, and the new `.grad` minus the old is 0.5
times g₂ in all four numbers: the mix is {g₁: 1, g₂: 0.5}. A clip that then scales `.grad` by 0.3 makes it {g₁: 0.3, g₂:
0.15}, and `step` of plain SGD is an update with that mix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from grader.notebook.microscopy.recording import Numbers, RecordedMoment, Recording, Slots, Snapshot
from grader.notebook.microscopy.situations import Batch, FourNumbers, mean_square

_RTOL = 1e-9
"""Relative error up to which a fit counts as exact, and size below which a coefficient counts as zero."""
_SAM_MOVES = ("first_step", "second_step")
"""SAM's moves to w + e and back: parameters change, but this is no update."""
Vector = NDArray[np.float64]
Amounts = Mapping["Key", float]
"""A mix of gradients: the coefficient of each."""


@dataclass(frozen=True, order=True)
class Key:
    """The gradient of one batch at one point."""

    batch: int
    """Index of the batch, from 0."""
    away: bool
    """True if the gradient was taken at SAM's w + e."""
    update: int
    """Number of updates made before: after an update, the same batch has another gradient."""


@dataclass
class Contents:
    """The mix of gradients in `.grad` after a moment, and in the update that the moment made."""

    grad: Amounts | None
    """Coefficient of each gradient; empty if `.grad` is empty, None if it is no known mix of batch gradients."""
    update: Amounts | None = None
    """None if no update was made, or if the update is no mix (Adam divides)."""
    updated: bool = False


@dataclass
class Flow:
    """The contents after each moment, and the four numbers of every gradient that appears in them."""

    contents: list[Contents] = field(default_factory=list)
    gradients: dict[Key, Numbers] = field(default_factory=dict)


def flow(recording: Recording, batches: Sequence[Batch]) -> Flow:
    """Follow the batches' gradients through a recording.

    Args:
        recording: the recording of one program.
        batches: the batches that the program was given.
    """
    with torch.random.fork_rng(devices=[]):
        return _Follower(batches).follow(recording)


class _Follower:
    """Goes through a recording moment by moment and keeps the mix of `.grad` and of the momentum buffer."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._model, self._batches = FourNumbers(torch.Generator()), batches
        """Our own copy of the model: the program may have spoilt the one that it was given."""
        self._flow = Flow()
        self._grad: Amounts | None = {}
        self._buffer: Amounts | None = {}
        self._known: list[Key] = []
        """Gradients in the last known mix, plus those added since. A hand-written clip changes one tensor after the
        other, so `.grad` is no mix in between; after the last tensor it can be solved for again from these.
        """
        self._forwarded: list[Key] = []
        self._w: Numbers = ()
        self._updates = 0

    def follow(self, recording: Recording) -> Flow:
        """Return the contents after each moment of the recording."""
        before = recording.start
        self._w = before.values
        for moment in recording.moments:
            if moment.kind == "forward":
                self._forwarded += [self._key(batch, before.values) for batch in moment.batches]
            contents = self._updated(moment, before) or Contents(None)
            if moment.after.grads != before.grads:
                self._grad = self._changed(before.grads, moment.after.grads)
            contents.grad = self._grad
            self._flow.contents.append(contents)
            before = moment.after
        return self._flow

    def _key(self, batch: int, values: Numbers) -> Key:
        """Return the key of a batch's gradient at these parameters; its numbers are computed at first sight."""
        key = Key(batch, values != self._w, self._updates)
        if key not in self._flow.gradients:
            self._flow.gradients[key] = self._gradient(batch, values)
        return key

    def _gradient(self, batch: int, values: Numbers) -> Numbers:
        """Compute a batch's gradient at these parameters, as four numbers."""
        parameters = list(self._model.parameters())
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.tensor(values, dtype=torch.float64), parameters)
        xb, yb = self._batches[batch]
        found = torch.autograd.grad(mean_square(self._model(xb), yb), parameters)
        return tuple(float(v) for gradient in found for v in gradient.flatten().tolist())

    def _changed(self, before: Slots, after: Slots) -> Amounts | None:
        """Return the mix in a changed `.grad`: first explained by the old
        mix, then solved for from all known gradients.
        """
        pending, self._forwarded = list(dict.fromkeys(self._forwarded)), []
        old, new = _vector(before), _vector(after)
        if not new.any():
            self._known = []
            return {}
        found = None if self._grad is None else self._from_old_mix(self._grad, pending, old, new)
        # The old mix is unknown or does not help: solve for all gradients that may be in `.grad`.
        if found is None:
            keys = list(dict.fromkeys([*self._known, *pending]))
            amounts = _solve(self._columns(keys), new, float(np.abs(new).max()))
            found = None if amounts is None else dict(zip(keys, amounts, strict=True))
        self._known = list(dict.fromkeys([*self._known, *pending])) if found is None else list(found)
        return (
            None if found is None else {key: amount for key, amount in found.items() if abs(amount) > _RTOL}
        )

    def _from_old_mix(
        self, held: Amounts, pending: Sequence[Key], old: Vector, new: Vector
    ) -> Amounts | None:
        """Explain a new `.grad` by the old one: plus new gradients, times a number, or both; None if nothing fits."""
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
        """Return the numbers of these gradients, one vector each."""
        return [np.array(self._flow.gradients[key]) for key in keys]

    def _updated(self, moment: RecordedMoment, before: Snapshot) -> Contents | None:
        """Return the contents for a moment that changed the parameters for good; None for any other moment."""
        after = moment.after
        if after.values == before.values:
            return None
        if moment.kind in _SAM_MOVES:
            return None
        self._w = after.values
        self._updates += 1
        if not np.isfinite([*before.values, *after.values]).all():
            return Contents(None, None, True)
        moved = np.array(before.values) - np.array(after.values)
        size = float(np.abs(before.values).max())
        grad, step = _vector(before.grads), before.rate
        now, then = after.state.get("momentum_buffer"), before.state.get("momentum_buffer")
        if now is not None:
            self._buffer = self._momentum_mix(_vector(then or (0.0,) * len(now)), grad, _vector(now))
            same = _close(moved, step * _vector(now), size)
            return Contents(None, self._buffer if same else None, True)
        return Contents(None, self._grad if _close(moved, step * grad, size) else None, True)

    def _momentum_mix(self, old: Vector, grad: Vector, new: Vector) -> Amounts | None:
        """Return the mix in the momentum buffer: the old buffer times one number plus the gradient times another."""
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
    """Return the factors with which the columns add up to the target.

    None if no factors do, or if there are as many columns as numbers, so that any target could be reached.
    """
    if not columns or len(columns) >= len(target) or not np.isfinite([*columns, target]).all():
        return None
    solved, *_ = np.linalg.lstsq(np.stack(columns, axis=1), target, rcond=1e-12)
    reached = np.stack(columns, axis=1) @ solved
    return [float(v) for v in solved] if _close(reached, target, size) else None


def _close(one: Vector, other: Vector, size: float) -> bool:
    """Return True if the vectors agree to `_RTOL` times `size`, the magnitude of the numbers at hand."""
    return one.shape == other.shape and bool(
        np.allclose(one, other, rtol=0.0, atol=_RTOL * max(size, 1e-300))
    )
