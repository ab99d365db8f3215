"""Observe `module.requires_grad = …`, which no parameter follows, and what the next steps find."""

import weakref
from typing import Any

from torch import nn

from grader.scripts.patches import Original
from grader.scripts.places import own_frames
from grader.scripts.states import FlagSet
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_LOOKS = 4
"""Steps that are looked at after a flag was set."""


class FlagObserver:
    """Handler of an assignment, and a look before steps."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._flags: dict[int, tuple[weakref.ref[nn.Module], FlagSet, int]] = {}
        """By id of a module: itself, the flag that was set last, and the steps since."""

    def flag_set(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note the flag, unless a class keeps one of its own."""
        done = original(*args, **kwargs)
        module, value = args
        if self._watch.busy or not isinstance(value, bool) or _in_constructor(module):
            return done
        with self._watch.working():
            count = sum(1 for _ in module.parameters())
            event = self._watch.add(FlagSet(kind=type(module).__name__, value=value, parameters=count))
            self._flags[id(module)] = weakref.ref(module), event, 0
            self._watch.hook_steps()
        return done

    def went_on(self, optimizer: Any, args: Arguments, kwargs: Keywords) -> None:
        """Count the parameters that are not as the flag says."""
        for key, (reference, event, looks) in list(self._flags.items()):
            module = reference()
            other = (
                [] if module is None else [p for p in module.parameters() if p.requires_grad != event.value]
            )
            if not event.value:
                held = {id(p) for group in optimizer.param_groups for p in group["params"]}
                other = [p for p in other if id(p) in held]
            event.against = len(other)
            self._flags[key] = reference, event, looks + 1
            if other or looks + 1 == _LOOKS:
                del self._flags[key]


def _in_constructor(module: nn.Module) -> bool:
    """Return True if a module's own `__init__` is running."""
    return any(
        frame.f_code.co_name == "__init__" and frame.f_locals.get(frame.f_code.co_varnames[0]) is module
        for frame in own_frames()[:1]
        if frame.f_code.co_argcount
    )
