"""Collectives of any Python objects: the part of a `Group` whose functions end in `_object` or `_object_list`."""

from typing import Any

from grader.exercises.several_processes._member import Member
from grader.exercises.several_processes._ranks import CollectivePart, copied


class Objects(Member):
    """The collectives of `torch.distributed` that exchange objects."""

    def all_gather_object(self, object_list: list[Any], obj: Any, group: object = None) -> None:
        """Write every rank's object into `object_list`, in the ranks' order.

        Raises:
            IndexError: the list has fewer items than there are ranks.
        """

        def write(given: list[Any]) -> None:
            for rank, value in enumerate(copied(given)):
                object_list[rank] = value

        self._start(CollectivePart("all_gather_object", obj, (), write))

    def gather_object(
        self, obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: object = None
    ) -> None:
        """Write every rank's object into `object_gather_list` on rank `dst`, in the ranks' order.

        Raises:
            ValueError: `object_gather_list` is missing or empty on rank `dst`, or given on another rank.
            IndexError: it has fewer items than there are ranks.
        """
        targets = list_to_fill(object_gather_list, is_here=dst == self._rank)

        def write(given: list[Any]) -> None:
            for rank, value in enumerate(copied(given) if targets else ()):
                targets[rank] = value

        self._start(CollectivePart("gather_object", obj, (dst,), write))

    def broadcast_object_list(
        self, object_list: list[Any], src: int = 0, group: object = None, device: object = None
    ) -> None:
        """Replace the objects of `object_list` by those of rank `src`."""

        def write(given: list[Any]) -> None:
            object_list[:] = copied(given[src])

        self._start(
            CollectivePart("broadcast_object_list", list(object_list), (src, len(object_list)), write)
        )

    def scatter_object_list(
        self,
        scatter_object_output_list: list[Any],
        scatter_object_input_list: list[Any] | None = None,
        src: int = 0,
        group: object = None,
    ) -> None:
        """Write this rank's object of rank `src`'s list into the first place of `scatter_object_output_list`.

        Raises:
            ValueError: the list has not one object for each rank.
        """
        objects = list_to_share(scatter_object_input_list, self._world.size, is_here=src == self._rank)

        def write(given: list[Any]) -> None:
            scatter_object_output_list[0] = copied(given[src][self._rank])

        self._start(CollectivePart("scatter_object_list", objects, (src,), write))


def list_to_fill(given: list[Any] | None, *, is_here: bool) -> list[Any]:
    """Return the list that a collective fills on one rank only: there the given one, elsewhere an empty one.

    Raises:
        ValueError: it is missing or empty on the rank that gathers (`is_here`), or given on another rank.
    """
    if is_here and not given:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not is_here and given:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    return given or []


def list_to_share(given: list[Any] | None, size: int, *, is_here: bool) -> list[Any] | None:
    """Return the list of which each rank gets one item; None on the ranks that do not give it.

    Raises:
        ValueError: the rank that gives it (`is_here`) has not one item for each rank.
    """
    if is_here and len(given or []) != size:
        raise ValueError(
            f"Argument ``scatter_list`` must have {size} items, one for each rank, on source rank."
        )
    return given if is_here else None
