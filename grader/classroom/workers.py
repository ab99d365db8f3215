"""Worker processes on this machine: each owns a sandbox and what it learned about the exercises, and grades in it.

    parent ── pipe ──▶ worker ── sandbox ──▶ the student's code
           ◀── result ──┘

What a worker does with a submission is the caller's `work`. A worker that dies costs only the submission it had in
hand. What the clock ended while others ran is run once more alone before it counts. Workers are forked from a process
that has nothing else going on.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NoReturn

from grader.base.errors import HanstepError
from grader.base.importing import uncollected
from grader.sandbox.sandbox import Sandbox

if TYPE_CHECKING:  # `get_ready` is called before anything else is imported
    from grader.course.feedback import SubmissionResult
    from grader.grading.grading_run import GradingRun
    from grader.submission.submission import Submission

Work = Callable[["GradingRun", "Submission", Sandbox], "SubmissionResult"]
"""What is done with each submission: a function at the top of a module, so that a worker finds it there."""

_PRELOADED = ("grader.grading.run_submission",)
"""What is imported before workers are forked, while the parent reads what was handed in."""
_MOST_MEMORY = 3 * 2**29
"""A worker that has come to hold more (1.5 GiB) is replaced, by one that has to play the mistakes anew."""
_END_SECONDS = 10.0  # until a worker that was told to end is killed
_DIED_AT_START = (
    "채점하는 프로세스가 시작하다가 죽었어요 ({}). 메모리가 모자라지 않은지 확인하고, "
    "--jobs를 줄여 --resume으로 이어서 채점해 주세요."
)


class WorkerDied(HanstepError):
    """Workers do not even start."""


def get_ready() -> None:
    """Begin to start the process that workers are forked from; returns at once."""
    context: Any = _context()
    if context.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def results_here(
    run: "GradingRun", submissions: "deque[Submission]", work: Work
) -> "Generator[tuple[Submission, SubmissionResult | None]]":
    """Every submission with its result, in the order they end; `run.jobs` workers at once.

    `submissions` is empty in the end: the texts of a class of thousands need not be held until its last one is graded.

    Returns:
        None in place of the result where two workers died of the submission.

    Raises:
        SandboxUnavailable: the asked-for isolation cannot be had here.
        WorkerDied: a worker died before it had got anything to do.
    """
    again: deque[_Turn] = deque()
    unsure: deque[_Turn] = deque()
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    first_has_started = False
    try:
        while submissions or again or busy or unsure:
            if not submissions and not again and not busy:
                again.append(unsure.popleft())
            # The others wait for the first one: they would only take the processors from it that it starts on, and
            # what an instructor waits for is the first result.
            while (again or submissions) and len(busy) < (run.jobs if first_has_started else 1):
                worker = idle.pop() if idle else _Worker(run, work)
                busy[worker.connection] = worker
                worker.take(again.popleft() if again else _Turn(submissions.popleft(), alone=run.jobs == 1))
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                worker = busy[connection]
                ended, result = worker.hear()
                first_has_started = True  # or it died, and is begun again
                if not ended:
                    continue
                del busy[connection]
                if worker.usable:
                    idle.append(worker)
                turn = worker.turn
                if result is None and turn.tries > 1:
                    again.append(replace(turn, tries=turn.tries - 1))
                elif result is not None and worker.clock_ended and not turn.alone:
                    unsure.append(replace(turn, alone=True))
                else:
                    yield turn.submission, result
    finally:
        _end_all([*idle, *busy.values()])


@dataclass(frozen=True)
class _Turn:
    submission: "Submission"
    alone: bool
    """No other submission runs beside it."""
    tries: int = 2
    """How often it may be begun: a worker may die of something else."""


class _Worker:
    """The parent's side of one worker process."""

    turn: _Turn
    """In hand, or the last one."""
    clock_ended = False
    """Whether the clock ended some exercise of it."""

    def __init__(self, run: "GradingRun", work: Work) -> None:
        self.connection, inside = multiprocessing.Pipe()
        self.usable, self._started = True, False
        self.process = _begun((inside, run, work))
        inside.close()  # the worker's end of the pipe is then its alone, and a dead worker is noticed

    def take(self, turn: _Turn) -> None:
        """Send it a submission."""
        self.turn = turn
        with suppress(OSError):  # a worker that is gone is noticed at the next look
            self.connection.send(turn.submission)

    def hear(self) -> "tuple[bool, SubmissionResult | None]":
        """Read one message: whether its submission has come to an end, and the result, None if the worker died.

        Raises:
            Exception: what the worker raised.
        """
        try:
            said, content, memory, self.clock_ended = self.connection.recv()
        except (EOFError, OSError):
            self.usable = False
            self.process.join(_END_SECONDS)
            self.end()
            if not self._started:
                raise WorkerDied(_DIED_AT_START.format(f"종료 코드 {self.process.exitcode}")) from None
            return True, None
        if said == "error":
            raise content
        if said == "started":
            self._started = True
            return False, None
        if memory > _MOST_MEMORY:
            self.usable = False
            self.connection.close()  # at which it ends
        result: SubmissionResult = content
        return True, result

    def end(self) -> None:
        """Tell it to end."""
        self.connection.close()
        self.process.terminate()


