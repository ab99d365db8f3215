"""Grade submissions in worker processes on this machine.

    parent ── pipe ──▶ worker ── sandbox ──▶ the student's code
           ◀── result ──┘

Each worker owns a sandbox and a cache of the traces of solutions and known mistakes. The caller's `work` says what a
worker does with a submission. A worker that dies affects only the submission it was working on, which is tried once
more. If a submission ran out of wall time or was cut off while others were running, it is run again alone before that
counts. Workers are forked from a process without other threads (multiprocessing's fork server).
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
from grader.grading.warm import warm_up
from grader.sandbox.sandbox import Sandbox

if TYPE_CHECKING:  # `start_fork_server` is called before anything else is imported
    from grader.course.feedback import SubmissionResult
    from grader.grading.grading_run import GradingRun
    from grader.submission.submission import Submission

Work = Callable[["GradingRun", "Submission", Sandbox], "SubmissionResult"]
"""Function that grades one submission. It must stand at the top of a module, so that a worker can import it."""

_PRELOADED = ("grader.grading.run_submission",)
"""Modules imported before workers are forked, while the parent reads the submissions."""
_MOST_MEMORY = 3 * 2**29
"""Maximum memory of a worker in bytes (1.5 GiB). One that holds more is replaced; the new one has to play the mistakes
again."""
_END_SECONDS = 10.0  # to wait for a worker that was told to end before it is killed
_DIED_AT_START = (
    "채점하는 프로그램이 시작하다가 갑자기 끝났어요 ({}). 메모리가 모자라지 않은지 확인하고, "
    "--jobs를 줄여 --resume으로 이어서 채점해 주세요."
)


class WorkerDied(HanstepError):
    """Worker processes cannot be started, or die while starting."""


def start_fork_server() -> None:
    """Begin to start the process from which workers are forked; return at once."""
    context: Any = _context()
    if context.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def results_from_workers(
    run: "GradingRun", submissions: "deque[Submission]", work: Work
) -> "Generator[tuple[Submission, SubmissionResult | None]]":
    """Yield every submission with its result, in the order in which they end, using `run.jobs` workers at once.

    The result is None if two workers died while working on the submission.

    Args:
        run: settings of the grading.
        submissions: the submissions; emptied on the way, because the texts of a class of thousands need not be held
            until the last one is graded.
        work: function that grades one submission, called in a worker.

    Raises:
        SandboxUnavailable: the requested isolation is not available here.
        WorkerDied: a worker died before it had started its sandbox.
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
            # The other workers are started after the first one has started. Otherwise they would compete with it for
            # processors, and an instructor waits for the first result.
            while (again or submissions) and len(busy) < (run.jobs if first_has_started else 1):
                worker = idle.pop() if idle else _Worker(run, work)
                busy[worker.connection] = worker
                worker.take(again.popleft() if again else _Turn(submissions.popleft(), alone=run.jobs == 1))
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                worker = busy[connection]
                ended, result = worker.hear()
                first_has_started = True  # one that dies before it has started makes `hear` raise
                if not ended:
                    continue
                del busy[connection]
                if worker.usable:
                    idle.append(worker)
                turn = worker.turn
                if result is None and turn.tries > 1:
                    again.append(replace(turn, tries=turn.tries - 1))
                elif result is not None and worker.is_doubtful and not turn.alone:
                    unsure.append(replace(turn, alone=True))
                else:
                    yield turn.submission, result
    finally:
        _end_all([*idle, *busy.values()])


@dataclass(frozen=True)
class _Turn:
    """One attempt to grade a submission."""

    submission: "Submission"
    alone: bool
    """True if no other submission runs at the same time."""
    tries: int = 2
    """Number of times it may still be begun, this one included. More than one, because the submission need not be the
    reason why a worker dies."""


