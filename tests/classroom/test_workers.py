"""Worker processes: one that dies costs nobody else a result, errors come out as they were, none is left behind."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.classroom import grade_class, workers
from grader.classroom.workers import WorkerDied, results_from_workers
from grader.course.reading import load_course
from grader.grading import grade_submission
from grader.grading.grading_run import GradingRun
from grader.sandbox.sandbox import Sandbox
from grader.sandbox.server_process import SandboxUnavailable
from grader.submission.submission import Submission, read_submission
from tests.classroom.graded import graded
from tests.classroom.timeless import timeless

COURSE = load_course()
RUN = GradingRun(COURSE, (COURSE.lesson("01"),), seed=7, sandbox="none", jobs=2)
STEP = """
def train_step(model, opt, loss_fn, xb, yb):
    {clear}
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals"),
    pytest.mark.timeout(300),
]


class Class:
    """Makes submissions in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *names: str, text: str = STEP.format(clear="opt.zero_grad()")) -> deque[Submission]:
        made: deque[Submission] = deque()
        for name in names:
            (self.folder / f"{name}.py").write_text(text, encoding="utf-8")
            submission = read_submission(self.folder / f"{name}.py", tuple(COURSE.exercises))
            made.append(replace(submission, student=str(self.folder / name)))
        return made


@pytest.fixture
def handed_in(tmp_path: Path) -> Class:
    return Class(tmp_path)


def names_and(results: Any) -> dict[str, Any]:
    return {Path(submission.student).name: result for submission, result in results}


@pytest.fixture(autouse=True)
def _warm_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each worker imports while its sandbox warms up: a dozen of workers would take half a minute for it."""
    monkeypatch.setattr(workers, "_PRELOADED", ("tests.classroom.warmed", *workers._PRELOADED))


# ---- what workers do here: by the student's name, which is also the path of a file that remembers -------


def work(run: GradingRun, submission: Submission, sandbox: Sandbox) -> Any:
    name = Path(submission.student).name
    tries = Path(f"{submission.student}.tries")
    with tries.open("a") as file:
        file.write("x")
    if name.startswith("kills") or (name.startswith("once") and tries.read_text() == "x"):
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("hungry"):
        raise MemoryError
    if name.startswith("raises"):
        raise ERRORS[name]
    if name.startswith("waits") and (name == "waits-always" or tries.read_text() == "x"):
        sandbox.doubtful_outcomes += 1
    if name.startswith("slow"):
        time.sleep(60 if name == "slowest" else 1)
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return os.getpid(), torch.get_num_threads(), ignored, run == replace(RUN, jobs=run.jobs)


class NeedsWords(Exception):
    """Pickled, but not read again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


ERRORS = {
    "raises-unavailable": SandboxUnavailable("격리할 수 없어요."),
    "raises-key": KeyError("x"),
    "raises-odd": NeedsWords("some", "words"),
}


# ---- a worker that dies -----------------------------------------------------------------------------


def test_a_worker_that_dies_costs_only_what_it_had_in_hand(handed_in: Class) -> None:
    """And that is tried once more: the machine may have been short of memory just then."""
    names = ("a", "kills", "b", "once", "hungry", "c")
    results = names_and(results_from_workers(RUN, handed_in(*names), work))
    assert set(results) == set(names)
    assert {name for name, result in results.items() if result is None} == {"kills", "hungry"}
    tries = {name: len((handed_in.folder / f"{name}.tries").read_text()) for name in names}
    assert tries == {"a": 1, "kills": 2, "b": 1, "once": 2, "hungry": 2, "c": 1}


@pytest.mark.full
def test_one_killed_from_outside_is_replaced(handed_in: Class) -> None:
    """With one worker the run goes on in another."""
    results = results_from_workers(replace(RUN, jobs=1), handed_in("a", "slow", "b"), work)
    (_, (first, *_)) = next(results)
    time.sleep(0.3)  # it has the next in hand
    os.kill(first, signal.SIGKILL)
    rest = names_and(results)
    assert set(rest) == {"slow", "b"}
    assert {pid for pid, *_ in rest.values()} != {first}


def test_who_is_lost_is_told_so_and_keeps_no_points(
    handed_in: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        grade_class, "results_from_workers", lambda run, handed_in, work: ((s, None) for s in handed_in)
    )
    (result,) = graded(RUN, handed_in("a"))
    step = next(f for f in result.feedbacks if f.exercise == "train_step")
    assert (step.status, step.file) == ("crashed", "a.py")
    assert "채점하던 프로그램이 두 번 갑자기 끝났어요" in step.message
    assert {f.status for f in result.feedbacks if f is not step} == {"missing"}
    assert result.digest


def test_workers_that_do_not_even_start_end_the_run(
    handed_in: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a machine without memory would call every student's code crashed."""
    monkeypatch.setattr(workers, "_serve", os._exit)  # called with a pipe, which is no exit status
    with pytest.raises(WorkerDied, match=r"--jobs를 줄여 --resume"):
        list(results_from_workers(RUN, handed_in("a", "b"), work))


