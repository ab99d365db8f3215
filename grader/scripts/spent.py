"""Tell iterators that have nothing left, without taking anything from them."""

import warnings
from itertools import chain
from types import GeneratorType
from typing import Any


def spent_groups(given: Any) -> tuple[int, ...]:
    """Return which of an optimizer's groups are given an iterator that has nothing left."""
    if not isinstance(given, list | tuple):
        return ()
    groups = [(i, one.get("params")) for i, one in enumerate(given) if isinstance(one, dict)]
    return tuple(i for i, one in groups if is_spent(one))


def is_spent(thing: Any) -> bool:
    """Return True if an iterator has nothing left, without taking anything from it."""
    if isinstance(thing, GeneratorType):
        return thing.gi_frame is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if isinstance(thing, filter | map):
            return any(is_spent(one) for one in thing.__reduce__()[1][1:])
        if isinstance(thing, chain):
            return len(thing.__reduce__()) == 2  # what is left would come third
    return False
