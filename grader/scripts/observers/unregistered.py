"""Find parameters that get gradients although no model that ran registers them, when the watch ends."""

import inspect
from collections import deque
from collections.abc import Iterator
from itertools import islice
from types import FunctionType

from torch import nn

from grader.scripts.places import Place, is_own, place_of
from grader.scripts.watch import Watch

_MOST_ITEMS = 10_000
"""Maximum number of items that are looked at in what one attribute holds: a module may keep a data set in a list."""


def name_unregistered(watch: Watch) -> None:
    """Name the parameters that have no name yet: no outermost module that ran has them.

    A parameter of a layer is named by the outermost module that has it, a loose one by the attribute that keeps it.
    """
    births = [
        (module, *born[1:]) for born in list(watch.births.values()) if (module := born[0]()) is not None
    ]
    for module, place, serial, in_forward in births:
        for name, tensor in module.named_parameters():
            number = watch.parameters.find(tensor)
            about = None if number is None else watch.facts.parameters[number]
            if about is None or (about.name and not about.unregistered) or len(name) <= len(about.name):
                continue  # the longest name is that by the outermost module
            about.name, about.module_kind, about.unregistered = name, type(module).__name__, True
            about.module_place, about.module_serial, about.born_in_forward = place, serial, in_forward
    for module, *_ in births:
        _name_loose(watch, module)


def _name_loose(watch: Watch, module: nn.Module) -> None:
    """Name the parameters that a module keeps in plain lists, tuples or dictionaries only, by their attribute."""
    registered = {id(tensor) for tensor in module.parameters()}  # `nn.LSTM` keeps these in a list, too
    for name, held in list(vars(module).items()):
        for tensor in _parameters_in(held):
            number = None if id(tensor) in registered else watch.parameters.find(tensor)
            about = None if number is None else watch.facts.parameters[number]
            if about is not None and not about.name:
                about.name, about.module_kind = name, "Parameter"
                about.unregistered = about.loose = True
                about.owner_classes = _own_classes(type(module))


def _parameters_in(held: object) -> Iterator[nn.Parameter]:
    """Iterate over the parameters in a list, tuple or dictionary and in those inside it, outer ones first."""
    waiting: deque[object] = deque([held] if isinstance(held, list | tuple | dict) else [])
    for _ in range(_MOST_ITEMS):  # so cycles end, too
        if not waiting:
            return
        item = waiting.popleft()
        if isinstance(item, nn.Parameter):
            yield item
        elif isinstance(item, list | tuple | dict) and len(waiting) < _MOST_ITEMS:
            waiting.extend(islice(item.values() if isinstance(item, dict) else item, _MOST_ITEMS))


def _own_classes(kind: type) -> tuple[Place, ...]:
    """Return the first line of one method of each of the learner's classes among a class and its bases, in that order.

    Classes without methods are left out.
    """
    places = []
    for one in kind.__mro__:
        methods = (
            inspect.unwrap(value)
            for value in vars(one).values()
            if isinstance(value, FunctionType) and value.__qualname__.startswith(f"{one.__qualname__}.")
        )
        codes = (method.__code__ for method in methods if isinstance(method, FunctionType))
        places += [place_of(code, code.co_firstlineno) for code in codes if is_own(code.co_filename)][:1]
    return tuple(places)
