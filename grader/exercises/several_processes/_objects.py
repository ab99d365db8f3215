"""Collectives of any Python objects: the part of a `Group` with `gather_object`, `scatter_object_list` ….

As in torch, objects are pickled. So each rank gets new ones, and what cannot be pickled, such as a lambda, is refused.
"""

from typing import Any

from grader.exercises.several_processes._member import (
    Member,
    list_of_root,
    refuse_other_length,
)
from grader.exercises.several_processes._ranks import CollectivePart
from grader.exercises.several_processes._sent import PickledObject


class Objects(Member):
    """The collectives of `torch.distributed` that exchange objects."""

    def all_gather_object(self, object_list: list[Any], obj: Any, group: object = None) -> None:
        """Write every rank's object into `object_list`, in the ranks' order.

        Raises:
            IndexError: the list has fewer items than there are ranks.
        """
        part = CollectivePart(
            "all_gather_object", PickledObject(obj), (), lambda given: _load_into(object_list, given)
        )
        self._start(part)

    def gather_object(
        self,
        obj: Any,
        object_gather_list: list[Any] | None = None,
        dst: int | None = None,
        group: object = None,
        group_dst: int | None = None,
    ) -> None:
        """Write every rank's object into `object_gather_list` on rank `dst`, in the ranks' order.

        Raises:
            ValueError: `object_gather_list` is missing or empty on rank `dst`, or given on another rank.
            IndexError: it has fewer items than there are ranks.
        """
        root = self._root("gather", dst, group_dst, default=0)
        targets = list_of_root("gather_list", "destination", object_gather_list, is_root=root == self._rank)
        part = CollectivePart(
            "gather_object",
            PickledObject(obj),
            (root,),
            lambda given: _load_into(targets, given if root == self._rank else []),
        )
        self._start(part)

    def broadcast_object_list(
        self,
        object_list: list[Any],
        src: int | None = None,
        group: object = None,
        device: object = None,
        group_src: int | None = None,
    ) -> None:
        """Replace the objects of `object_list` by those of rank `src`, whose own list stays as it is."""
        root = self._root("broadcast", src, group_src, default=0)
        part = CollectivePart(
            "broadcast_object_list",
            [PickledObject(obj) for obj in object_list] if root == self._rank else None,
            (root, len(object_list)),
            lambda given: _load_into(object_list, given[root] if root != self._rank else []),
            is_from_one_rank=True,
        )
        self._start(part)

    def scatter_object_list(
        self,
        scatter_object_output_list: list[Any],
        scatter_object_input_list: list[Any] | None = None,
        src: int | None = None,
        group: object = None,
        group_src: int | None = None,
    ) -> None:
        """Write this rank's object of rank `src`'s list into the first place of `scatter_object_output_list`.

        Raises:
            ValueError: the list for the output is empty or no list, or that of the input is missing on rank `src`.
            RuntimeError: that of the input has not one object for each rank.
        """
        root = self._root("scatter", src, group_src, default=0)
        if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
            raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
        objects: list[PickledObject] = []
        if root == self._rank:
            if scatter_object_input_list is None:
                raise ValueError("source rank must provide non-None scatter_object_input_list")
            refuse_other_length("scatter", "input", scatter_object_input_list, self._world.size)
            objects = [PickledObject(obj) for obj in scatter_object_input_list]
        part = CollectivePart(
            "scatter_object_list",
            objects,
            (root,),
            lambda given: _load_into(scatter_object_output_list, [given[root][self._rank]]),
            is_from_one_rank=True,
        )
        self._start(part)


def _load_into(targets: list[Any], given: list[PickledObject]) -> None:
    """Write objects into a list, from its first place on."""
    for index, pickled in enumerate(given):
        targets[index] = pickled.load()
