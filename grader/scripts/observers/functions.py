"""Observe what the script's own autograd functions are given in a backward."""

from collections import Counter
from typing import Any

from torch import Tensor

from grader.scripts.facts import OwnFunctionRan
from grader.scripts.places import is_own, place_of
from grader.scripts.watch import Watch

_MOST_RUNS = 8


class FunctionObserver:
    """Looks at the gradients that come to a `torch.autograd.Function`."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._runs: Counter[type] = Counter()

    def about_to_run(self, nodes: list[Any]) -> None:
        """Look at the operations of a graph that is about to run."""
        for node in nodes:
            own = getattr(node, "_forward_cls", None)
            code = getattr(getattr(own, "backward", None), "__code__", None)
            if own is None or code is None or not is_own(code.co_filename) or self._runs[own] >= _MOST_RUNS:
                continue
            self._runs[own] += 1
            event = OwnFunctionRan(kind=own.__name__, backward=place_of(code, None), ones=True)
            node.register_prehook(_Look(self._watch, event))


class _Look:
    """Notes what an operation is given, and leaves it as it is."""

    def __init__(self, watch: Watch, event: OwnFunctionRan) -> None:
        self._watch = watch
        self._event = event

    def __call__(self, given: tuple[Any, ...]) -> None:
        with self._watch.working():
            found = [one for one in given if isinstance(one, Tensor)]
            self._event.ones = bool(found) and all(bool((one == 1).all()) for one in found)
            self._watch.add(self._event, self._event.backward)
