"""Observe in which memory inputs lie: batches that were kept without a copy share it."""

import weakref

from torch import Tensor

_MOST_KEPT, _MOST_PARTS = 64, 512
_ENTRIES, _LITTLE = 64, 0.5


class InputMemory:
    """The living inputs of a run's forwards."""

    def __init__(self) -> None:
        self._seen: list[weakref.ref[Tensor]] = []

    def sharing(self, given: Tensor) -> int:
        """Return how many earlier inputs, still alive, lie in exactly the memory of a new one; remember it."""
        if type(given) is not Tensor or not given.numel():
            return 0
        living = [one for seen in self._seen if (one := seen()) is not None]
        if not any(one is given for one in living):
            self._seen = [*map(weakref.ref, living), weakref.ref(given)][-_MOST_KEPT:]
        where = _memory(given)
        return sum(one is not given and _memory(one) == where for one in living)


class PartMemory:
    """The parts of larger tensors that a run's forwards were given."""

    def __init__(self) -> None:
        self._parts: dict[tuple[object, ...], tuple[weakref.ref[Tensor], Tensor]] = {}
        """By memory: the whole, and some entries as they were."""

    def drifted(self, given: Tensor, whole: Tensor) -> bool | None:
        """Return True if a part that came before has changed a little, False if it is the same or another; keep it."""
        where = _memory(given)
        reference, before = self._parts.get(where, (None, None))
        now = _some(given)
        if len(self._parts) < _MOST_PARTS or where in self._parts:
            self._parts[where] = weakref.ref(whole), now
        if reference is None or before is None or reference() is not whole:
            return None
        return 0 < float((now - before).norm()) < _LITTLE * float(before.norm())


def _some(tensor: Tensor) -> Tensor:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // _ENTRIES)].double().cpu()


def _memory(tensor: Tensor) -> tuple[object, ...]:
    return tensor.device, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()
