"""Observe along which axes data lies: what a flat tensor was flattened from, and what sequence layers are given."""

import sys
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from grader.scripts.facts import AxesSwapped, SequenceRan
from grader.scripts.patches import Original
from grader.scripts.places import Place, is_own, own_place
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_MOST_FLAT, _MOST_RUNS = 64, 16
_ROOM = str(Path(__file__).resolve().parents[1])


class ShapeObserver:
    """Handlers around reshaping, and a look at sequence layers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._flat: dict[int, tuple[weakref.ref[Tensor], tuple[int, ...]]] = {}
        """By id of a flat tensor of integers: itself, and the shape that it was flattened from."""
        self._runs: Counter[int] = Counter()
        self._swaps: Counter[Place | None] = Counter()
        self.in_forward: Callable[[], bool] = lambda: False

    def flattened(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Remember the shape of integers that are flattened."""
        done = original(*args, **kwargs)
        if self._watch.busy or not isinstance(done, Tensor):
            return done
        given = args[0] if args else kwargs.get("input")
        if done.ndim > 2 and isinstance(given, Tensor) and not self._watch.in_backward:
            self._look_for_swap(tuple(given.shape), tuple(done.shape))
        if done.ndim != 1 or done.is_floating_point():
            return done
        if isinstance(given, Tensor) and given.ndim == 2:
            if len(self._flat) >= _MOST_FLAT:
                self._flat.clear()
            self._flat[id(done)] = weakref.ref(done), tuple(given.shape)
        return done

    def _look_for_swap(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Note sizes in another order, if the script itself asked for them."""
        if not (_is_swap(before, after) or _is_cut_into_heads(before, after)) or not _asked_by_script():
            return
        place = own_place()
        self._swaps[place] += 1
        if self._swaps[place] <= _MOST_RUNS:
            running = self.in_forward() and torch.is_grad_enabled()
            self._watch.add(AxesSwapped(before=before, after=after, in_training=running), place)

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


def _is_swap(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Return True if axes longer than one have changed their places."""
    if len(before) != len(after):
        return False
    long, now = ([size for size in shape if size > 1] for shape in (before, after))
    return long != now and sorted(long) == sorted(now)


def _is_cut_into_heads(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Return True for (B, T, H·D) that became (B, H, T, D)."""
    if len(before) != 3 or len(after) != 4 or before[0] != after[0] or 1 in after:
        return False
    return after[2] == before[1] != after[1] and after[1] * after[3] == before[2]


def _asked_by_script() -> bool:
    """Return True if the frame that called the wrapper is the script's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ROOM):
        frame = frame.f_back
    return is_own(frame.f_code.co_filename)
