"""Play one function on several ranks at once, in this process: a thread for each rank, and only one runs at a time.

A rank runs until it waits for others, in a collective or at one end of a message; then the first one that can go on
runs, in their order. So a play is the same every time, and a wait that can never end is found and named (`Deadlock`).
Of what a real process has for itself, a rank has its own random states (`_RandomState`) and, because torch keeps them
for each thread, gradient mode and autocast; everything else that is global is shared.

Example: each of two ranks calls `all_reduce` once. Rank 0 runs, hands over its tensor and waits. Rank 1 runs, hands
over its own and waits too. Now both tensors are there, so rank 0 goes on: it writes the sum into its tensor and runs to
its end; then rank 1 does. If rank 1 had ended without an `all_reduce`, rank 0 could never go on: a `Deadlock`.

Drivers use `several_ranks` and `call_on_ranks`, or a `RankCase`, which does. The collectives are in `_group.py`, the
messages from one rank to another in `_messages.py`. To give each rank another state of its own, save and restore it in
`_RandomState`.
"""

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from grader.exercises.several_processes._sent import copied, number_of_elements
from grader.observe.play import Stage
from grader.observe.wording import ordinal, with_particle


class Deadlock(RuntimeError):
    """Every rank that has not ended waits, and none can go on; the message says who waits for what."""


class _Stopped(BaseException):
    """Ends the thread of a rank that waits, because another rank failed or the time is over."""


@dataclass
class CollectivePart:
    """One rank's part of a collective or of a message: what it gives to the others, and where the result goes."""

    name: str
    """Name of the function that was called: `all_reduce`."""
    given: Any
    """What this rank gives to the others, as `_sent.py copied` takes it; None if it gives nothing."""
    options: tuple[Any, ...] = ()
    """What must be the same on all members, such as the reduction, the rank that sends, shape and dtype of a tensor."""
    write_result: Callable[[list[Any]], Any] = lambda _: None
    """Writes the result on this rank and returns it; its argument is what all members gave, in order."""
    is_from_one_rank: bool = False
    """True if only what one rank gives counts, as in `broadcast` (`World.elements_joined`)."""


class Channel(NamedTuple):
    """Who exchanges something with whom: the n-th parts that the members of a channel begin there belong together."""

    members: tuple[int, ...]
    """All ranks for collectives; for messages the rank that sends and the rank that receives."""
    tag: int | None = None
    """The tag of messages; None for collectives."""


class _RandomState:
    """The random states of one rank: saved when it pauses, restored when it goes on."""

    def __init__(self) -> None:
        """Keep the states of this moment."""
        self.save()

    def save(self) -> None:
        """Keep the states of torch (CPU), NumPy and Python."""
        self._torch, self._numpy, self._python = (
            torch.get_rng_state(),
            np.random.get_state(),
            random.getstate(),
        )

    def restore(self) -> None:
        """Set the kept states again."""
        torch.set_rng_state(self._torch)
        np.random.set_state(self._numpy)
        random.setstate(self._python)


@dataclass
class _Rank:
    """One rank: its thread, and how far it is."""

    number: int
    random_state: _RandomState
    parts: dict[Channel, list[CollectivePart]] = field(default_factory=lambda: defaultdict(list))
    """What it has begun on each channel, in order. All members' parts at one index belong together."""
    waits_for: tuple[Channel, int] | None = None
    """Channel and index of what it waits for; None if it waits for nothing."""
    deadlock: Deadlock | None = None
    """To be raised where it waits; None if it can go on."""
    may_run: threading.Event = field(default_factory=threading.Event)
    """Set when it is its turn to run."""
    thread: threading.Thread | None = None
    """Its thread; None before `World.run`."""
    ended: bool = False
    """True once its function has returned, raised or been stopped."""
    result: Any = None
    """What its function returned."""
    error: BaseException | None = None
    """What its function raised; None if it raised nothing."""


