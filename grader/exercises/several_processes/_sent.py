"""What ranks give to each other: copies of tensors, and objects that were pickled, as on the way to another process."""

import io
import pickle
from typing import Any

from torch import Tensor


class PickledObject:
    """An object as another process gets it: pickled once, and a new one at each `load`.

    Tensors are copied and not pickled, because torch pickles them with `torch.save`, which drivers observe.
    """

    def __init__(self, value: object) -> None:
        """Pickle a value.

        Raises:
            PicklingError, AttributeError, TypeError: it cannot be pickled, as a lambda.
        """
        file = io.BytesIO()
        pickler = _Pickler(file)
        pickler.dump(value)
        self._data, self.tensors = file.getvalue(), pickler.tensors

    def load(self) -> Any:
        """Return a new object."""
        return _Unpickler(io.BytesIO(self._data), self.tensors).load()


class _Pickler(pickle.Pickler):
    """Keeps copies of tensors in a list, and pickles their indices."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.tensors: list[Tensor] = []

    def persistent_id(self, obj: object) -> int | None:
        if not isinstance(obj, Tensor):
            return None
        self.tensors.append(_copy(obj))
        return len(self.tensors) - 1


class _Unpickler(pickle.Unpickler):
    """Takes copies of tensors out of a list."""

    def __init__(self, file: io.BytesIO, tensors: list[Tensor]) -> None:
        super().__init__(file)
        self._tensors = tensors

    def persistent_load(self, pid: int) -> Tensor:
        return _copy(self._tensors[pid])


def copied(given: Any) -> Any:
    """Return what a rank gives, with copies of its tensors.

    Args:
        given: a tensor, a list of tensors, or something that no rank changes: `PickledObject`s and None.
    """
    if isinstance(given, list):
        return [copied(item) for item in given]
    return _copy(given) if isinstance(given, Tensor) else given


def number_of_elements(given: Any) -> int:
    """Return the number of elements of all tensors that a rank gives (see `copied`), those in objects included."""
    if isinstance(given, PickledObject):
        return number_of_elements(given.tensors)
    if isinstance(given, list):
        return sum(map(number_of_elements, given))
    return given.numel() if isinstance(given, Tensor) else 0


def _copy(tensor: Tensor) -> Tensor:
    """Return a copy of a tensor without its graph, which requires a gradient if the tensor does."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)
