"""Play one function on several ranks at once, in this process: a thread for each rank, and only one runs at a time.

A rank runs until it waits for others in a collective; then the next rank runs, in their order. So a play is the same
every time, needs no socket, and a wait that can never end is found and named (`Deadlock`). What a real process has for
itself is kept apart: the random states (`_RandomState`); torch keeps gradient mode and autocast apart for each thread.

The collectives themselves are in `_group.py`.
"""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.observe.play import Stage
from grader.observe.wording import ordinal, with_particle


class Deadlock(RuntimeError):
    """Ranks wait for each other and none can go on; the message says who waits for what."""


class _Stopped(BaseException):
    """Ends a rank's thread because another rank failed, or because the time is over."""


@dataclass
class Posted:
    """One rank's part of a collective: what it gives, and where the result goes."""

    name: str
    """Name of the function that was called: `all_reduce`."""
    given: Any
    """Tensor, list of tensors or object that this rank gives; None if it gives nothing."""
    options: tuple[Any, ...] = ()
    """What must be the same on all ranks: the kind of reduction, the rank that sends."""
    write: Callable[[list[Any]], None] = lambda _: None
    """Write the result on this rank, given what all ranks gave, in their order."""


class _RandomState:
    """The random states of one rank, which go with it when another rank runs."""

    def __init__(self) -> None:
        self.save()

    def save(self) -> None:
        """Keep the states of torch (CPU), NumPy and Python."""
        self._torch, self._numpy, self._python = (
            torch.get_rng_state(),
            np.random.get_state(),
            random.getstate(),
        )

    def restore(self) -> None:
        """Set them again."""
        torch.set_rng_state(self._torch)
        np.random.set_state(self._numpy)
        random.setstate(self._python)


@dataclass
class _Rank:
    """One rank: its thread, and how far it is."""

    number: int
    random_state: _RandomState
    posted: list[Posted] = field(default_factory=list)
    """The collectives that it has begun, in order; the same place of each rank's list is one collective."""
    waits_for: int | None = None
    """Index of the collective that it waits for; None if it runs or has ended."""
    deadlock: Deadlock | None = None
    """Raised where it waits, when it runs again."""
    may_run: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    ended: bool = False
    result: Any = None
    error: BaseException | None = None


