"""The collectives: a `Group`, which a learner's function gets as `dist`, in place of `torch.distributed`.

Its methods are called like the functions of `torch.distributed` and do what those do with gloo, so that the same code
runs in real processes: https://docs.pytorch.org/docs/stable/distributed.html. Of wrong calls, only some are refused as
torch refuses them: lists that do not fit, ranks that call different things. `group` is accepted and ignored; other
arguments that only several process groups, devices or timeouts need do not exist.

To add a collective, write a method that makes a `CollectivePart` and passes it to `_start`; call it in the program
`collectives` of `tests/exercises/test_ranks.py`, which is compared with two real processes. Point-to-point calls
(`send`, `recv`) do not fit, because every rank takes part in a collective.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.exercises.several_processes._ranks import CollectivePart, World, copied


class ReduceOp:
    """Ways to reduce the tensors of all ranks to one, named as in `torch.distributed.ReduceOp`."""

    SUM = "SUM"
    AVG = "AVG"
    PRODUCT = "PRODUCT"
    MIN = "MIN"
    MAX = "MAX"


class Work:
    """A collective that was started with `async_op=True`; its result is there after `wait`."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait
        self._done = False

    def is_completed(self) -> bool:
        """Return True if `wait` has been called: the other ranks are threads, and nothing is done before."""
        return self._done

    def wait(self) -> bool:
        """Wait for the other ranks and write the result; return True."""
        if not self._done:
            self._wait()
            self._done = True
        return True


class ProcessGroups:
    """The stand-in for `torch.distributed.group`, which holds the group of all ranks."""

    WORLD = None
    """The default of each `group` argument: all ranks."""


class Group:
    """One rank's stand-in for the module `torch.distributed`, made by `groups_of`."""

    ReduceOp = ReduceOp
    group = ProcessGroups

    def __init__(self, world: World, rank: int) -> None:
        """Make the group of one rank of the world."""
        self._world, self._rank = world, rank

    def is_available(self) -> bool:
        """Return True."""
        return True

    def is_initialized(self) -> bool:
        """Return True."""
        return True

    def get_backend(self, group: object = None) -> str:
        """Return `gloo`, the backend for the CPU."""
        return "gloo"

    def get_rank(self, group: object = None) -> int:
        """Return the number of this rank, from 0."""
        return self._rank

    def get_world_size(self, group: object = None) -> int:
        """Return the number of ranks."""
        return self._world.size

    def all_reduce(
        self, tensor: Tensor, op: object = ReduceOp.SUM, group: object = None, async_op: bool = False
    ) -> Work | None:
        """Write the sum (or another reduction) of all ranks' tensors into each rank's tensor."""
        reduction = _reduction_name(op)
        return self._start(
            CollectivePart(
                "all_reduce",
                _values_of(tensor),
                (reduction, _shape_and_dtype(tensor)),
                lambda given: _write_into(tensor, _reduce(given, reduction)),
            ),
            async_op,
        )

    def reduce(
        self,
        tensor: Tensor,
        dst: int,
        op: object = ReduceOp.SUM,
        group: object = None,
        async_op: bool = False,
    ) -> Work | None:
        """Write the sum (or another reduction) of all ranks' tensors into the tensor of rank `dst`."""
        reduction, is_receiver = _reduction_name(op), dst == self._rank
        return self._start(
            CollectivePart(
                "reduce",
                _values_of(tensor),
                (dst, reduction, _shape_and_dtype(tensor)),
                lambda given: _write_into(tensor, _reduce(given, reduction)) if is_receiver else None,
            ),
            async_op,
        )

    def broadcast(
        self, tensor: Tensor, src: int, group: object = None, async_op: bool = False
    ) -> Work | None:
        """Write the tensor of rank `src` into each rank's tensor."""
        return self._start(
            CollectivePart(
                "broadcast",
                _values_of(tensor),
                (src, _shape_and_dtype(tensor)),
                lambda given: _write_into(tensor, given[src]),
            ),
            async_op,
        )

    def all_gather(
        self, tensor_list: list[Tensor], tensor: Tensor, group: object = None, async_op: bool = False
    ) -> Work | None:
        """Write every rank's tensor into the tensors of `tensor_list`, in the ranks' order.

        Raises:
            RuntimeError: the list does not have one tensor for each rank.
        """
        if len(tensor_list) != self._world.size:
            raise RuntimeError(
                "ProcessGroupGloo::allgather: invalid output tensor list at index 0 "
                f"(expected length {self._world.size}, got {len(tensor_list)})"
            )

        def write(given: list[Tensor]) -> None:
            for target, value in zip(tensor_list, given, strict=True):
                _write_into(target, value)

        return self._start(
            CollectivePart("all_gather", _values_of(tensor), (_shape_and_dtype(tensor),), write), async_op
        )

    def all_gather_into_tensor(
        self, output_tensor: Tensor, input_tensor: Tensor, group: object = None, async_op: bool = False
    ) -> Work | None:
        """Write all ranks' tensors into one, for tensors of shape (n, …).

        They are joined, shape (ranks * n, …), or stacked if `output_tensor` has one more dimension: (ranks, n, …).
        The latter is what NCCL does; gloo refuses it.
        """

        def write(given: list[Tensor]) -> None:
            joined = torch.stack(given) if output_tensor.ndim > input_tensor.ndim else torch.cat(given)
            _write_into(output_tensor, joined)

        part = CollectivePart(
            "all_gather_into_tensor", _values_of(input_tensor), (_shape_and_dtype(input_tensor),), write
        )
        return self._start(part, async_op)

    def reduce_scatter_tensor(
        self,
        output: Tensor,
        input: Tensor,
        op: object = ReduceOp.SUM,
        group: object = None,
        async_op: bool = False,
    ) -> Work | None:
        """Write this rank's share of the reduction of all ranks' tensors into `output`.

        `input` has as many elements as the outputs of all ranks together, rank 0's first.
        """
        reduction, rank, size = _reduction_name(op), self._rank, self._world.size
        return self._start(
            CollectivePart(
                "reduce_scatter_tensor",
                _values_of(input),
                (reduction, _shape_and_dtype(input)),
                lambda given: _write_into(
                    output, _reduce(given, reduction).reshape(-1).chunk(size)[rank].reshape(output.shape)
                ),
            ),
            async_op,
        )

    def gather(
        self,
        tensor: Tensor,
        gather_list: list[Tensor] | None = None,
        dst: int = 0,
        group: object = None,
        async_op: bool = False,
    ) -> Work | None:
        """Write every rank's tensor into the tensors of `gather_list` on rank `dst`.

        Raises:
            ValueError: `gather_list` is missing or empty on rank `dst`, or given on another rank.
            RuntimeError: it does not have one tensor for each rank.
        """
        targets = self._list_to_fill(gather_list, dst)
        if targets and len(targets) != self._world.size:
            raise RuntimeError(
                f"ProcessGroupGloo::gather: Incorrect output list size {len(targets)}. Output list size should be "
                f"{self._world.size}, same as size of the process group."
            )

        def write(given: list[Tensor]) -> None:
            for target, value in zip(targets, given, strict=False):  # no targets on the other ranks
                _write_into(target, value)

        return self._start(
            CollectivePart("gather", _values_of(tensor), (dst, _shape_and_dtype(tensor)), write), async_op
        )

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
        targets = self._list_to_fill(object_gather_list, dst)

        def write(given: list[Any]) -> None:
            for rank, value in enumerate(copied(given) if targets else ()):
                targets[rank] = value

        self._start(CollectivePart("gather_object", obj, (dst,), write))

    def broadcast_object_list(self, object_list: list[Any], src: int = 0, group: object = None) -> None:
        """Replace the objects of `object_list` by those of rank `src`."""

        def write(given: list[Any]) -> None:
            object_list[:] = copied(given[src])

        self._start(
            CollectivePart("broadcast_object_list", list(object_list), (src, len(object_list)), write)
        )

    def barrier(self, group: object = None, async_op: bool = False) -> Work | None:
        """Wait until every rank is here."""
        return self._start(CollectivePart("barrier", None), async_op)

    def _list_to_fill(self, given: list[Any] | None, dst: int) -> list[Any]:
        """Return the list that a collective fills on this rank: the given one on rank `dst`, an empty one elsewhere.

        Raises:
            ValueError: it is missing or empty on rank `dst`, or given on another rank.
        """
        if dst == self._rank and not given:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        if dst != self._rank and given:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        return given or []

    def _start(self, part: CollectivePart, async_op: bool = False) -> Work | None:
        """Begin a collective; wait for its result, or with `async_op` return a `Work` that does."""
        wait = self._world.begin_collective(self._rank, part)
        if async_op:
            return Work(wait)
        wait()
        return None