def _begun(arguments: tuple[Any, ...], tries: int = 20) -> Any:
    """A process that serves.

    Raises:
        WorkerDied: none can be started.
    """
    process = _context().Process(target=_serve, args=arguments, daemon=True)
    try:
        process.start()
    except (
        EOFError,
        OSError,
    ) as error:  # what forks them was killed just now; once it is gone, there is another
        if tries == 1:
            raise WorkerDied(_DIED_AT_START.format(error)) from error
        time.sleep(0.1)
        return _begun(arguments, tries - 1)
    return process


def _end_all(workers: "Sequence[_Worker]") -> None:
    """Workers end their sandboxes; one that does not is killed, at which its sandbox ends by itself."""
    for worker in workers:
        worker.end()
    deadline = time.monotonic() + _END_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


# ---- inside a worker -----------------------------------------------------------------------------


class _Stop(BaseException):
    """The parent has told this worker to end; nothing that runs learners' or mistakes' code catches it."""


def _serve(connection: Connection, run: "GradingRun", work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too, but what follows the parent says
    signal.signal(signal.SIGTERM, _stop)
    try:
        with suppress(_Stop, EOFError, BrokenPipeError, ConnectionResetError):  # nobody is waiting any more
            _answer(connection, run, work)
    finally:
        connection.close()


def _answer(connection: Connection, run: "GradingRun", work: Work) -> None:
    try:
        from grader.grading.run_submission import sandbox_of

        with sandbox_of(run) as sandbox:
            with uncollected():  # while the sandbox warms up
                from grader.grading import warm  # noqa: F401

            sandbox.wait_until_warm()
            connection.send(("started", None, 0, False))
            while True:
                submission = connection.recv()
                before = sandbox.clock_ended
                result = work(run, submission, sandbox)
                connection.send(("result", result, _memory(), sandbox.clock_ended > before))
    except (EOFError, BrokenPipeError, ConnectionResetError, MemoryError):
        raise
    except Exception as error:
        connection.send(("error", _that_travels(error), 0, False))


def _stop(number: int, frame: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the sandbox is being ended
    raise _Stop


def _that_travels(error: Exception) -> Exception:
    """The error with the worker's traceback; a plain one in its place, if it cannot be pickled."""
    told = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))
        if isinstance(copy, type(error)):
            error.add_note(told)
            return error
    except Exception:  # its class may ask for arguments of its own
        pass
    return RuntimeError(told)


def _memory() -> int:
    """Bytes this process holds now, where the system tells; elsewhere the most it ever held."""
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
