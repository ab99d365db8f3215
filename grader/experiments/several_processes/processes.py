"""Run one function in several real processes that form a group, and bring back what each returned."""

import multiprocessing
import os
import pickle
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


class RankError(RuntimeError):
    """A process of the group raised an exception; the message says which rank and quotes it."""


def run_ranks(
    function: Callable[..., Any], *arguments: object, world: int = 2, seconds: float = 60
) -> list[Any]:
    """Call `function(rank, world, *arguments)` in `world` processes of one gloo group.

    The processes are forked, so that a function defined in a notebook's cell can be used as it stands. They meet
    through a file and use no network address. Each computes with one thread, in what torch's default dtype is here.
    One that waits `seconds` for a partner in a collective gives up with an exception; the lesson's runs take below one.

    Returns:
        What each rank returned, in the order of the ranks. It has to be something that pickle can carry; tensors come
        back as tensors of their own.

    Raises:
        RankError: A process raised an exception or ended without an answer.
        RuntimeError: This system cannot fork a process (Windows).

    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise RuntimeError("이 실험은 프로세스를 fork로 나눠요. 윈도우에서는 WSL이나 Colab에서 열어 주세요.")
    # The first DDP wrap of a process imports this for many seconds; children that are forked afterwards have it.
    import torch._dynamo  # noqa: F401

    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        meeting = (Path(folder) / "meeting").as_uri()
        started = []
        for rank in range(world):
            receiving, sending = context.Pipe(duplex=False)
            process = context.Process(
                target=_one_rank,
                args=(sending, meeting, rank, world, seconds, function, arguments),
                daemon=True,
            )
            process.start()
            sending.close()
            started.append((process, receiving))
        try:
            answers = [_answer_of(receiving, seconds) for _, receiving in started]
        finally:
            for process, receiving in started:
                receiving.close()
                process.join(timeout=5)
                if process.is_alive():
                    process.kill()
                    process.join()
    # When one rank fails, its partners lose their connection and fail too: all are told.
    failures = [f"rank {rank}: {value}" for rank, (went_well, value) in enumerate(answers) if not went_well]
    if failures:
        raise RankError("\n".join(failures))
    return [value for _, value in answers]


def _one_rank(
    sending: Connection,
    meeting: str,
    rank: int,
    world: int,
    seconds: float,
    function: Callable[..., Any],
    arguments: tuple[object, ...],
) -> None:
    """Join the group, call the function and send back whether it went well with its value or its exception."""
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        dist.init_process_group(
            "gloo",
            init_method=meeting,
            rank=rank,
            world_size=world,
            timeout=timedelta(seconds=seconds),
        )
        # A rank is connected before its partners are: one that left at once would take their connection away.
        dist.barrier()
        try:
            sending.send_bytes(pickle.dumps((True, function(rank, world, *arguments))))
        finally:
            dist.destroy_process_group()
    except BaseException as error:  # whatever ends this process is told by its parent
        last_line = traceback.format_exception_only(error)[-1].strip()
        sending.send_bytes(pickle.dumps((False, last_line)))
    finally:
        sending.close()
        # Leave without the clean-up of the parent's kernel, of which this process is a copy.
        os._exit(0)


def _answer_of(receiving: Connection, seconds: float) -> tuple[bool, Any]:
    """Return what a rank sent: whether it went well, and its value or the exception's text."""
    if not receiving.poll(seconds + 30):
        return False, "시간 안에 답하지 않았어요."
    try:
        went_well, value = pickle.loads(receiving.recv_bytes())
    except EOFError:
        return False, "답하지 않고 끝났어요."
    return bool(went_well), value
