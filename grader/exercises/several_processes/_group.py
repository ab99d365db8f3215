"""The collectives: a `Group`, which a learner's function gets as `dist`, in place of `torch.distributed`.

Its methods are called like the functions of `torch.distributed` and do what those do with gloo, so that the same code
runs in real processes: https://docs.pytorch.org/docs/stable/distributed.html. Of wrong calls, only some are refused as
torch refuses them: lists that do not fit, ranks that do not exist, ranks that call different things. All groups are
groups of all ranks, so `group` is accepted and ignored, as are devices and timeouts. Functions that are missing say so
in Korean; `_INSTEAD` says what to use in place of each.

To add a collective, write a method that makes a `CollectivePart` and passes it to `_start`; remove its name from
`_INSTEAD`, and call it in the program `collectives` of `tests/exercises/test_ranks.py`, which is compared with two real
processes. Messages between two ranks
(`send`, `recv`) are in `_messages.py`, collectives of objects in `_objects.py`.
"""

from collections.abc import Sequence
from typing import NoReturn

import torch
from torch import Tensor

from grader.exercises.several_processes._member import (
    Work,
    list_of_root,
    refuse_other_length,
    shape_and_dtype,
    values_of,
    write_into,
)
from grader.exercises.several_processes._messages import Messages, P2POp
from grader.exercises.several_processes._objects import Objects
from grader.exercises.several_processes._ranks import CollectivePart, World
from grader.observe.wording import particle

_ONE_GROUP = "모든 rank의 그룹 하나만 있어요. `group=`을 쓰지 말고 부르세요."
_INSTEAD = {
    "all_gather_coalesced": "텐서마다 `all_gather`를 부르세요.",
    "all_reduce_coalesced": "텐서마다 `all_reduce`를 부르거나, 이어 붙인 텐서 하나를 합치세요.",
    "destroy_process_group": "프로세스 그룹은 채점기가 없애니, 이 줄을 지우세요.",
    "init_device_mesh": _ONE_GROUP,
    "init_process_group": "프로세스 그룹은 이미 있으니, 이 줄을 지우세요.",
    "monitored_barrier": "`barrier`를 쓰세요.",
    "new_subgroups": _ONE_GROUP,
    "new_subgroups_by_enumeration": _ONE_GROUP,
    "recv_object_list": "`gather_object`나 `broadcast_object_list`를 쓰거나, 텐서로 `recv`하세요.",
    "send_object_list": "`gather_object`나 `broadcast_object_list`를 쓰거나, 텐서로 `send`하세요.",
    "split_group": _ONE_GROUP,
}
"""A function of `torch.distributed` that a `Group` does not have -> in Korean, what to do instead."""


class ReduceOp:
    """Ways to reduce the tensors of all ranks to one, named as in `torch.distributed.ReduceOp`."""

    SUM = "SUM"
    AVG = "AVG"
    PRODUCT = "PRODUCT"
    MIN = "MIN"
    MAX = "MAX"


class ProcessGroups:
    """The stand-in for `torch.distributed.group`, which holds the group of all ranks."""

    WORLD = None
    """The default of each `group` argument: all ranks."""


