"""Calls of names that torch is about to drop are told on the card, and cost no points."""

import warnings

import pytest

from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.deprecated_calls import note_deprecated_calls
from grader.observe.play import play
from grader.observe.program import Program, load_program
from grader.report.text import feedback_text
from tests.sample_programs import samples

OLD = """import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm(model.parameters(), max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
"""


def test_the_old_name_of_clipping_is_told_once_with_the_new_one() -> None:
    exercise = load_course().exercise("train_step_extras")
    trace = play(exercise.driver, load_program(OLD), seed=SEED)
    feedback = assess(exercise, trace, cached_reference(exercise.name, SEED), LearnerCode(OLD))
    told = (
        "9번째 줄: `torch.nn.utils.clip_grad_norm`은 앞으로 없어질 이름이에요. "
        "대신 `torch.nn.utils.clip_grad_norm_`을 쓰세요. 점수는 그대로예요."
    )
    assert (feedback.status, feedback.score) == ("passed", feedback.max_score)
    assert feedback.notes == (told,)
    assert "clip_grad_norm_" in feedback_text(feedback)


def test_right_programs_without_such_a_call_have_no_note() -> None:
    exercise = load_course().exercise("train_step_extras")
    for program in samples("accepted", exercise.name):
        if program.suffix == ".py" and "clip_grad_norm(" not in program.text:
            only = {exercise.driver.scenarios[0].name}
            assert not play(exercise.driver, load_program(program.text), seed=1, only=only).warnings


@pytest.mark.parametrize(
    ("text", "category", "told"),
    [
        (
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)`"
            " instead.",
            FutureWarning,
            "`torch.cuda.amp.autocast(args...)`는 앞으로 없어질 이름이에요. "
            "대신 `torch.amp.autocast('cuda', args...)`를 쓰세요.",
        ),
        ("torch.range is deprecated", DeprecationWarning, "(torch.range is deprecated)"),
        ("something of torch", UserWarning, None),
        ("a library of its own", FutureWarning, None),
    ],
)
def test_what_is_told_of_a_warning(text: str, category: type[Warning], told: str | None) -> None:
    program = Program({}, "<own>")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for line in (3, 4):
            warnings.warn_explicit(text, category, "<own>", line)
        warnings.warn_explicit(text, category, "elsewhere.py", 1)
    note_deprecated_calls(program, caught)
    if told is None:
        assert program.warnings == []
    else:
        (note,) = program.warnings
        assert note.startswith("3번째 줄: ")
        assert told in note
