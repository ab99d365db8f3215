"""A right program that comes again is not run again, and nobody's result depends on that."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.feedback import CheckResult, Feedback, SubmissionResult
from grader.course.reading import load_course
from grader.grading import right_programs
from grader.grading.grade_submission import grade_in_sandbox, grade_with_memory
from grader.grading.grading_run import GradingRun
from grader.grading.right_programs import Recalled, RightPrograms
from grader.grading.run_submission import sandbox_of
from grader.sandbox.sandbox import Job, Outcome, Sandbox
from grader.submission.submission import Submission, read_submission
from tests.classroom.timeless import timeless
from tests.observe.five_lines import RIGHT

COURSE = load_course()
RUN = GradingRun(COURSE, (COURSE.lesson("01"),), seed=11, sandbox="none")
PASSED = Feedback(
    "01", "train_step", "", "passed", (CheckResult("", 1.0, passed=True),), "통과했어요.", seconds=0.5
)


@pytest.fixture
def submission(tmp_path):
    """Makes a submission of one file."""

    def made(text: str, name: str = "a.py") -> Submission:
        path = Path(tmp_path, name)
        path.write_text(text, encoding="utf-8")
        return read_submission(path, tuple(COURSE.exercises))

    return made


class Asked:
    """Stands for running an exercise's part alone; `answer` is what comes of it."""

    def __init__(self, answer: Feedback | None) -> None:
        self.answer = answer
        self.times = 0

    def __call__(self, name: str, part: object) -> Feedback | None:
        self.times += 1
        return self.answer


def came(
    memory: RightPrograms, submission: Submission, alone: Asked, feedback: Feedback, run: GradingRun = RUN
) -> Recalled:
    """The submission was graded, with this feedback where its function was run."""
    recalled = memory.recall(run, submission, alone)
    told = recalled.known.get("train_step", feedback)
    memory.remember(recalled, SubmissionResult(submission.student, (told,)))
    return recalled


def test_it_is_run_in_the_first_submission_alone_for_the_second_and_not_for_the_third(submission):
    """The second time shows that it comes again; what is remembered is told with the name of each one's own file."""
    memory, alone = RightPrograms(), Asked(PASSED)
    first, second, third = (
        submission(RIGHT, "a.py"),
        submission(f"# 나\n{RIGHT}", "b.py"),
        submission(RIGHT, "c.py"),
    )
    assert came(memory, first, alone, PASSED).known == {}
    assert alone.times == 0
    assert came(memory, second, alone, PASSED).known == {"train_step": replace(PASSED, file="b.py")}
    assert came(memory, third, alone, PASSED).known == {"train_step": replace(PASSED, file="c.py")}
    assert alone.times == 1


def test_what_is_not_right_alone_is_run_in_each_submission(submission):
    """A submission that makes its own wrong program pass does not make the next one's pass; it is tried once."""
    memory, alone = RightPrograms(), Asked(None)
    for _ in range(4):
        assert came(memory, submission(RIGHT), alone, PASSED).known == {}
    assert alone.times == 1


@pytest.mark.parametrize(
    "feedback", [replace(PASSED, status="failed"), replace(PASSED, notes=("3번째 줄: …",))]
)
def test_what_is_told_of_the_learners_own_lines_is_not_remembered(submission, feedback):
    """Neither a wrong program nor one with a note."""
    memory, alone = RightPrograms(), Asked(PASSED)
    for _ in range(3):
        assert came(memory, submission(RIGHT), alone, feedback).known == {}
    assert alone.times == 0


def test_another_seed_or_device_is_another_question(submission):
    """A process may grade more than one run."""
    memory, alone = RightPrograms(), Asked(PASSED)
    for run in (RUN, RUN):
        came(memory, submission(RIGHT), alone, PASSED, run)
    for run in (replace(RUN, seed=12), replace(RUN, device="cuda")):
        assert came(memory, submission(RIGHT), alone, PASSED, run).known == {}


def test_no_more_than_so_many_are_remembered(submission, monkeypatch):
    """Of a class of hundreds of thousands the oldest are forgotten."""
    monkeypatch.setattr(right_programs, "_MOST_FORMS", 3)
    memory, alone = RightPrograms(), Asked(PASSED)
    for number in range(5):
        came(memory, submission(RIGHT.replace("model(xb)", f"model(xb) * {number}")), alone, PASSED)
    assert came(memory, submission(RIGHT.replace("model(xb)", "model(xb) * 0")), alone, PASSED).known == {}
    assert alone.times == 0
    came(memory, submission(RIGHT.replace("model(xb)", "model(xb) * 4")), alone, PASSED)
    assert alone.times == 1


class Counting:
    """A sandbox that counts what is run in it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.ran: list[str] = []

    def run(self, jobs: Sequence[Job], seed: int, *, until: float) -> list[Outcome]:
        self.ran += [exercise for job in jobs for exercise in job.exercises]
        return self._sandbox.run(jobs, seed, until=until)

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)


ZERO = "\ndef zero_gradients(params):\n    for {p} in params:\n        {p}.grad = None\n"
CLASS = (
    RIGHT + ZERO.format(p="p"),
    "# 둘째\n" + RIGHT.replace("loss", "손실").replace("손실_fn", "loss_fn") + ZERO.format(p="q"),
    RIGHT.replace("    opt.zero_grad()\n", "") + ZERO.format(p="p"),
    RIGHT + ZERO.format(p="p") + "\ntrain_step = train_step\n",
    "print('시작')\n" + RIGHT,
    RIGHT + ZERO.format(p="parameter"),
    "def train_step(model, opt, loss_fn, xb, yb):\n" + RIGHT,
    RIGHT + ZERO.format(p="p") + "\ndef train_step(model):\n    return 1\n",
)


@pytest.mark.timeout(300)
def test_results_are_what_running_everything_gives(submission, monkeypatch):
    """Same ones, others, wrong ones, some in which the same text means something else: each gets what it would get."""
    monkeypatch.setattr("grader.grading.grade_submission._right_programs", RightPrograms())
    class_ = [submission(text, f"s{number}.py") for number, text in enumerate((*CLASS, *CLASS))]
    with sandbox_of(RUN) as sandbox:
        everything = [grade_in_sandbox(RUN, one, sandbox) for one in class_]
        counting = Counting(sandbox)
        shared = [grade_with_memory(RUN, one, counting) for one in class_]
        before = len(counting.ran)
        again = [grade_with_memory(replace(RUN, each=True), one, counting) for one in class_[:2]]
    assert timeless(shared) == timeless(everything)
    assert timeless(again) == timeless(everything[:2])
    assert len(counting.ran) == before + 4
    whole = sum(len(one.files[0].defines.keys() & {"train_step", "zero_gradients"}) for one in class_)
    assert before <= whole - 12
    assert all(feedback.seconds > 0 for feedback in shared[1].feedbacks if feedback.status == "passed")
