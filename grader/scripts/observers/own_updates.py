"""Observe updates that a script makes by hand, without an optimizer of torch: what they are made of, and their end."""

import gc
import re
from types import GeneratorType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.scripts.by_hand import GradientsReused, UpdatesStopped
from grader.scripts.facts import UpdatedByHand
from grader.scripts.graph import version
from grader.scripts.places import Place, is_own, own_place, place_of
from grader.scripts.recipe import Array, combination
from grader.scripts.source import line_of
from grader.scripts.spent import is_spent
from grader.scripts.watch import Watch

_FEWEST_UPDATES, _MOST_UPDATES = 16, 256
_OLDEST, _NEWEST = 3, 6
_MOST_ENTRIES = 1 << 22
_STILL = 6
"""Backwards in a row after which parameters that have not changed are said to lie still."""
_NAMES = {"p", "param", "params", "parameters", "weight", "weights", "named"}


class OwnUpdateObserver:
    """Follows leaves that `torch.autograd.grad` is asked about, and parameters without an optimizer."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._before: dict[int, tuple[Tensor, int | None]] = {}
        """By parameter: a copy of it as it was after the last update, and its version."""
        self._windows: list[Array] = []
        """What was taken before each update, in sketches."""
        self._window: Array | None = None
        self._place: Place | None = None
        self._read: GradientsReused | None = None
        self._still = 0
        self._lay: list[float] = []
        watch.at_end.append(self._tell)

    # ---- torch.autograd.grad -------------------------------------------------------------------

    def gradient_asked(self, inputs: Any) -> list[Tensor]:
        """Note an update since the last call, and return the leaves that this one is about; [] if it is no such call.

        An optimizer of torch, or inputs that are no leaves, make it another thing.
        """
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs or ())
        leaves = [one for one in given if isinstance(one, Tensor) and one.is_leaf and one.requires_grad]
        large = sum(one.numel() for one in leaves) > _MOST_ENTRIES
        if len(leaves) < len(given) or not leaves or large or self._has_optimizer():
            return []
        numbers = [self._watch.parameter(one) for one in leaves]
        if set(numbers) != set(self._before):
            self._windows, self._window, self._read = [], None, None
            self._remember(numbers)
        elif any(map(self._changed, numbers)):
            self._update_seen(numbers)
        return leaves

    def gradient_given(self, leaves: list[Tensor], gradients: Any) -> None:
        """Book the gradients of some leaves."""
        pairs = zip(leaves, gradients, strict=True)
        sketch = self._watch.sketcher.sketch(
            (self._watch.parameter(leaf), one)
            for leaf, one in pairs
            if isinstance(one, Tensor) and one.shape == leaf.shape
        )
        if sketch is not None:
            own = sketch.double().cpu().numpy()
            self._window = own if self._window is None else self._window + own
            self._place = own_place()

    def _has_optimizer(self) -> bool:
        return any(one() is not None for one in self._watch.optimizers.references)

    def _remember(self, numbers: list[int]) -> None:
        tensors = [(number, self._watch.parameters.thing(number)) for number in numbers]
        self._before = {number: (one.detach().clone(), version(one)) for number, one in tensors}

    def _changed(self, number: int) -> bool:
        tensor = self._watch.parameters.thing(number)
        before, count = self._before[number]
        same = version(tensor) == count and torch.equal(tensor.reshape(-1)[:8], before.reshape(-1)[:8])
        return not same

    def _update_seen(self, numbers: list[int]) -> None:
        watch = self._watch
        if self._window is not None:
            self._windows.append(self._window)
            self._window = None
            if _FEWEST_UPDATES <= len(self._windows) <= _MOST_UPDATES:
                self._solve(numbers)
        self._remember(numbers)
        watch.add(UpdatedByHand())
        watch.update_ended()

    def _solve(self, numbers: list[int]) -> None:
        changes = [
            (one, self._watch.parameters.thing(one).detach() - self._before[one][0]) for one in numbers
        ]
        sketch = self._watch.sketcher.sketch(changes)
        if sketch is None or not bool(sketch.isfinite().all()):
            return
        old, new = self._windows[:_OLDEST], self._windows[-_NEWEST:]
        between = np.sum(self._windows[_OLDEST:-_NEWEST], axis=0)
        read = sketch.double().cpu().numpy()
        found, left = combination(read, [*old, between, *new])
        self._read = GradientsReused(
            place=self._place,
            updates=len(self._windows),
            oldest=tuple(found[:_OLDEST]),
            between=found[_OLDEST],
            newest=tuple(found[_OLDEST + 1 :]),
            unexplained=left,
            without_oldest=combination(read, [between, *new])[1],
        )

    def _tell(self) -> None:
        if self._read is not None:
            self._watch.add(self._read, self._place)

    # ---- backward ------------------------------------------------------------------------------

    def backward_begins(self, changed: list[int], numbers: list[int]) -> None:
        """Note that parameters lie still: `changed` have moved since the backward before."""
        watch = self._watch
        if changed or not numbers or self._has_optimizer():
            self._still = 0
            return
        self._still += 1
        if self._still not in (1, _STILL):
            return
        lie = [
            float(one.detach().double().sum())
            for n in numbers
            if (one := watch.parameters.thing(n)) is not None
        ]
        if self._still == 1:
            self._lay = lie
        elif lie == self._lay:
            for spent in _spent_iterators()[:1]:
                watch.add(UpdatesStopped(spent=spent))


def _spent_iterators() -> list[Place | None]:
    """Return the places of living iterators over parameters that have nothing left, the script's own first."""
    own: list[Place | None] = []
    other: list[Place | None] = []
    for one in gc.get_objects():
        if type(one) not in (GeneratorType, filter, map) or not is_spent(one):
            continue
        if not isinstance(one, GeneratorType):
            other.append(None)
        elif is_own(one.gi_code.co_filename):
            place = place_of(one.gi_code, None)
            own += [place] if _NAMES & set(re.findall(r"[a-z]+", line_of(place).lower())) else []
        elif one.gi_code.co_name in ("parameters", "named_parameters"):
            other.append(None)
    return own + other
