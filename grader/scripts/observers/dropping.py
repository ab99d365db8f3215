"""Observe dropout that the script applies by a function of torch."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch import nn

from grader.scripts.facts import ForwardRan
from grader.scripts.patches import Original
from grader.scripts.places import Place, own_place
from grader.scripts.states import DroppedInEval
from grader.scripts.watch import Watch

_MOST_DROPS = 60


class DropObserver:
    """Handler of dropout functions."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._drops: Counter[Place | None] = Counter()
        self.running: Callable[[], tuple[ForwardRan | None, nn.Module | None]] = lambda: (None, None)
        """Returns the outermost forward, and the innermost module that runs in it."""

    def dropped(self, original: Original, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note dropout that a module of the script applies in eval mode."""
        watch = self._watch
        done = original(*args, **kwargs)
        event, module = self.running()
        if watch.busy or event is None or event.training or event.grad or module is None:
            return done
        if type(module).__module__.startswith("torch."):
            return done  # a layer of torch knows its own mode
        told = len(args) > 2 or "training" in kwargs
        on = args[2] if len(args) > 2 else kwargs.get("training", True)
        rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
        if on and rate:
            place = own_place()
            self._drops[place] += 1
            if self._drops[place] <= _MOST_DROPS:
                watch.add(DroppedInEval(forward=event.serial, name=original.name, told=told), place)
        return done
