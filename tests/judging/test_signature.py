"""A function with other parameters than the exercise's: told as what it is, and never told of a right program."""

import contextlib
import io
import re

import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.repair.add_repair import wants_repair
from grader.judging.signature import signature_difference
from grader.judging.solution import solution_source
from grader.observe.play import play
from grader.observe.program import load_program
from grader.report import words
from grader.report.text import feedback_text
from tests.sample_programs import samples

ORDER = "매개변수의 순서가 문제와 달라요"


def told(exercise: str, text: str) -> Feedback:
    """What a learner reads of this program."""
    its = load_course().exercise(exercise)
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(its.driver, load_program(text), seed=SEED)
    return assess(its, trace, cached_reference(exercise, SEED), LearnerCode(text))


@pytest.mark.parametrize(
    ("exercise", "parameters", "sentence"),
    [
        ("train_step", "model, opt, x, y, loss_fn", ORDER),
        ("train_step", "model, loss_fn, opt, xb, yb", ORDER),
        ("train_step", "model, criterion, optimizer, x, y", ORDER),
        ("train_step", "model, opt, loss_fn, y, x", ORDER),
        ("train_step", "model, opt, a, b, loss_fn", ORDER),
        ("train_step", "model, opt, xb, yb", "매개변수 `loss_fn`이 없어요"),
        ("train_step", "xb, yb", "매개변수 `model`, `opt`, `loss_fn`이 없어요"),
        (
            "train_step",
            "model, opt, loss_fn, device, xb, yb",
            "매개변수 `device`가 문제와 다른 자리에 있어요",
        ),
        ("train_step", "model, opt, loss_fn, xb, yb, device", "문제에 없는 매개변수 `device`가 더 있어요"),
        ("train_step", "model, opt, loss_fn, xb, yb, *, device", "문제에 없는 매개변수 `device`가 더 있어요"),
        ("fit", "model, opt, loss_fn, loader, epochs", "매개변수 `zero_grad`가 없어요"),
        (
            "fit",
            "model, opt, loss_fn, loader, epochs, *, clear=True",
            "매개변수 `zero_grad`가 없고, 대신 매개변수 `clear`가 있어요",
        ),
        (
            "accumulate",
            "model, opt, loss_fn, micro_batches, accum_steps, max_norm",
            "매개변수 `max_norm`에는 기본값이 없어요",
        ),
        (
            "amp_step",
            "model, opt, loss_fn, dtype, xb, yb, scaler=None, max_norm=None",
            "매개변수 `dtype`이 문제와 다른 자리에 있어요",
        ),
        ("sgd_update", "lr, params", ORDER),
        ("train_step", "a, b, c", "매개변수가 2개 모자라요"),
        (
            "train_step",
            "model, loss_fn, *, opt, xb, yb",
            "매개변수 `opt`, `xb`, `yb`가 문제와 달리 `*` 뒤에 있어요",
        ),
        ("train_step", "model, *rest, optimizer", "매개변수 `opt`가 문제와 달리 `*` 뒤에 있어요"),
        ("plan_steps", "n_epochs, n_batches, *, warmup_ratio, accum_steps=1", ORDER),
    ],
)
def test_other_parameters_are_told_as_what_they_are(exercise: str, parameters: str, sentence: str) -> None:
    text = f"import torch\n\n\ndef {exercise}({parameters}):\n    return None\n"
    found = signature_difference(load_course().exercise(exercise), text)
    assert found is not None
    assert found.sentence == sentence
    assert found.yours == f"{exercise}({parameters})"
    assert found.line == 4


def test_methods_of_a_class_are_compared_too() -> None:
    its = load_course().exercise("SAM")
    head = "class SAM:\n    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs): ...\n"
    assert signature_difference(its, head) is None
    found = signature_difference(its, f"{head}    def first_step(zero_grad=False): ...\n")
    assert found is not None
    assert found.sentence == "메서드의 첫 매개변수 `self`가 없어요"
    found = signature_difference(its, f"{head}    def first_step(zero_grad=False, *rest): ...\n")
    assert found is not None
    assert found.sentence == "메서드의 첫 매개변수 `self`가 없어요"
    assert signature_difference(its, f"{head}    def first_step(*everything): ...\n") is None
    found = signature_difference(its, head.replace("params, base_optimizer", "base_optimizer, params"))
    assert found is not None
    assert found.sentence == ORDER
    assert found.right == "__init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs)"


