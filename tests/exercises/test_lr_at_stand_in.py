"""`train_gpt` is graded by itself: an empty, wrong or missing `lr_at` costs nothing there.

A note tells of one that is there. A missing one is lent silently: the notebook of `train_gpt` does not ask for it.
"""

import pytest

from grader.course.reading import load_course
from grader.experiments.bells_and_whistles.parts import lr_at as borrowed
from grader.judging.judge import judge
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.notebook.check import check
from grader.observe.play import play
from grader.observe.program import load_program

COURSE = load_course()
TRAIN_GPT, LR_AT = COURSE.exercise("train_gpt"), exercise_source(COURSE.exercise("lr_at"))
IMPORTS = "import math\nfrom itertools import islice\nimport torch\nimport torch.nn.functional as F\n"
EMPTY = "def lr_at(step, **kwargs):\n    raise NotImplementedError\n"


@pytest.mark.parametrize(
    ("lr_at", "noted"),
    [
        (LR_AT, False),
        (EMPTY, True),
        ("", False),
        (LR_AT.replace("initial_lr + step *", "initial_lr + (step + 1) *"), True),
    ],
    ids=["right", "empty", "missing", "one step early"],
)
def test_train_gpt_passes_whatever_lr_at_is(lr_at: str, noted: bool) -> None:
    program = load_program(f"{IMPORTS}{lr_at}\n{exercise_source(TRAIN_GPT)}", name="with_stand_in")
    before = program.names.get("lr_at")
    trace = play(TRAIN_GPT.driver, program, seed=1)
    program.unload()
    assert judge(TRAIN_GPT, trace, cached_reference("train_gpt", 1).solution_run).status == "passed"
    assert [("lr_at" in warning) for warning in trace.warnings] == [True] * noted
    assert program.names.get("lr_at") is before
    assert not program.warnings, "the note is about this exercise, and none of the next ones"


def test_a_wrong_call_is_told_by_the_name_that_the_learner_wrote() -> None:
    train_gpt = "def train_gpt(*args, **kwargs):\n    return lr_at(0, warmup_steps=1)\n"
    program = load_program(f"{IMPORTS}{LR_AT}\n{train_gpt}", name="wrong_call")
    failure = play(TRAIN_GPT.driver, program, seed=1, only=["sgd"]).runs["sgd"].failure
    program.unload()
    assert failure is not None
    assert failure.message.startswith("lr_at() missing 4 required")


def test_the_borrowed_one_gives_the_rates_of_the_exercise_and_is_no_answer() -> None:
    """Neither to `check`, by its name, nor in a submission: it does not know every `decay`."""
    assert TRAIN_GPT.driver.lends == ("lr_at",)
    assert "연습 문제는 없어요" in str(check(borrowed))
    source = "from grader.exercises.fixtures.lent_schedule import lent_lr_at as lr_at\n"
    handed_in = load_program(source, name="borrowed")
    trace = play(COURSE.exercise("lr_at").driver, handed_in, seed=1)
    handed_in.unload()
    feedback = judge(COURSE.exercise("lr_at"), trace, cached_reference("lr_at", 1).solution_run)
    assert feedback.status == "failed"
    passed = [
        c.id
        for c, found in zip(COURSE.exercise("lr_at").checks, feedback.checks, strict=True)
        if found.passed
    ]
    assert passed == ["ramp", "cosine", "end", "no-warmup"]
