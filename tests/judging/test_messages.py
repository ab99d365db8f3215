"""The one-line message in results.json says what its diagnosis says, also after the diagnosis has changed."""

from dataclasses import replace

import pytest

from grader.course.feedback import Diagnosis, Feedback, FirstDifference, NamedMistake
from grader.course.reading import load_course
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.messages import (
    NOT_BEGUN_MESSAGE,
    STATUS_MESSAGES,
    played_message,
    with_diagnosis,
    without_mistakes,
)
from grader.judging.reference import cached_reference
from grader.judging.repair.add_repair import with_repair
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Trace
from grader.report.words import headline, summary
from tests.judging.repair.test_search import SEED, InProcess

EXERCISE = load_course().exercises["train_step"]
MISTAKE = NamedMistake.of(EXERCISE.mistakes[:1])
FIRST = FirstDifference("SGD", "반환값", "0.4", "0.3")

RAISES_IN_TWO_LINES = """
def train_step(model, opt, loss_fn, xb, yb):
    raise ValueError("한 줄\\n  다음 줄")
"""
RAISES_WITH_A_TEXT = """
def train_step(model, opt, loss_fn, xb, yb):
    if xb is not None:
        raise NotImplementedError("later")
"""
REMEMBERS = """
def autograd_nodes(loss, seen=set()):
    todo = [loss.grad_fn]
    while todo:
        current = todo.pop()
        if current is None or current in seen:
            continue
        seen.add(current)
        todo.extend(parent for parent, _ in current.next_functions)
    return sorted({type(node).__name__ for node in seen})
"""


def played(exercise: str, text: str) -> tuple[Feedback, Trace]:
    its = cached_reference(exercise, SEED)
    program = load_program(text, name="wrong")
    try:
        trace = play(its.exercise.driver, program, seed=SEED)
    finally:
        program.unload()
    return assess(its.exercise, trace, its, LearnerCode(text)), trace


def test_an_exception_of_two_lines_is_told_in_one() -> None:
    feedback, _ = played("train_step", RAISES_IN_TWO_LINES)
    assert feedback.error == "ValueError: 한 줄\n  다음 줄"
    assert feedback.message == f"{STATUS_MESSAGES['error']} ValueError: 한 줄 다음 줄"
    assert "다음 줄" not in f"{headline(feedback).text} {headline(feedback).body}", "it is shown below"


@pytest.mark.parametrize(("text", "begun"), [("later", True), ("", False)])
def test_only_a_placeholder_without_a_text_says_that_nothing_is_begun(text: str, begun: bool) -> None:
    feedback, _ = played("train_step", RAISES_WITH_A_TEXT.replace('"later"', repr(text)))
    assert feedback.begun == begun
    assert feedback.message == (
        f"{STATUS_MESSAGES['error']} NotImplementedError: later" if begun else NOT_BEGUN_MESSAGE
    )


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (None, False, "SGD · 반환값 · 내 코드: 0.3 · 정답: 0.4"),
        ("ValueError: x", True, f"{STATUS_MESSAGES['error']} ValueError: x"),
        ("NotImplementedError: x", False, f"{STATUS_MESSAGES['error']} NotImplementedError: x"),
        ("NotImplementedError: later", True, f"{STATUS_MESSAGES['error']} NotImplementedError: later"),
        ("NotImplementedError: ", True, "`raise NotImplementedError` 줄이 남아 있어요."),
    ],
)
def test_without_its_mistakes_a_feedback_has_the_message_of_one_that_never_had_any(
    error: str | None, raised: bool, message: str
) -> None:
    status = "failed" if error is None else "error"
    never = played_message(status, Diagnosis(first_difference=FIRST), error=error, raised=raised)
    assert never.startswith(message)
    named = Diagnosis((MISTAKE,), FIRST, unexplained=("AdamW",), unexplained_checks=("둘",))
    feedback = Feedback("L", "train_step", "T", status, (), "", error=error, raised=raised)
    before = with_diagnosis(feedback, named)
    assert before.message == f"{MISTAKE.titles[0]} (그 밖에 다른 점이 더 있어요)"
    after = without_mistakes(before)
    assert after == replace(feedback, diagnosis=Diagnosis(first_difference=FIRST), message=never)


def test_an_exception_beside_named_mistakes_is_in_the_message() -> None:
    diagnosis = Diagnosis((MISTAKE,), unexplained=("AdamW",), exception_apart=True)
    told = played_message("error", diagnosis, error="KeyError: 'a\n b'", raised=False)
    assert told == f"예외가 나요. 그리고 {MISTAKE.titles[0]}. KeyError: 'a b'"


def test_alternatives_and_mistakes_are_joined_as_on_the_class_page() -> None:
    twins = replace(MISTAKE, titles=("가", "나"))
    feedback = Feedback("L", "train_step", "T", "failed", (), "")
    told = with_diagnosis(feedback, Diagnosis((twins, replace(MISTAKE, titles=("다",)))))
    assert told.message == summary(told) == "「가」 또는 「나」 + 다"


def test_spaces_in_a_value_stay() -> None:
    told = played_message(
        "failed", Diagnosis(first_difference=replace(FIRST, got="'a  b'")), error=None, raised=False
    )
    assert "내 코드: 'a  b'" in told


def test_mistakes_that_a_memory_looked_like_are_not_in_the_message() -> None:
    its = cached_reference("autograd_nodes", SEED)
    feedback, trace = played("autograd_nodes", REMEMBERS)
    named = with_diagnosis(feedback, replace(feedback.diagnosis, mistakes=(MISTAKE,), unexplained=("x",)))
    assert MISTAKE.titles[0] in named.message
    learner_code, runner = LearnerCode(REMEMBERS), InProcess("autograd_nodes")
    told = with_repair(named, its.exercise, trace.runs, its, learner_code, runner)
    assert told.diagnosis.remembered is not None
    assert told.message == feedback.message