class World:
    """Ranks that run one function each, and the collectives between them."""

    def __init__(self, size: int, *, is_reversed: bool = False) -> None:
        """Create `size` ranks.

        Args:
            size: number of ranks.
            is_reversed: let the last rank run first, wherever several could.
        """
        self.size = size
        self.everyone = Channel(tuple(range(size)))
        """The channel of the collectives."""
        self._ranks = [_Rank(number, _RandomState()) for number in range(size)]
        self._is_reversed = is_reversed
        self._turn_is_over = threading.Semaphore(0)
        """Released by a rank that stops running; the main thread waits for it before it lets the next one run."""
        self._is_stopping = False
        """True once the play has ended, or a rank has failed: ranks that still wait end then."""

    def run(self, functions: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run one function for each rank, and return their results.

        Raises:
            Deadlock: no rank can go on.
            BaseException: what the first rank to fail raised. The others are stopped.
        """
        for rank, function in zip(self._ranks, functions, strict=True):
            rank.thread = threading.Thread(target=self._run_rank, args=(rank, function), daemon=True)
            rank.thread.start()
        try:
            while not all(rank.ended for rank in self._ranks):
                rank = self._next_rank()
                rank.may_run.set()
                self._turn_is_over.acquire()
                if rank.error is not None:
                    raise rank.error
        finally:
            self._stop()
        return [rank.result for rank in self._ranks]

    def names_called(self, rank: int) -> list[str]:
        """Return the names of the collectives that a rank has begun, in order."""
        return [part.name for part in self._ranks[rank].parts[self.everyone]]

    def elements_joined(self, rank: int) -> int:
        """Return how many elements of tensors a rank has given to collectives that join what all ranks give.

        These are all collectives except those in which only one rank's tensors count. Where tensors are joined by
        messages, the elements that the rank has received are counted.
        """
        given = [part.given for part in self._ranks[rank].parts[self.everyone] if not part.is_from_one_rank]
        for channel, parts in self._ranks[rank].parts.items():
            if channel != self.everyone and channel.members[1] == rank:
                sent = self._ranks[channel.members[0]].parts[channel]
                given += [part.given for part in sent[: len(parts)]]
        return number_of_elements(given)

    def is_rank_0(self) -> bool:
        """Return True if the current thread is that of rank 0."""
        return threading.current_thread() is self._ranks[0].thread

    # ---- called by the ranks' threads ------------------------------------------------------------

    def begin(self, number: int, part: CollectivePart, channel: Channel | None = None) -> Callable[[], Any]:
        """Begin a collective or a message; return a function that waits for the others and returns the result.

        Args:
            number: the rank that begins it.
            part: this rank's part.
            channel: whose parts belong together; by default those of all ranks.
        """
        rank, channel = self._ranks[number], channel or self.everyone
        # A copy, because the rank may write into what it gave before the others have read it.
        part.given = copied(part.given)
        rank.parts[channel].append(part)
        index = len(rank.parts[channel]) - 1

        def wait() -> Any:
            # The rank that completes the collective pauses too, so that the first one in their order goes on.
            rank.waits_for = channel, index
            self._pause(rank)
            rank.waits_for = None
            parts = [self._ranks[member].parts[channel][index] for member in channel.members]
            if channel == self.everyone:
                _refuse_different(parts, index)
            else:
                _refuse_other_size(parts, channel)
            return part.write_result([each.given for each in parts])

        return wait

    def _pause(self, rank: _Rank) -> None:
        """Let others run until this rank may run again.

        Raises:
            Deadlock: it can never run again.
            _Stopped: the play is over.
        """
        rank.random_state.save()
        self._turn_is_over.release()
        rank.may_run.wait()
        rank.may_run.clear()
        if self._is_stopping:
            raise _Stopped
        rank.random_state.restore()
        if rank.deadlock is not None:
            raise rank.deadlock

    def _run_rank(self, rank: _Rank, function: Callable[[], Any]) -> None:
        """Run a rank's function in its thread."""
        rank.may_run.wait()
        rank.may_run.clear()
        try:
            if not self._is_stopping:
                rank.random_state.restore()
                rank.result = function()
        except _Stopped:
            pass
        except BaseException as error:  # raised again in the main thread
            rank.error = error
        finally:
            rank.ended, rank.waits_for = True, None
            self._turn_is_over.release()

    # ---- called by the main thread ---------------------------------------------------------------

    def _next_rank(self) -> _Rank:
        """Return the first rank that can go on.

        If there is none, return the first that waits, which then raises `Deadlock`.
        """
        not_ended = [rank for rank in self._ranks if not rank.ended]
        if self._is_reversed:
            not_ended.reverse()
        for rank in not_ended:
            if rank.waits_for is None:
                return rank
            channel, index = rank.waits_for
            if all(len(self._ranks[member].parts[channel]) > index for member in channel.members):
                return rank
        not_ended[0].deadlock = Deadlock(self._who_waits())
        return not_ended[0]

    def _stop(self) -> None:
        """End all threads that wait; one that has not ended after a second is left, as a daemon."""
        self._is_stopping = True
        for rank in self._ranks:
            rank.may_run.set()
        for rank in self._ranks:
            if rank.thread is not None:
                rank.thread.join(timeout=1.0)

    def _who_waits(self) -> str:
        """Say in Korean which rank waits for which collective or message, and where the others are."""
        sentences = []
        for rank in self._ranks:
            who = with_particle(f"rank {rank.number}", "은/는")
            if rank.ended:
                sentences.append(f"{who} 집합 통신을 {len(rank.parts[self.everyone])}번 하고 끝났어요.")
            elif rank.waits_for is not None:
                channel, index = rank.waits_for
                name = rank.parts[channel][index].name
                where = f"{ordinal(index + 1)} 집합 통신인 `{name}`에서"
                if channel != self.everyone:
                    sender, receiver = channel.members
                    other, does = (receiver, "받기를") if rank.number == sender else (sender, "보내기를")
                    where = f"{with_particle(f'rank {other}', '이/가')} {does} `{name}`에서"
                sentences.append(f"{who} {where} 기다려요.")
        return " ".join(sentences)


Around = Callable[[int, Callable[[], Any]], Any]
"""(rank, call) -> the rank's result. It makes the rank's call of the learner's function by `call()`, and may do more on
that rank before and after."""


def catching(exception: type[Exception]) -> Around:
    """Return an `Around` that catches exceptions of this type; a rank whose call raises one has it as its result."""

    def around(_: int, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except exception as error:
            return error

    return around


def call_on_ranks(
    stage: Stage,
    name: str,
    arguments: Sequence[Sequence[Any]],
    world: World,
    *,
    around: Around = lambda _, call: call(),
    **kwargs: Any,
) -> list[Any]:
    """Call the learner's function on every rank, together as one recorded call, and return the results.

    Only the events of rank 0 are recorded; a later `Recorder.call` outside of ranks records none.

    Args:
        stage: the scenario's stage.
        name: name of the learner's function.
        arguments: its positional arguments on each rank.
        world: the ranks.
        around: makes each rank's call (`Around`); by default it does nothing else.
        kwargs: its keyword arguments, the same on each rank.

    Raises:
        ScenarioOver: it raised on one rank, or waits there without end; the failure is in the run.
    """
    student = stage.student(name)

    def call(*arguments: Sequence[Any]) -> list[Any]:
        calls = [partial(student, *arguments_of_rank, **kwargs) for arguments_of_rank in arguments]
        return world.run([partial(around, rank, call_of_rank) for rank, call_of_rank in enumerate(calls)])

    call.__wrapped__ = student  # type: ignore[attr-defined]  # the recorder looks into its globals
    stage.recorder.hears_this_thread = world.is_rank_0
    # Each rank's arguments are one here, so that the recorder looks into their micro-batches (`ArgumentGuard`).
    return list(stage.recorder.call(call, *arguments))


@contextmanager
def several_ranks(size: int, *, is_reversed: bool = False) -> Iterator[World]:
    """Yield a world of `size` ranks (see `World`), and restore this process's random states afterwards."""
    states_before = _RandomState()
    try:
        yield World(size, is_reversed=is_reversed)
    finally:
        states_before.restore()


def _refuse_different(parts: Sequence[CollectivePart], index: int) -> None:
    """Refuse parts of different collectives, with which real processes would hang or mix their data.

    Args:
        parts: the part of each rank.
        index: index of the collective, for the message.

    Raises:
        RuntimeError: the ranks do not make the same collective; the message names rank 0 and the first rank that
            differs from it.
    """
    first = parts[0]
    for number, part in enumerate(parts):
        if part.name != first.name:
            raise RuntimeError(
                f"{ordinal(index + 1)} 집합 통신이 rank마다 달라요: "
                f"rank 0은 {first.name}, {with_particle(f'rank {number}', '은/는')} {part.name}."
            )
        if part.options != first.options:
            raise RuntimeError(
                f"{ordinal(index + 1)} 집합 통신인 {first.name}에 준 것이 rank마다 달라요: "
                f"rank 0은 {_options_in_words(first.options)}, "
                f"{with_particle(f'rank {number}', '은/는')} {_options_in_words(part.options)}."
            )


def _refuse_other_size(parts: Sequence[CollectivePart], channel: Channel) -> None:
    """Refuse a message for which the receiver has no tensor of the same number of elements and dtype.

    Args:
        parts: the parts of the rank that sends and of the rank that receives.
        channel: their channel.

    Raises:
        RuntimeError: the tensors differ.
    """
    sent, received = parts
    if sent.options != received.options:
        sender, receiver = (with_particle(f"rank {number}", "이/가") for number in channel.members)
        raise RuntimeError(
            f"{sender} `send`로 보낸 것은 {_options_in_words(sent.options)}인데, "
            f"{receiver} `recv`로 받을 곳은 {_options_in_words(received.options)}예요."
        )


def _options_in_words(options: tuple[Any, ...]) -> str:
    """Return the options of a collective in words: `모양이 (4,)인 float64 텐서`."""
    return ", ".join(
        f"모양이 {option[0]}인 {str(option[1]).removeprefix('torch.')} 텐서"
        if isinstance(option, tuple)
        else str(option)
        for option in options
    )
