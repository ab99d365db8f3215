"""Messages from one rank to another: the part of a `Group` with `send`, `recv` and what is built of them.

As in torch, the n-th message that a rank sends to another with a tag goes to the other's n-th `recv` from this rank
with this tag, and `send` waits for it. So two ranks that both send first wait without end.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from grader.exercises.several_processes._member import Member, Work, chosen_rank, values_of, write_into
from grader.exercises.several_processes._ranks import Channel, CollectivePart


class P2POp(NamedTuple):
    """The stand-in for `torch.distributed.P2POp`: a message that `batch_isend_irecv` begins."""

    op: Callable[..., Any]
    tensor: Tensor
    peer: int | None = None
    group: object = None
    tag: int = 0
    group_peer: int | None = None


class Messages(Member):
    """The functions of `torch.distributed` that send and receive messages."""

    def send(
        self,
        tensor: Tensor,
        dst: int | None = None,
        group: object = None,
        tag: int = 0,
        group_dst: int | None = None,
    ) -> None:
        """Send a tensor to rank `dst`, and wait until it receives it."""
        self.isend(tensor, dst, group, tag, group_dst).wait()

    def recv(
        self,
        tensor: Tensor,
        src: int | None = None,
        group: object = None,
        tag: int = 0,
        group_src: int | None = None,
    ) -> int:
        """Wait for a tensor from rank `src` and write it into `tensor`; return `src`.

        Raises:
            NotImplementedError: no rank is given, which in torch means any rank.
        """
        if src is None and group_src is None:
            raise NotImplementedError(
                "채점할 때의 `recv`는 어느 rank에서나 받지는 못해요. `src=`에 보낸 rank를 적으세요."
            )
        sender = chosen_rank(src, group_src)
        self.irecv(tensor, sender, group, tag).wait()
        return sender

    def isend(
        self,
        tensor: Tensor,
        dst: int | None = None,
        group: object = None,
        tag: int = 0,
        group_dst: int | None = None,
    ) -> Work:
        """Begin to send a tensor to rank `dst`."""
        part = CollectivePart("send", values_of(tensor), _size_and_dtype(tensor))
        return self._start_message(part, (self._rank, chosen_rank(dst, group_dst)), tag)

    def irecv(
        self,
        tensor: Tensor,
        src: int | None = None,
        group: object = None,
        tag: int = 0,
        group_src: int | None = None,
    ) -> Work:
        """Begin to receive a tensor from rank `src`; it is in `tensor` after `wait`."""
        part = CollectivePart(
            "recv",
            None,
            _size_and_dtype(values_of(tensor)),
            lambda given: write_into([tensor], [given[0].reshape(tensor.shape)]),
        )
        return self._start_message(part, (chosen_rank(src, group_src), self._rank), tag)

    def batch_isend_irecv(self, p2p_op_list: Sequence[P2POp]) -> list[Work]:
        """Begin messages, and return the `Work` of each."""
        return [op.op(op.tensor, chosen_rank(op.peer, op.group_peer), tag=op.tag) for op in p2p_op_list]

    def _start_message(self, part: CollectivePart, members: tuple[int, int], tag: int) -> Work:
        """Begin this rank's part of a message; `members` are the rank that sends and the one that receives.

        Raises:
            ValueError: these are not two ranks of the world.
        """
        if members[0] == members[1] or not set(members) <= set(self._world.everyone.members):
            raise ValueError(
                f"`{part.name}`의 상대는 다른 rank여야 해요: rank {members[0]} → rank {members[1]}, "
                f"rank는 모두 {self._world.size}개"
            )
        return Work(self._world.begin(self._rank, part, Channel(members, tag)))


def _size_and_dtype(tensor: Tensor) -> tuple[str]:
    """Return in words what must be the same at both ends of a message; the shapes may differ."""
    return (f"원소 {tensor.numel()}개인 {str(tensor.dtype).removeprefix('torch.')} 텐서",)