class World:
    """Ranks that run one function each, and the collectives between them."""

    def __init__(self, size: int, *, is_reversed: bool = False) -> None:
        """Create `size` ranks.

        Args:
            size: number of ranks.
            is_reversed: let the last rank run first, wherever several could.
        """
        self.size = size
        self._ranks = [_Rank(number, _RandomState()) for number in range(size)]
        self._is_reversed = is_reversed
        self._baton = threading.Semaphore(0)
        """Released by a rank that stops running; only the main thread takes it."""
        self._stopping = False

    def run(self, functions: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run one function for each rank, in lockstep, and return their results.

        Raises:
            Deadlock: no rank can go on.
            BaseException: what the first rank to fail raised. The others are stopped.
        """
        for rank, function in zip(self._ranks, functions, strict=True):
            rank.thread = threading.Thread(target=self._work, args=(rank, function), daemon=True)
            rank.thread.start()
        try:
            while not all(rank.ended for rank in self._ranks):
                rank = self._next_rank()
                rank.may_run.set()
                self._baton.acquire()
                if rank.error is not None:
                    raise rank.error
        finally:
            self._stop()
        return [rank.result for rank in self._ranks]

    def names_called(self, rank: int) -> list[str]:
        """Return the names of the collectives that a rank has begun, in order."""
        return [posted.name for posted in self._ranks[rank].posted]

    def elements_joined(self, rank: int) -> int:
        """Return how many tensor elements a rank has given to collectives that join what all ranks give."""
        return sum(
            posted.given.numel()
            for posted in self._ranks[rank].posted
            if isinstance(posted.given, Tensor) and posted.name != "broadcast"
        )

    def is_rank_0(self) -> bool:
        """Return True if the current thread is that of rank 0."""
        return threading.current_thread() is self._ranks[0].thread

    # ---- called by the ranks' threads ------------------------------------------------------------

    def post(self, number: int, posted: Posted) -> Callable[[], None]:
        """Begin a collective on a rank; return a function that waits for the other ranks and writes the result."""
        rank = self._ranks[number]
        rank.posted.append(posted)
        index = len(rank.posted) - 1

        def wait() -> None:
            # The last to come stops too, so that it is no faster than the others.
            rank.waits_for = index
            self._pause(rank)
            rank.waits_for = None
            parts = [other.posted[index] for other in self._ranks]
            _refuse_different(parts, index)
            posted.write([part.given for part in parts])

        # Others may write into what they gave as soon as they go on.
        posted.given = copied(posted.given)
        return wait

    def _pause(self, rank: _Rank) -> None:
        """Let others run until this rank may run again."""
        rank.random_state.save()
        self._baton.release()
        rank.may_run.wait()
        rank.may_run.clear()
        if self._stopping:
            raise _Stopped
        rank.random_state.restore()
        if rank.deadlock is not None:
            raise rank.deadlock

    def _work(self, rank: _Rank, function: Callable[[], Any]) -> None:
        """Run a rank's function in its thread."""
        rank.may_run.wait()
        rank.may_run.clear()
        try:
            if not self._stopping:
                rank.random_state.restore()
                rank.result = function()
        except _Stopped:
            pass
        except BaseException as error:  # raised again in the main thread
            rank.error = error
        finally:
            rank.ended, rank.waits_for = True, None
            self._baton.release()

    # ---- called by the main thread ---------------------------------------------------------------

    def _next_rank(self) -> _Rank:
        """Return the first rank that can go on.

        If there is none, return the first that waits, which then raises `Deadlock`.
        """
        waiting = [rank for rank in self._ranks if not rank.ended]
        if self._is_reversed:
            waiting.reverse()
        for rank in waiting:
            index = rank.waits_for
            if index is None or all(len(other.posted) > index for other in self._ranks):
                return rank
        waiting[0].deadlock = Deadlock(self._who_waits())
        return waiting[0]

    def _stop(self) -> None:
        """End all threads that wait; one that does not come back is left, as a daemon."""
        self._stopping = True
        for rank in self._ranks:
            rank.may_run.set()
        for rank in self._ranks:
            if rank.thread is not None:
                rank.thread.join(timeout=1.0)

    def _who_waits(self) -> str:
        """Say in Korean which rank waits for which collective, and where the others are."""
        sentences = []
        for rank in self._ranks:
            who = with_particle(f"rank {rank.number}", "은/는")
            if rank.ended:
                sentences.append(f"{who} 집합 통신을 {len(rank.posted)}번 하고 끝났어요.")
            elif rank.waits_for is not None:
                name = rank.posted[rank.waits_for].name
                sentences.append(f"{who} {ordinal(rank.waits_for + 1)} 집합 통신인 `{name}`에서 기다려요.")
        return " ".join(sentences)


def copied(given: Any) -> Any:
    """Return an equal object that shares no memory with it, as after a journey to another process."""
    if isinstance(given, Tensor):
        return given.detach().clone()
    if isinstance(given, list):
        return [copied(one) for one in given]
    if isinstance(given, tuple) and type(given) is tuple:
        return tuple(copied(one) for one in given)
    if isinstance(given, dict):
        return {key: copied(value) for key, value in given.items()}
    return given


def _refuse_different(parts: Sequence[Posted], index: int) -> None:
    """Raise RuntimeError if the ranks do not make the same collective, in which real processes hang or mix data."""
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
                f"rank 0은 {_words(first.options)}, "
                f"{with_particle(f'rank {number}', '은/는')} {_words(part.options)}."
            )


def _words(options: tuple[Any, ...]) -> str:
    """Return the options of a collective in words: `모양이 (4,)인 float64 텐서`."""
    return ", ".join(
        f"모양이 {option[0]}인 {str(option[1]).removeprefix('torch.')} 텐서"
        if isinstance(option, tuple)
        else str(option)
        for option in options
    )


Around = Callable[[int, Callable[[], Any]], Any]
"""(rank, call) -> the rank's result: does something before and after the call of the learner's function on a rank."""


def error_of(exception: type[Exception]) -> Around:
    """Return what lets a rank's result be the exception of this type that the function raises, if it raises one."""

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
    **keywords: Any,
) -> list[Any]:
    """Call the learner's function on every rank at once, as the recorder calls one, and return the results.

    Events are recorded of rank 0 only, whose model a driver may watch.

    Args:
        stage: the scenario's stage.
        name: name of the learner's function.
        arguments: its positional arguments on each rank.
        world: the ranks.
        around: makes each rank's call.
        keywords: its keyword arguments, the same on each rank.

    Raises:
        ScenarioOver: it raised on one rank, or waits without end; the failure is in the run.
    """
    student = stage.student(name)

    def call(arguments: Sequence[Sequence[Any]]) -> list[Any]:
        calls = [partial(student, *own, **keywords) for own in arguments]
        return world.run([partial(around, rank, one) for rank, one in enumerate(calls)])

    call.__wrapped__ = student  # type: ignore[attr-defined]  # whose globals the recorder looks into
    stage.recorder.hears_this_thread = world.is_rank_0
    return list(stage.recorder.call(call, arguments))


@contextmanager
def several_ranks(size: int, *, is_reversed: bool = False) -> Iterator[World]:
    """Give a world of ranks, and restore this process's random states afterwards."""
    here = _RandomState()
    try:
        yield World(size, is_reversed=is_reversed)
    finally:
        here.restore()
