"""What a program remembers from one call to the next: where it could, that it is told, and that chance is not."""

import pytest

from grader.course.feedback import Feedback
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.repair.add_repair import with_repair
from grader.judging.repair.remembered_state import line_that_could_remember
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Run
from grader.report.text import feedback_text
from grader.sandbox.attempts_spent import AttemptsSpent
from tests.judging.repair.test_search import SEED, InProcess

SHARED_VISITED = """
def reach(node, seen=set()):
    todo = [node]
    while todo:
        current = todo.pop()
        if current is None or current in seen:
            continue
        seen.add(current)
        todo.extend(parent for parent, _ in current.next_functions)
    return seen


def autograd_nodes(loss):
    return sorted({type(node).__name__ for node in reach(loss.grad_fn)})
"""

BEST_OF_THE_CLASS = """
import os

import torch


class BestCheckpoint:
    best = float("-inf")

    def __init__(self, path):
        self.path = path

    def update(self, score, *, model, opt, scheduler, step, config):
        if not score > BestCheckpoint.best:
            return False
        BestCheckpoint.best = float(score)
        plain = config if isinstance(config, dict) else config.to_dict()
        state = dict(model=model.state_dict(), optimizer=opt.state_dict(), scheduler=scheduler.state_dict(),
                     step=step, score=float(score), config=plain)
        torch.save(state, f"{self.path}.tmp")
        os.replace(f"{self.path}.tmp", self.path)
        return True
"""


class LoadsOnlyWhatIsNew(InProcess):
    """As the children that play attempts do: a text that is the one before is not loaded again."""

    def __init__(self, exercise: str) -> None:
        super().__init__(exercise)
        self.text: str | None = None

    def run(self, text: str, scenario: str) -> Run | None:
        assert text != self.text, "memory cannot show in a program that is not loaded anew"
        self.text = text
        return super().run(text, scenario)


def told(exercise: str, text: str, runner: type[InProcess] = LoadsOnlyWhatIsNew) -> Feedback:
    its = cached_reference(exercise, SEED)
    program = load_program(text, name="wrong")
    try:
        trace = play(its.exercise.driver, program, seed=SEED)
    finally:
        program.unload()
    learner_code = LearnerCode(text)
    feedback = assess(its.exercise, trace, its, learner_code)
    return with_repair(feedback, its.exercise, trace.runs, its, learner_code, runner(exercise))


@pytest.mark.parametrize(
    ("exercise", "text", "line"),
    [("autograd_nodes", SHARED_VISITED, 2), ("BestCheckpoint", BEST_OF_THE_CLASS, 8)],
)
def test_what_outlives_a_call_is_told(exercise: str, text: str, line: int) -> None:
    feedback = told(exercise, text)
    assert feedback.status != "passed"
    remembered = feedback.diagnosis.remembered
    assert remembered is not None
    assert remembered.line == line == feedback.line
    shown = feedback_text(feedback)
    assert "지난 호출에서 남은 것이" in shown
    assert f"{line}번째 줄" in shown
    assert "정답과 다른 곳" not in shown


def test_where_nothing_more_is_played_nothing_is_told_of_it() -> None:
    class Spent(LoadsOnlyWhatIsNew):
        def run(self, text: str, scenario: str) -> Run | None:
            raise AttemptsSpent

    feedback = told("autograd_nodes", SHARED_VISITED, Spent)
    assert feedback.status != "passed"
    assert feedback.diagnosis.remembered is None
    assert not feedback.diagnosis.repair


def test_nothing_is_named_beside_it() -> None:
    """A second call within a scenario finds what the first left, and so looks like another mistake."""
    feedback = told("BestCheckpoint", BEST_OF_THE_CLASS)
    assert feedback.diagnosis.remembered is not None
    assert not feedback.diagnosis.mistakes


def test_points_are_those_of_the_program_as_it_is() -> None:
    feedback = told("autograd_nodes", SHARED_VISITED)
    assert feedback.score < feedback.max_score


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(x, seen=[]):\n    return seen", 1),
        ("def f(x, *, seen=dict()):\n    return seen", 1),
        ("def f(x):\n    global n\n    n = 1", 2),
        ("def f(x):\n    f.calls = 1", 2),
        ("CACHE = {}\n\ndef f(x):\n    return CACHE", 1),
        ("def g(seen=[]):\n    return seen\n\ndef f(x):\n    return g()", 1),
        ("class f:\n    best = 0", 2),
        ("class f:\n    best: float = 0", 2),
        ("class f:\n    best: float\n    count: int = 0", 3),
        ("class f:\n    best: float", None),
        ("def f(x):\n    f.calls: int = 1", 2),
        ("def f(x):\n    f.calls: int", None),
        ("def h(seen=[]):\n    return seen\n\ndef g():\n    return h()\n\ndef f(x):\n    return g()", None),
        ("def f(x, seen=None, n=0):\n    return seen", None),
        ("CACHE = {}\n\ndef f(x):\n    return x", None),
        ("def f(", None),
    ],
)
def test_where_something_could_be_kept(text: str, line: int | None) -> None:
    assert line_that_could_remember(text, "f") == line