class Group(Messages, Objects):
    """One rank's stand-in for the module `torch.distributed`, made by `groups_of`."""

    ReduceOp = ReduceOp
    P2POp = P2POp
    GroupMember = group = ProcessGroups

    def __getattr__(self, name: str) -> NoReturn:
        """Say what to use in place of a function of `torch.distributed` that is missing here.

        Raises:
            AttributeError: always; Python calls this only for names that are missing.
        """
        if name.startswith("_") or not hasattr(torch.distributed, name):
            raise AttributeError(f"'Group' object has no attribute '{name}'", name=name, obj=self)
        instead = (
            _INSTEAD.get(name) or "`all_reduce`, `all_gather`, `broadcast`, `send`, `recv` 등으로 쓰세요."
        )
        raise AttributeError(f"채점할 때의 `dist`에는 `{name}`{particle(name, '이/가')} 없어요. {instead}")

    def is_available(self) -> bool:
        """Return True."""
        return True

    def is_initialized(self) -> bool:
        """Return True."""
        return True

    def is_gloo_available(self) -> bool:
        """Return True."""
        return True

    def is_nccl_available(self) -> bool:
        """Return False: tensors are on the CPU."""
        return False

    def get_backend(self, group: object = None) -> str:
        """Return `gloo`, the backend for the CPU."""
        return "gloo"

    def get_rank(self, group: object = None) -> int:
        """Return the number of this rank, from 0."""
        return self._rank

    def get_world_size(self, group: object = None) -> int:
        """Return the number of ranks."""
        return self._world.size

    def get_process_group_ranks(self, group: object = None) -> list[int]:
        """Return the numbers of all ranks."""
        return [*self._world.everyone.members]

    def new_group(self, ranks: Sequence[int] | None = None, **settings: object) -> type[ProcessGroups]:
        """Return a group of all ranks; as in torch, all ranks must call this.

        Raises:
            NotImplementedError: the group would have some ranks only.
        """
        if ranks is not None and sorted(ranks) != self.get_process_group_ranks():
            raise NotImplementedError(
                f"채점할 때의 `new_group`은 rank {self._world.size}개가 모두 든 그룹만 만들어요: {sorted(ranks)}. "
                "일부 rank끼리만 주고받으려면 `send`와 `recv`를 쓰세요."
            )
        self._start(CollectivePart("new_group", None))
        return ProcessGroups

    def all_reduce(
        self, tensor: Tensor, op: object = ReduceOp.SUM, group: object = None, async_op: bool = False
    ) -> Work | None:
        """Write the sum (or another reduction) of all ranks' tensors into each rank's tensor."""
        reduction = _reduction_name(op)
        return self._start(
            CollectivePart(
                "all_reduce",
                values_of(tensor),
                (reduction, shape_and_dtype(tensor)),
                lambda given: write_into([tensor], [_reduce(given, reduction)]),
            ),
            async_op,
        )

    def reduce(
        self,
        tensor: Tensor,
        dst: int | None = None,
        op: object = ReduceOp.SUM,
        group: object = None,
        async_op: bool = False,
        group_dst: int | None = None,
    ) -> Work | None:
        """Write the sum (or another reduction) of all ranks' tensors into the tensor of rank `dst`."""
        reduction, root = _reduction_name(op), self._root("reduce", dst, group_dst)
        return self._start(
            CollectivePart(
                "reduce",
                values_of(tensor),
                (root, reduction, shape_and_dtype(tensor)),
                lambda given: (
                    write_into([tensor], [_reduce(given, reduction)]) if root == self._rank else [tensor]
                ),
            ),
            async_op,
        )

    def broadcast(
        self,
        tensor: Tensor,
        src: int | None = None,
        group: object = None,
        async_op: bool = False,
        group_src: int | None = None,
    ) -> Work | None:
        """Write the tensor of rank `src` into each rank's tensor."""
        root = self._root("broadcast", src, group_src)
        return self._start(
            CollectivePart(
                "broadcast",
                values_of(tensor),
                (root, shape_and_dtype(tensor)),
                lambda given: write_into([tensor], [given[root]]),
                is_from_one_rank=True,
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
        part = CollectivePart(
            "all_gather",
            values_of(tensor),
            (shape_and_dtype(tensor),),
            lambda given: write_into(tensor_list, given),
        )
        return self._start(part, async_op)

    def all_gather_into_tensor(
        self, output_tensor: Tensor, input_tensor: Tensor, group: object = None, async_op: bool = False
    ) -> Work | None:
        """Write all ranks' tensors into one, for tensors of shape (n, …).

        They are joined, shape (ranks * n, …), or stacked if `output_tensor` has one more dimension: (ranks, n, …).
        The latter is what NCCL does; gloo refuses it.
        """

        def write(given: list[Tensor]) -> list[Tensor]:
            joined = torch.stack(given) if output_tensor.ndim > input_tensor.ndim else torch.cat(given)
            return write_into([output_tensor], [joined])

        part = CollectivePart(
            "all_gather_into_tensor", values_of(input_tensor), (shape_and_dtype(input_tensor),), write
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
                values_of(input),
                (reduction, shape_and_dtype(input)),
                lambda given: write_into(
                    [output], [_reduce(given, reduction).reshape(-1).chunk(size)[rank].reshape(output.shape)]
                ),
            ),
            async_op,
        )

    def reduce_scatter(
        self,
        output: Tensor,
        input_list: list[Tensor],
        op: object = ReduceOp.SUM,
        group: object = None,
        async_op: bool = False,
    ) -> Work | None:
        """Write the reduction of all ranks' tensors for this rank into `output`, as NCCL does.

        `input_list` has a tensor for each rank.
        """
        reduction = _reduction_name(op)
        part = CollectivePart(
            "reduce_scatter",
            [values_of(tensor) for tensor in input_list],
            (reduction, self._shapes_for_ranks("reduce_scatter", input_list)),
            lambda given: write_into([output], [_reduce([of[self._rank] for of in given], reduction)]),
        )
        return self._start(part, async_op)

    def scatter(
        self,
        tensor: Tensor,
        scatter_list: list[Tensor] | None = None,
        src: int | None = None,
        group: object = None,
        async_op: bool = False,
        group_src: int | None = None,
    ) -> Work | None:
        """Write this rank's tensor of rank `src`'s `scatter_list` into `tensor`.

        Raises:
            ValueError: `scatter_list` is missing or empty on rank `src`, or given on another rank.
            RuntimeError: it does not have one tensor for each rank.
        """
        root = self._root("scatter", src, group_src, default=0)
        shared = list_of_root("scatter_list", "source", scatter_list, is_root=root == self._rank)
        if shared:
            refuse_other_length("scatter", "input", shared, self._world.size)
        part = CollectivePart(
            "scatter",
            [values_of(given) for given in shared],
            (root, shape_and_dtype(values_of(tensor))),
            lambda given: write_into([tensor], [given[root][self._rank]]),
            is_from_one_rank=True,
        )
        return self._start(part, async_op)

    def all_to_all(
        self,
        output_tensor_list: list[Tensor],
        input_tensor_list: list[Tensor],
        group: object = None,
        async_op: bool = False,
    ) -> Work | None:
        """Send the n-th tensor of the input to rank n, and write what rank n sends here into the n-th of the output.

        The tensors may have different shapes. Gloo refuses this, NCCL does it.
        """
        self._shapes_for_ranks("all_to_all", output_tensor_list)
        self._shapes_for_ranks("all_to_all", input_tensor_list)
        part = CollectivePart(
            "all_to_all",
            [values_of(tensor) for tensor in input_tensor_list],
            (),
            lambda given: write_into(output_tensor_list, [of[self._rank] for of in given]),
        )
        return self._start(part, async_op)

    def all_to_all_single(
        self,
        output: Tensor,
        input: Tensor,
        output_split_sizes: list[int] | None = None,
        input_split_sizes: list[int] | None = None,
        group: object = None,
        async_op: bool = False,
    ) -> Work | None:
        """Send the n-th part of the first dimension to rank n, and join what all ranks send here.

        The parts are equal, or have the given sizes.
        """
        size = self._world.size
        parts = input.split(input_split_sizes) if input_split_sizes else input.chunk(size)
        places = output.split(output_split_sizes) if output_split_sizes else output.chunk(size)
        return self.all_to_all([*places], [*parts], group, async_op)

    def gather(
        self,
        tensor: Tensor,
        gather_list: list[Tensor] | None = None,
        dst: int | None = None,
        group: object = None,
        async_op: bool = False,
        group_dst: int | None = None,
    ) -> Work | None:
        """Write every rank's tensor into the tensors of `gather_list` on rank `dst`.

        Raises:
            ValueError: `gather_list` is missing or empty on rank `dst`, or given on another rank.
            RuntimeError: it does not have one tensor for each rank.
        """
        root = self._root("gather", dst, group_dst, default=0)
        targets = list_of_root("gather_list", "destination", gather_list, is_root=root == self._rank)
        if targets:
            refuse_other_length("gather", "output", targets, self._world.size)
        part = CollectivePart(
            "gather",
            values_of(tensor),
            (root, shape_and_dtype(tensor)),
            lambda given: write_into(targets, given) if targets else [],
        )
        return self._start(part, async_op)

    def barrier(
        self, group: object = None, async_op: bool = False, device_ids: object = None, timeout: object = None
    ) -> Work | None:
        """Wait until every rank is here."""
        return self._start(CollectivePart("barrier", None), async_op)

    def _shapes_for_ranks(self, name: str, tensors: Sequence[Tensor]) -> str:
        """Return the shapes of a list that has a tensor for each rank.

        Raises:
            RuntimeError: it has not; `name` is that of the collective.
        """
        if len(tensors) != self._world.size:
            raise RuntimeError(
                f"{name}: expected a list of {self._world.size} tensors, one for each rank, got {len(tensors)}"
            )
        return ", ".join(str(tuple(tensor.shape)) for tensor in tensors)


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
