"""Observe hooks that a line of the script registers again while earlier ones of the same line are still there."""

import inspect
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from grader.scripts.patches import Original
from grader.scripts.places import Place, is_own, own_place, place_of
from grader.scripts.states import HookAdded
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_MOST = 64
"""Registrations that are remembered for one line and one thing."""


class _Known(NamedTuple):
    number: int
    trained: int
    state: tuple[int, ...]


class HookObserver:
    """Handler of the methods that register hooks, also after the watch."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._known: dict[tuple[int, Place | None, Place], tuple[weakref.ref[Any], list[_Known]]] = {}
        """By id of a dictionary of hooks, registering line and function."""

    def hooked(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note a hook if hooks from before the last training, of the same line and function, are still there."""
        handle = original(*args, **kwargs)
        hook = args[1] if len(args) > 1 else kwargs.get("hook")
        code = getattr(_function(hook), "__code__", None)
        hooks = getattr(handle, "hooks_dict_ref", lambda: None)()
        if self._watch.busy or code is None or hooks is None or not is_own(code.co_filename):
            return handle
        if isinstance(args[0], Tensor) and args[0].grad_fn is not None:
            return handle  # it is gone with its graph
        with self._watch.working():
            self._added(
                args[0], hooks, _Known(handle.id, self._trained(), _state(hook)), place_of(code, None)
            )
        return handle

    def _added(self, owner: Any, hooks: Any, new: _Known, function: Place) -> None:
        place = own_place()
        reference, known = self._known.get((id(hooks), place, function), (None, []))
        if reference is None or reference() is not hooks:
            reference, known = weakref.ref(hooks), []
        living = [one for one in known if one.number in hooks]
        before = [one for one in living if one.trained != new.trained]
        self._known[id(hooks), place, function] = reference, [*living[-_MOST:], new]
        if before:
            self._watch.add(
                HookAdded(
                    owner=type(owner).__name__,
                    function=function,
                    living=len(before),
                    shared=all(one.state == new.state for one in before),
                ),
                place,
            )

    def _trained(self) -> int:
        """Return a number that changes whenever an optimizer steps."""
        count = 0
        for reference in self._watch.optimizers.references:
            groups = getattr(reference(), "param_groups", [])
            count += sum(parameter._version for group in groups for parameter in group["params"][:1])
        return count


def _function(hook: Any) -> Callable[..., Any] | None:
    """Return the function that runs when a hook is called: of a method, a partial or an object with `__call__`."""
    hook = getattr(hook, "func", hook)
    hook = getattr(hook, "__func__", hook)
    found: Callable[..., Any] | None = hook
    if not hasattr(hook, "__code__"):
        found = inspect.getattr_static(type(hook), "__call__", None)
    return found


def _state(hook: Any) -> tuple[int, ...]:
    """Return the ids of what a hook holds: equal for two hooks that write to the same things."""
    given = [id(one) for one in getattr(hook, "args", ())]
    inner = getattr(hook, "func", hook)
    if hasattr(inner, "__self__"):
        return (*given, id(inner.__self__))
    if not hasattr(inner, "__code__"):
        return (*given, id(inner))
    cells = (id(cell.cell_contents) for cell in inner.__closure__ or () if _is_filled(cell))
    return (*given, *cells, *map(id, inner.__defaults__ or ()))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
