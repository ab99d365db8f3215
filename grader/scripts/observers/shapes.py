"""Observe along which axes data lies: what a flat tensor was flattened from, and what sequence layers are given."""

import weakref
from collections import Counter
from typing import Any

from torch import Tensor, nn

from grader.scripts.facts import SequenceRan
from grader.scripts.patches import Original
from grader.scripts.places import Place
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_MOST_FLAT, _MOST_RUNS = 64, 16


class ShapeObserver:
    """Handlers around reshaping, and a look at sequence layers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._flat: dict[int, tuple[weakref.ref[Tensor], tuple[int, ...]]] = {}
        """By id of a flat tensor of integers: itself, and the shape that it was flattened from."""
        self._runs: Counter[int] = Counter()

    def flattened(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Remember the shape of integers that are flattened."""
        done = original(*args, **kwargs)
        if self._watch.busy or not isinstance(done, Tensor) or done.ndim != 1 or done.is_floating_point():
            return done
        given = args[0] if args else kwargs.get("input")
        if isinstance(given, Tensor) and given.ndim == 2:
            if len(self._flat) >= _MOST_FLAT:
                self._flat.clear()
            self._flat[id(done)] = weakref.ref(done), tuple(given.shape)
        return done

    def laid(self, tensor: Tensor) -> tuple[int, ...]:
        """Return the shape that a tensor was flattened from; empty if it was not seen."""
        reference, shape = self._flat.get(id(tensor), (None, ()))
        return shape if reference is not None and reference() is tensor else ()

    def part_began(self, module: nn.Module, args: Arguments, built: Place | None) -> None:
        """Note what a layer that takes the time as its first axis is given, within a training forward."""
        if not isinstance(module, nn.RNNBase | nn.MultiheadAttention) or module.batch_first:
            return
        forward = self._watch.last_forward
        given = args[0] if args else None
        if forward is None or not forward.grad or not isinstance(given, Tensor) or given.ndim != 3:
            return
        self._runs[id(module)] += 1
        if self._runs[id(module)] <= _MOST_RUNS:
            kind = type(module).__name__
            shape = tuple(given.shape)
            self._watch.add(SequenceRan(kind=kind, shape=shape, built=built, forward=forward.serial))