@pytest.mark.full
def test_the_end_of_what_forks_them_costs_nobody_a_result(handed_in: Class) -> None:
    """Also when it is killed just as another worker is wanted: then there is nobody to answer."""
    results = results_from_workers(replace(RUN, jobs=1), handed_in("a", "kills", "b"), work)
    next(results)
    from multiprocessing.forkserver import _forkserver

    os.kill(_forkserver._forkserver_pid, signal.SIGSTOP)
    timer = threading.Timer(1, os.kill, (_forkserver._forkserver_pid, signal.SIGKILL))
    timer.start()
    rest = names_and(results)
    assert {name: result is None for name, result in rest.items()} == {"kills": True, "b": False}


# ---- a submission that the clock ended --------------------------------------------------------------


@pytest.mark.full
def test_what_the_clock_ended_is_run_once_more_alone(handed_in: Class) -> None:
    """Others may have kept the machine busy. What it comes to then counts; nothing else is begun twice."""
    names = ("waits-once", "slow-1", "waits-always", "slow-2")
    results = [Path(s.student).name for s, _ in results_from_workers(RUN, handed_in(*names), work)]
    assert sorted(results) == sorted(names)
    assert set(results[-2:]) == {"waits-once", "waits-always"}
    tries = [len((handed_in.folder / f"{name}.tries").read_text()) for name in names]
    assert tries == [2, 1, 2, 1]


def test_who_is_alone_already_is_not_run_again(handed_in: Class) -> None:
    results = names_and(results_from_workers(replace(RUN, jobs=1), handed_in("waits-always", "a"), work))
    assert set(results) == {"waits-always", "a"}
    assert (handed_in.folder / "waits-always.tries").read_text() == "x"


# ---- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ERRORS)
def test_what_a_worker_raises_is_raised_here(handed_in: Class, name: str) -> None:
    """The same error, with the worker's traceback; one that does not travel is told in words."""
    error = ERRORS[name]
    with pytest.raises(RuntimeError if name == "raises-odd" else type(error)) as raised:
        list(results_from_workers(RUN, handed_in("slow", name, "a"), work))
    told = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])
    assert str(error) in told
    assert "raise ERRORS[name]" in told
    assert not multiprocessing.active_children()


def test_a_sandbox_that_cannot_be_had_is_told(handed_in: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="isolation must be"):
        list(results_from_workers(replace(RUN, sandbox="glass"), handed_in("a"), work))


# ---- the end ----------------------------------------------------------------------------------------


@pytest.mark.full
def test_ctrl_c_leaves_no_worker_behind_and_waits_for_none(handed_in: Class) -> None:
    """What is graded now may be an endless loop."""
    results = results_from_workers(RUN, handed_in("a", "slowest", "slowest"), work)
    next(results)
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)
    assert time.monotonic() - before < 30
    assert not multiprocessing.active_children()


def test_nothing_to_grade_starts_nothing() -> None:
    assert list(results_from_workers(RUN, deque(), work)) == []


# ---- who does what ----------------------------------------------------------------------------------


@pytest.mark.full
def test_as_many_workers_as_jobs_share_the_class(handed_in: Class) -> None:
    """Each with one thread, the run as it was asked for, and deaf to Ctrl-C, which the parent answers."""
    names = [f"slow-{number}" for number in range(6)]
    results = names_and(results_from_workers(RUN, handed_in(*names), work))
    assert len({pid for pid, *_ in results.values()}) == 2
    assert {tuple(rest) for _, *rest in results.values()} == {(1, True, True)}


@pytest.mark.full
def test_a_worker_that_holds_too_much_is_replaced(handed_in: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_MOST_MEMORY", 0)
    results = names_and(results_from_workers(replace(RUN, jobs=1), handed_in("a", "b", "c"), work))
    assert len({pid for pid, *_ in results.values()}) == 3


def test_a_run_travels_without_its_course() -> None:
    """The course is read anew there: drivers hold functions that cannot be pickled."""
    for run in (RUN, replace(RUN, lessons=COURSE.lessons, ray="auto")):
        text = pickle.dumps(run)
        assert pickle.loads(text) == run
        assert len(text) < 1000


@pytest.mark.full
def test_results_do_not_depend_on_who_is_first(handed_in: Class) -> None:
    """One worker or two, this order or the other; in this process as in another."""
    submissions = [
        *handed_in("right"),
        *handed_in("wrong", text=STEP.format(clear="pass")),
        *handed_in("dies", text="import os\ndef train_step(*args):\n    os._exit(1)\n"),
        *handed_in("broken", text="def train_step(:\n"),
    ]
    told: list[str] = []
    here = grade_submission.grade_one(RUN, submissions[1])
    two = graded(RUN, submissions, lambda result: told.append(result.student))
    one = graded(replace(RUN, jobs=1), submissions[::-1])
    assert timeless(two) == timeless(one[::-1])
    assert timeless(two[1:2]) == timeless([here])
    assert sorted(told) == sorted(s.student for s in submissions)
    assert two[1].feedbacks[0].mistake_ids == ["missing-zero-grad"]
