"""Run the exercises of submissions in processes of their own, usually isolated, and return a trace of each.

A `Sandbox` owns one server: a process that has imported torch (`sandbox.server_process` starts it,
`sandbox.inside.server` runs in it). For each submission the server forks a child, to which `sandbox.client` talks. The
child plays the submission's exercises one after the other; if one of them ends it, another child plays the rest.

`grading/run_submission.py` calls `run` of a `Sandbox` with a submission's files, and gets an `Outcome` for each
exercise. `grading/grade_submission.py` and `notebook/attempts.py` call `attempts`. Nothing is judged here. Where a
limit, a status or a request is added, grader/ADDING.md says.
"""

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from operator import attrgetter
from types import TracebackType
from typing import NamedTuple, Self

from grader.observe.trace import Trace, TraceError
from grader.sandbox import bubblewrap
from grader.sandbox.attempts import AttemptLimits, Attempts
from grader.sandbox.bubblewrap import explain_probe, probe
from grader.sandbox.client import Child, Limits, SuspiciousAct
from grader.sandbox.forked_server import can_fork
from grader.sandbox.inside.protocol import ServerSettings
from grader.sandbox.no_answer import CUT_OFF, ONLY_WAITED, UNREADABLE_TRACE, CutOff, NoAnswer, Status
from grader.sandbox.parcels import ParcelContents
from grader.sandbox.server_process import SandboxUnavailable, ServerProcess
from grader.sandbox.trace_bounds import read_bounded

NO_TIME_LEFT = "제출물 전체의 시간이 끝남"
"""Detail of the timeout of an exercise that was not played, because those before it had used up the submission's time.
"""
_MAX_CUT_OFFS = 2
"""From a submission's second cut-off (`CutOff`) on, the exercise being played counts as crashed; before that it is
played again."""
_MAX_STARTS = 2
"""Maximum number of servers that are started, one after the other, until one lives long enough to be warm; also the
maximum number of children that are forked, until one is ready."""
_DOUBTFUL_DETAILS = (ONLY_WAITED, NO_TIME_LEFT, CUT_OFF)
"""Details of outcomes for which the machine may be to blame: it was busy, or its memory ran short."""
_NO_CHILD = "제출물을 실행하지 못했어요. 컴퓨터의 메모리가 모자라거나 너무 바쁘지 않은지 확인해 보세요."
_GPU_ATTEMPT_LIMITS = AttemptLimits(first_cpu_seconds=5.0, seconds=10.0)
"""Limits of attempts on a GPU. The first play of a child may take several times what was measured on a slow machine, as
`AttemptLimits.first_cpu_seconds` tells."""


@dataclass(frozen=True)
class Job:
    """One file of a submission, and those of its exercises that are to be played."""

    source: str
    """Text of the program."""
    exercises: tuple[str, ...]
    """Names of the exercises, in the order in which they are played."""


class _Task(NamedTuple):
    """One exercise of a `Job`, with the text of its file."""

    source: str
    """Text of the program."""
    exercise: str


@dataclass(frozen=True)
class Outcome:
    """How the play of one exercise ended, and its trace."""

    exercise: str
    status: Status
    trace: Trace | None
    """The trace; None if there is none that can be read. There always is one with the status `ran`. With `memory`,
    there is one only if the code got an exception when the memory was used up, and was not killed."""
    seconds: float
    """Wall time that the play took, the loading of its file included if that came just before. 0.0 if the exercise was
    not played, or its child was cut off. If its file could not be loaded, only the file's first exercise has the time.
    """
    detail: str = ""
    """Why there is no trace, as far as the status does not say it: `NoAnswer.detail`, `UNREADABLE_TRACE`, or
    `NO_TIME_LEFT` with the status `timeout`, for an exercise that was not played at all. `CUT_OFF` is told of the
    exercise that was being played when the submission was cut off for the second time or later (`_MAX_CUT_OFFS`)."""
    suspicious_acts: tuple[SuspiciousAct, ...] = ()
    """What the exercise's file did that an instructor should look at: `("sys._getframe", 12)`. Each act of a file is
    listed once, in the last of the file's outcomes."""