def groups_of(world: World) -> list[Group]:
    """Return the `Group` of each rank of a world."""
    return [Group(world, rank) for rank in range(world.size)]


def _reduction_name(op: object) -> str:
    """Return the name of a reduction; `op` is one of `ReduceOp` here, or torch's own.

    Raises:
        RuntimeError: `ReduceOp` has no such reduction.
    """
    name = getattr(op, "name", None) or str(op).rpartition(".")[2]
    if name not in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX):
        raise RuntimeError(f"Unhandled ReduceOp: {name}")
    return name


def _reduce(given: Sequence[Tensor], reduction: str) -> Tensor:
    """Return the tensors of all ranks reduced to one, in the ranks' order; `reduction` is a name in `ReduceOp`."""
    result = given[0].clone()
    for value in given[1:]:
        match reduction:
            case ReduceOp.SUM | ReduceOp.AVG:
                result += value
            case ReduceOp.PRODUCT:
                result *= value
            case ReduceOp.MIN:
                result = torch.minimum(result, value)
            case ReduceOp.MAX:
                result = torch.maximum(result, value)
            case _:
                raise RuntimeError(f"Unhandled ReduceOp: {reduction}")
    return result / len(given) if reduction == ReduceOp.AVG else result


def _values_of(tensor: object) -> Tensor:
    """Return the values that a rank gives, without their graph.

    Raises:
        TypeError: what it gives is no tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `tensor` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    return tensor.detach()


def _shape_and_dtype(tensor: Tensor) -> tuple[Any, ...]:
    """Return shape and dtype of a tensor that ranks exchange, which must be the same on all of them."""
    return (tuple(tensor.shape), tensor.dtype)


def _write_into(target: Tensor, value: Tensor) -> None:
    """Write a value into a tensor in place, as a collective does: autograd does not record it."""
    target.detach().copy_(value)