@pytest.mark.parametrize(
    ("exercise", "parameters"),
    [
        ("train_step", "net, optimizer, criterion, inputs, targets"),
        ("train_step", "a, b, c, d, e"),
        ("train_step", "model, opt, loss_fn, xb, yb, device='cpu'"),
        ("train_step", "model, *rest"),
        ("train_step", "*everything, **more"),
        ("train_step", "model, opt, loss_fn, y, target"),
        ("train_step", "net, optimizer, criterion, x, y, *, model=None"),
        ("fit", "model, opt, loss_fn, loader, epochs, zero_grad=True, verbose=False"),
        ("amp_step", "model, opt, loss_fn, xb, yb, dtype, scaler=None, max_norm=None"),
        ("amp_step", "model, opt, loss_fn, xb, yb, *, max_norm=None, scaler=None, dtype"),
        ("accumulate", "model, opt, loss_fn, micro_batches, accum_steps, **options"),
    ],
)
def test_parameters_that_can_be_called_as_the_exercise_says_are_left_alone(
    exercise: str, parameters: str
) -> None:
    text = f"def {exercise}({parameters}):\n    return None\n"
    assert signature_difference(load_course().exercise(exercise), text) is None


def test_a_huge_signature_is_told_briefly() -> None:
    """What a learner writes may be hostile: the text on the card stays short, and judging does not fail on it."""
    its = load_course().exercise("train_step")
    many = ", ".join(f"a{number}" for number in range(30_000))
    for parameters in (
        f"model, opt, loss_fn, xb, yb, {many}",
        f"model, {many}, opt, loss_fn, xb, yb",
        f"model, opt, loss_fn, xb, yb, {'a' * 10**5}, b=0x{'f' * 3000}",
    ):
        found = signature_difference(its, f"def train_step({parameters}): pass")
        assert found is not None
        assert len(found.sentence) < 500
        assert len(found.yours) < 500
    found = signature_difference(its, f"def train_step(model, opt, loss_fn, xb, yb, {many}): pass")
    assert found is not None
    assert found.sentence == "문제에 없는 매개변수 `a0`, `a1`, `a2`, `a3`, `a4` 외 29,995개가 더 있어요"


def test_no_right_program_and_no_known_mistake_has_other_parameters() -> None:
    for kind in ("accepted", "rejected", "first_tries", "unlisted"):
        for sample in samples(kind):
            if sample.suffix == ".py" and sample.exercise in load_course().exercises:
                found = signature_difference(load_course().exercise(sample.exercise), sample.text)
                assert found is None, f"{sample}: {found}"


def test_the_card_shows_both_signatures_at_the_line_of_the_definition() -> None:
    text = solution_source("01_five_line_step").replace("def train_step(\n", "def train_step(")
    text = re.sub(r"(?<=def train_step\()[^)]*", "model, opt, xb, yb, loss_fn", text, count=1)
    feedback = told("train_step", text)
    assert words.headline(feedback).text == ORDER
    assert feedback.message.startswith(f"{ORDER}. AttributeError")
    assert feedback.source_line is not None
    assert feedback.source_line.startswith("def train_step(model, opt, xb, yb, loss_fn)")
    assert not wants_repair(feedback)
    shown = " ".join(feedback_text(feedback).split())
    assert "내 코드 train_step(model, opt, xb, yb, loss_fn)" in shown
    assert "정답 train_step(model, opt, loss_fn, xb, yb)" in shown
    assert "함수의 첫 줄을 문제와 같게 고치고" in shown
    assert "실행 순서" not in shown  # what happened with the arguments in each other's place says nothing


def test_a_failing_program_with_other_names_in_the_right_order_is_not_told_of_them() -> None:
    text = "def train_step(net, optimizer, criterion, x, y):\n    return criterion(net(x), y).item() * 2\n"
    feedback = told("train_step", text)
    assert feedback.status == "failed"
    assert not feedback.diagnosis.signature