class _ChildOutcomes(NamedTuple):
    """What came of playing tasks in one child."""

    outcomes: list[Outcome]
    """The outcomes of the first tasks, up to and including the one that ended the child. If the child was cut off, the
    exercise that was being played has none."""
    is_cut_off: bool
    """True if the child or the server was killed: by something outside, or maybe by the exercise."""


_Acts = dict[str, dict[SuspiciousAct, None]]
"""Text of a file -> its suspicious acts, in the order in which they were reported, each once."""


class Sandbox:
    """One warmed server, which forks a child at a time. Not thread-safe."""

    def __init__(
        self,
        isolation: str = "auto",
        device: str = "cpu",
        limits: Limits | None = None,
        *,
        lessons: Sequence[str],
        added_packages: Sequence[str] = (),
        preimports: Sequence[str] = (),
        may_fork: bool = False,
    ) -> None:
        """Start the server without waiting until it is warm, so that several can warm up side by side.

        Args:
            isolation: `bwrap` isolates with bubblewrap, `auto` does the same; `none` keeps only the limits that need no
                isolation.
            device: `cpu`, or `cuda` (then each child starts CUDA anew, because an initialized CUDA cannot be forked).
            limits: limits of the children that `run` uses; None: the default ones.
            lessons: names of the lessons' packages in `grader.exercises`.
            added_packages: installed packages, as pip calls them, that submissions can import beside those of the
                course.
            preimports: modules that many submissions import; the server imports them once, before it forks.
            may_fork: allow the server to be a fork of this process, which starts faster, but holds everything that
                this process holds, answers included. So set it only for a single submission of the user's own. It has
                no effect with isolation, or where a fork would not be safe (`can_fork`).

        Raises:
            ValueError: `isolation` is none of the three.
            SandboxUnavailable: the submissions are to be isolated, and bubblewrap does not work here. A server that
                does not start is reported by `run`.
            OSError: as in `ServerProcess`.
        """
        if isolation not in ("auto", "bwrap", "none"):
            raise ValueError(f'isolation must be "auto", "bwrap" or "none": {isolation!r}')
        self._isolate = isolation != "none"
        if self._isolate and not probe().available:
            raise SandboxUnavailable(explain_probe(probe()))
        self._limits = limits or Limits()
        self._device = device
        self._added_packages = added_packages
        self._may_fork = may_fork and not self._isolate and can_fork(device)
        self.doubtful_outcomes = 0
        """Number of outcomes so far, of all submissions together, for which the machine may be to blame
        (`_DOUBTFUL_DETAILS`): where it has grown, the caller may run the submission again."""
        # Start the server first: it imports torch while drivers are read here.
        self._server: ServerProcess | None = self._start_server()
        with ExitStack() as unless_made:
            unless_made.callback(self.close)
            self._parcels = ParcelContents(lessons)
            self._settings = ServerSettings(
                preimports=(*self._parcels.imported_libraries(), *preimports),
                device=device,
                isolate=self._isolate,
                visible_folders=bubblewrap.bound_folders_in_tmp(),
            )
            self._server.send_settings(self._settings)
            unless_made.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_warm(self) -> None:
        """Wait until the server is warm. Raise nothing if it does not start: the next `run` reports that."""
        with suppress(SandboxUnavailable):
            self._ensure_server()

    def close(self) -> None:
        """End the server and everything in it."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def run(self, jobs: Sequence[Job], seed: int, *, deadline: float = math.inf) -> list[Outcome]:
        """Play the exercises of one submission in one child, for as long as that child lives.

        If an exercise ends its child, the exercises after it are played in a new child.

        Args:
            jobs: the jobs, in the order of the course: the driver of an exercise may contain the answer to an earlier
                exercise, never to a later one (see `parcels`).
            seed: seed of the scenarios.
            deadline: time of `time.monotonic()` after which no further exercise is played.

        Returns:
            One outcome for each exercise, in the order of the jobs.

        Raises:
            SandboxUnavailable: as in `_fork_child`.
        """
        tasks = [_Task(job.source, exercise) for job in jobs for exercise in job.exercises]
        outcomes: list[Outcome] = []
        acts: _Acts = {}
        cut_offs = 0
        while len(outcomes) < len(tasks):
            remaining = tasks[len(outcomes) :]
            if time.monotonic() > deadline:
                outcomes += [Outcome(task.exercise, "timeout", None, 0.0, NO_TIME_LEFT) for task in remaining]
                break
            new_outcomes, is_cut_off = self._play_in_one_child(remaining, seed, deadline, acts)
            outcomes += new_outcomes
            cut_offs += is_cut_off
            # The exercise is played again, but not for ever: it may be what kills the child or the server each time.
            if is_cut_off and cut_offs >= _MAX_CUT_OFFS:
                cut_off_task = remaining[len(new_outcomes)]
                outcomes.append(Outcome(cut_off_task.exercise, "crashed", None, 0.0, CUT_OFF))
        self.doubtful_outcomes += sum(outcome.detail in _DOUBTFUL_DETAILS for outcome in outcomes)
        return _with_suspicious_acts(outcomes, tasks, acts)

    def attempts(self, seed: int, limits: AttemptLimits | None = None) -> Attempts:
        """Return a context manager that plays attempts, scenario by scenario.

        Leave it before the next `run`, because the server has only one child at a time. Nothing is forked before the
        first attempt, so this raises nothing: `Attempts.run` does.

        Args:
            seed: seed of the scenarios.
            limits: limits of the attempts; None: those for the device.
        """

        def fork_child(limits: Limits) -> Child:
            return self._fork_child(limits, requests=1)

        default = AttemptLimits() if self._device == "cpu" else _GPU_ATTEMPT_LIMITS
        return Attempts(fork_child, self._close_child, seed, limits or default)

    def _fork_child(self, limits: Limits, requests: int) -> Child:
        """Fork a child and return it when it is ready; if it is killed or not ready in time, fork another.

        Args:
            limits: limits of the child.
            requests: number of requests that may each use the processor time in `limits`; 1 if all share it.

        Raises:
            SandboxUnavailable: no server starts, the child cannot be isolated or cannot start CUDA, or `_MAX_STARTS`
                children did not get ready.
        """
        for _ in range(_MAX_STARTS):
            child = Child(self._ensure_server(), limits, requests, self._parcels)
            with ExitStack() as unless_ready:
                unless_ready.callback(self._close_child, child)
                try:
                    child.wait_until_ready()
                except CutOff:
                    continue
                except SandboxUnavailable as error:
                    if self._device == "cpu":
                        raise
                    raise SandboxUnavailable(f"{error}\nGPU 없이 채점하려면: --device cpu") from error
                unless_ready.pop_all()
                return child
        raise SandboxUnavailable(_NO_CHILD)

    def _close_child(self, child: Child) -> None:
        """Close a child; if this shows that the server is lost, close that too.

        `_ensure_server` starts a new server when it is needed.
        """
        if not child.close():
            self.close()

    def _start_server(self) -> ServerProcess:
        """Start a server, as a fork of this process if that is allowed and still safe."""
        # Ask again: this process may have started a thread since the first server was forked.
        forked = self._may_fork and can_fork(self._device)
        return ServerProcess(
            self._isolate,
            self._device,
            memory_bytes=self._limits.memory_bytes,
            added_packages=self._added_packages,
            forked=forked,
        )

    def _play_in_one_child(
        self, tasks: Sequence[_Task], seed: int, deadline: float, acts: _Acts
    ) -> _ChildOutcomes:
        """Play tasks in one child, until all are done, the deadline has passed, or one of them ends the child.

        Args:
            tasks: the tasks; files may take turns.
            seed: seed of the scenarios.
            deadline: time of `time.monotonic()` after which no task is begun.
            acts: the suspicious acts of each file; those of this child are added.

        Returns:
            The outcomes. At least one, unless the child was cut off or the deadline has passed, so the caller makes
            progress.

        Raises:
            SandboxUnavailable: as in `_fork_child`.
        """
        outcomes: list[Outcome] = []
        # A file is loaded whenever it takes its turn; for each exercise, a driver is unpacked and played.
        loads = len([*groupby(tasks, key=attrgetter("source"))])
        child = self._fork_child(self._limits, requests=loads + 2 * len(tasks))
        try:
            for task in tasks:
                if time.monotonic() > deadline:
                    break
                started = time.perf_counter()
                if task.source != child.source:
                    child.load(task.source)
                trace_bytes = child.play(task.exercise, seed)
                outcomes.append(_read_outcome(task.exercise, trace_bytes, time.perf_counter() - started))
        except CutOff:
            return _ChildOutcomes(outcomes, is_cut_off=True)
        except NoAnswer as no_answer:
            seconds = time.perf_counter() - started
            current = tasks[len(outcomes)]
            if child.source == current.source:
                outcomes.append(_without_trace(current, no_answer, seconds))
            elif not outcomes:
                # The child ended while loading its first file. It would end again for each exercise of that file.
                same_file = takewhile(lambda task: task.source == current.source, tasks)
                outcomes += [
                    _without_trace(task, no_answer, 0.0 if number else seconds)
                    for number, task in enumerate(same_file)
                ]
            # Otherwise a thread that an earlier file has left may have ended the child: the caller loads this file
            # again, in a new child.
        finally:
            self._close_child(child)
            for source, new_acts in child.suspicious_acts.items():
                acts.setdefault(source, {}).update(dict.fromkeys(new_acts))
        return _ChildOutcomes(outcomes, is_cut_off=False)

    def _ensure_server(self, starts: int = _MAX_STARTS) -> ServerProcess:
        """Return a warm server; start a new one if there is none, or if it is gone.

        Args:
            starts: maximum number of servers to wait for; a server that dies while it starts is replaced.

        Raises:
            SandboxUnavailable: no server starts.
        """
        if self._server is not None and not self._server.is_alive:
            self.close()
        if self._server is None:
            self._server = self._start_server()
            self._server.send_settings(self._settings)
        try:
            self._server.wait_until_warm()
        except SandboxUnavailable:
            self.close()
            if starts == 1:
                raise
            return self._ensure_server(starts - 1)
        return self._server


def _with_suspicious_acts(outcomes: Sequence[Outcome], tasks: Sequence[_Task], acts: _Acts) -> list[Outcome]:
    """Return the outcomes with the suspicious acts of each file in the last outcome of that file.

    Args:
        outcomes: the outcomes of `tasks`, in the same order.
        tasks: the tasks.
        acts: the acts of each file.
    """
    completed = list(outcomes)
    last_of_file = {task.source: number for number, task in enumerate(tasks)}
    for source, number in last_of_file.items():
        completed[number] = replace(completed[number], suspicious_acts=tuple(acts.get(source, ())))
    return completed


def _without_trace(task: _Task, no_answer: NoAnswer, seconds: float) -> Outcome:
    """Return the outcome of a task that brought no trace."""
    return Outcome(task.exercise, no_answer.status, None, seconds, no_answer.detail)


def _read_outcome(exercise: str, trace_bytes: bytes, seconds: float) -> Outcome:
    """Read a trace into an outcome; its status is `crashed` if the trace is refused as forged."""
    try:
        trace = read_bounded(trace_bytes)
    except TraceError:
        return Outcome(exercise, "crashed", None, seconds, UNREADABLE_TRACE)
    failures = [trace.load_failure, *(run.failure for run in trace.runs.values())]
    status: Status = "memory" if any(failure and failure.out_of_memory for failure in failures) else "ran"
    return Outcome(exercise, status, trace, seconds)