class _Worker:
    """The parent's side of one worker process."""

    turn: _Turn
    """The turn it is working on, or the last one."""
    is_doubtful = False
    """True if some outcome of the last turn may be due to a busy machine (`Sandbox.doubtful_outcomes`)."""

    def __init__(self, run: "GradingRun", work: Work) -> None:
        self.connection, inside = multiprocessing.Pipe()
        self.usable, self._started = True, False
        self.process = _start_process((inside, run, work))
        inside.close()  # only the worker holds its end of the pipe now, so that its death is noticed

    def take(self, turn: _Turn) -> None:
        """Send the worker a submission."""
        self.turn = turn
        with suppress(OSError):  # that the worker is gone is noticed in `hear`
            self.connection.send(turn.submission)

    def hear(self) -> "tuple[bool, SubmissionResult | None]":
        """Read one message from the worker.

        Returns:
            (True, result) if the submission has been graded, (True, None) if the worker died, and (False, None) if the
            worker has only reported that it has started.

        Raises:
            WorkerDied: the worker died before it had started.
            Exception: whatever the worker raised.
        """
        try:
            kind, content, memory, self.is_doubtful = self.connection.recv()
        except (EOFError, OSError):
            self.usable = False
            self.process.join(_END_SECONDS)
            self.end()
            if not self._started:
                raise WorkerDied(_DIED_AT_START.format(f"종료 코드 {self.process.exitcode}")) from None
            return True, None
        if kind == "error":
            raise content
        if kind == "started":
            self._started = True
            return False, None
        if memory > _MOST_MEMORY:
            self.usable = False
            self.connection.close()  # this makes the worker end
        result: SubmissionResult = content
        return True, result

    def end(self) -> None:
        """Tell the worker to end."""
        self.connection.close()
        self.process.terminate()


def _start_process(arguments: tuple[Any, ...], tries: int = 20) -> Any:
    """Start and return a worker process.

    Raises:
        WorkerDied: it cannot be started, after `tries` attempts.
    """
    process = _context().Process(target=_serve, args=arguments, daemon=True)
    try:
        process.start()
    # The fork server was just killed; a new one is started once it is gone
    except (EOFError, OSError) as error:
        if tries == 1:
            raise WorkerDied(_DIED_AT_START.format(error)) from error
        time.sleep(0.1)
        return _start_process(arguments, tries - 1)
    return process


def _end_all(workers: "Sequence[_Worker]") -> None:
    """End all workers, which end their sandboxes. One that does not is killed; its sandbox then ends by itself."""
    for worker in workers:
        worker.end()
    deadline = time.monotonic() + _END_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _context() -> Any:
    """Return multiprocessing's fork server where there is one; on Windows, `spawn`."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


# ---- inside a worker -----------------------------------------------------------------------------


class _Stop(BaseException):
    """The parent has told this worker to end. A BaseException: code that runs learners' programs must not catch it."""


def _serve(connection: Connection, run: "GradingRun", work: Work) -> None:
    """Run a worker process until the parent closes the connection or sends SIGTERM."""
    # Ctrl-C reaches workers too, but the parent decides what follows
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop_on_signal)
    try:
        # The parent does not wait any more
        with suppress(_Stop, EOFError, BrokenPipeError, ConnectionResetError):
            _answer(connection, run, work)
    finally:
        connection.close()


def _answer(connection: Connection, run: "GradingRun", work: Work) -> None:
    """Start a sandbox, then grade each submission that comes and send (kind, content, memory, is doubtful) back."""
    try:
        from grader.grading.run_submission import start_sandbox

        with start_sandbox(run) as sandbox:
            warm_up()  # while the sandbox does too
            sandbox.wait_until_warm()
            connection.send(("started", None, 0, False))
            while True:
                submission = connection.recv()
                before = sandbox.doubtful_outcomes
                result = work(run, submission, sandbox)
                connection.send(("result", result, _memory(), sandbox.doubtful_outcomes > before))
    except (EOFError, BrokenPipeError, ConnectionResetError, MemoryError):
        raise
    except Exception as error:
        connection.send(("error", _picklable(error), 0, False))


def _stop_on_signal(number: int, frame: Any) -> NoReturn:
    # A second signal must not interrupt the ending of the sandbox
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Stop


def _picklable(error: Exception) -> Exception:
    """Return the error with the worker's traceback as a note; if it cannot be pickled, a RuntimeError in its place."""
    traceback_text = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))
        if isinstance(copy, type(error)):
            error.add_note(traceback_text)
            return error
    except Exception:  # e.g. its class needs other arguments than pickle passes
        pass
    return RuntimeError(traceback_text)


def _memory() -> int:
    """Return the bytes that this process holds now or, where the system does not tell, the most it ever held."""
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
