"""What all calls of a `Group` share: beginning a collective or a message, waiting for it, and writing its result."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.exercises.several_processes._ranks import Channel, CollectivePart, World


class Future:
    """The stand-in for `torch.futures.Future`: the result of a collective, and what is to be done with it."""

    def __init__(self, wait: Callable[[], Any]) -> None:
        """Make a future; `wait` is a function that waits for the result and calls `set_result`."""
        self._wait, self._result, self._done = wait, None, False
        self._when_done: list[Callable[[], Any]] = []

    def done(self) -> bool:
        """Return True if the result is there."""
        return self._done

    def wait(self) -> Any:
        """Wait for the result and return it; of a collective, it is a list of the tensors that were written."""
        if not self._done:
            self._wait()
        return self._result

    value = wait

    def then(self, callback: Callable[["Future"], Any]) -> "Future":
        """Return a future of what the callback returns; it is called with this future once the result is there."""
        after = Future(self.wait)
        self._call_when_done(lambda: after.set_result(callback(self)))
        return after

    def add_done_callback(self, callback: Callable[["Future"], Any]) -> None:
        """Call the callback with this future once the result is there."""
        self._call_when_done(lambda: callback(self))

    def set_result(self, result: Any) -> None:
        """Take the result, and call who waits for it."""
        self._result, self._done = result, True
        calls, self._when_done = self._when_done, []
        self._wait = lambda: None  # it may lead back here, and would keep the tensors alive
        for call in calls:
            call()

    def _call_when_done(self, call: Callable[[], Any]) -> None:
        """Call it once the result is there, or now if it is."""
        if self._done:
            call()
        else:
            self._when_done.append(call)


class Work:
    """A collective that was started with `async_op=True`, or a message; its result is there after `wait`."""

    def __init__(self, wait: Callable[[], Any]) -> None:
        self._future = Future(lambda: self._future.set_result(wait()))
        self._was_asked = False

    def is_completed(self) -> bool:
        """Return True if the result is there; asked again, wait for it.

        The other ranks are threads that go on only while this one waits. So who asks in a loop comes to its end.
        """
        if self._was_asked:
            self.wait()
        self._was_asked = True
        return self._future.done()

    def wait(self, timeout: object = None) -> bool:
        """Wait for the other ranks and write the result; return True."""
        self._future.wait()
        return True

    def get_future(self) -> Future:
        """Return the result as a future."""
        return self._future


class Member:
    """The calls of one rank: what `Group`, `Messages` and `Objects` need of its world."""

    def __init__(self, world: World, rank: int) -> None:
        """Keep the world, and the number of the rank that calls."""
        self._world, self._rank = world, rank

    def _root(self, name: str, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
        """Return the rank that gives or gets something alone in a collective.

        Args:
            name: name of the collective, for the message.
            rank: `src` or `dst` of the call.
            group_rank: `group_src` or `group_dst` of the call.
            default: the rank if both are None; None if the call must name one.

        Raises:
            ValueError: both are given, or none and there is no default.
            RuntimeError: there is no such rank.
        """
        root = chosen_rank(rank, group_rank, default)
        if root not in self._world.everyone.members:
            raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
        return root

    def _start(
        self, part: CollectivePart, async_op: bool = False, channel: Channel | None = None
    ) -> Work | None:
        """Begin a collective or message; wait for its result, or with `async_op` return a `Work` that does."""
        work = Work(self._world.begin(self._rank, part, channel))
        if async_op:
            return work
        work.wait()
        return None


def chosen_rank(rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """Return the rank that a call names, by `src` or by `group_src`: all ranks are in one group, so both mean the same.

    Raises:
        ValueError: both are given, or none and there is no default.
    """
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    for value in (rank, group_rank, default):
        if value is not None:
            return value
    raise ValueError("Must specify global_rank or group_rank")


def list_of_root(name: str, role: str, given: list[Any] | None, *, is_root: bool) -> list[Any]:
    """Return the list given to the rank that gathers or scatters, an empty one elsewhere.

    Args:
        name: name of the argument, for a message.
        role: what torch calls that rank: `destination` if it gathers, `source` if it scatters.
        given: the list that this rank was given.
        is_root: True on that rank.

    Raises:
        ValueError: the list is missing or empty on that rank, or given on another one.
    """
    if is_root and not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    if not is_root and given:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
    return given or []


def refuse_other_length(name: str, role: str, given: Sequence[Any], size: int) -> None:
    """Refuse a list that does not have one item for each rank.

    Args:
        name: name of the collective, for the message.
        role: `input` or `output`, for the message.
        given: the list.
        size: the number of ranks.

    Raises:
        RuntimeError: it has another length.
    """
    if len(given) != size:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: Incorrect {role} list size {len(given)}. "
            f"{role.capitalize()} list size should be {size}, same as size of the process group."
        )


def values_of(tensor: object) -> Tensor:
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


def shape_and_dtype(tensor: Tensor) -> tuple[Any, ...]:
    """Return shape and dtype of a tensor that ranks exchange, which must be the same on all of them."""
    return (tuple(tensor.shape), tensor.dtype)


def write_into(targets: Sequence[Tensor], values: Sequence[Tensor]) -> list[Tensor]:
    """Write values into tensors in place, as a collective does: autograd does not record it. Return the tensors.

    Raises:
        RuntimeError: a tensor has another shape than its value.
    """
    for target, value in zip(targets, values, strict=True):
        if target.shape != value.shape:
            raise RuntimeError(
                f"invalid tensor size: expected {tuple(value.shape)}, got {tuple(target.shape)}"
            )
        target.detach().copy_(value)
    return [*targets]
