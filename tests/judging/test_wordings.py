"""A mistake is told in other words where the code shows how it was made."""

import re

import msgspec
import pytest

from grader.course.course import Wording
from grader.course.feedback import NamedMistake
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.judging.wordings import fitting_wording
from grader.observe.play import play
from grader.observe.program import load_program

COURSE = load_course()
WORDINGS = [
    (exercise, mistake, wording)
    for exercise in COURSE.exercises.values()
    for mistake in exercise.mistakes
    for wording in mistake.wordings
]


def named(exercise_name: str, *edits: tuple[str, str]) -> tuple[NamedMistake, ...]:
    """Return the mistakes named in the solution with these edits."""
    exercise = COURSE.exercise(exercise_name)
    source = f"import math\nimport torch\n{exercise_source(exercise)}"
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    trace = play(exercise.driver, load_program(source), seed=SEED)
    return assess(
        exercise, trace, cached_reference(exercise_name, SEED), LearnerCode(source)
    ).diagnosis.mistakes


@pytest.mark.parametrize(
    ("name", "edit", "title"),
    [
        ("train_step", ("loss.item()", "loss.detach().numpy()"), "숫자가 아니라 NumPy 배열을 돌려줬어요"),
        pytest.param(
            *("SAM", ("p.clone()", "p.data"), "적어 둔 w가 복사본이 아니에요"), marks=pytest.mark.full
        ),
        (
            "sharpness",
            ("p.detach().clone() for p in", "p.detach() for p in"),
            "적어 둔 w가 복사본이 아니에요",
        ),
        ("sharpness", ("b.clone() for b", "b for b"), "적어 둔 버퍼가 복사본이 아니에요"),
    ],
)
def test_what_the_code_shows_is_the_title(name: str, edit: tuple[str, str], title: str) -> None:
    (mistake,) = named(name, edit)
    assert mistake.titles == (title,)
    assert edit[1] in (mistake.source_line or "")


def test_who_never_goes_back_reads_the_usual_title() -> None:
    (mistake,) = named("sharpness", ("            p.copy_(w)\n", "            pass\n"))
    assert mistake.titles == ("가중치가 w로 돌아오지 않았어요",)


def test_autocast_for_cuda_is_told_beside_others_and_without_its_twin() -> None:
    found = named(
        "amp_step",
        ("torch.autocast(xb.device.type", 'torch.autocast("cuda"'),
        ("    opt.zero_grad()\n", ""),
        ("return loss.item()", "return loss"),
    )
    (autocast,) = (mistake for mistake in found if "missing-autocast" in mistake.ids)
    assert autocast.titles == ('autocast를 "cuda"로 켜서 CPU에서는 꺼져 있었어요',)
    assert "GPU" in autocast.explain


@pytest.mark.parametrize("number", range(len(WORDINGS)))
def test_no_solution_fits_a_wording_and_every_pattern_is_one(number: int) -> None:
    exercise, mistake, wording = WORDINGS[number]
    assert re.compile(wording.code)
    assert re.compile(wording.beside)
    alone = msgspec.structs.replace(mistake, wordings=(wording,))
    if wording.title in ("", mistake.title):
        return  # it only tells the line, or which of two mistakes that behave alike was made: it may fit the solution
    assert fitting_wording(exercise, alone, LearnerCode(exercise_source(exercise))) is None


NUMPY = "def train_step(model, opt, loss_fn, xb, yb):\n"
RETURNS_NUMPY = "    return loss.detach().numpy()\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (NUMPY + RETURNS_NUMPY, 2),
        (f'{NUMPY}    """Do not\n    return l.numpy() here."""\n    return loss\n', None),
        (f'{NUMPY}    print("return l.numpy() here")\n    return loss\n', None),
        (f'{NUMPY}    """Do not return l.numpy() here."""\n{RETURNS_NUMPY}', 3),
        (f"def number(loss):\n{RETURNS_NUMPY}\n{NUMPY}    return number(loss_fn(xb, yb))\n", 2),
        (f"def plot(loss):\n{RETURNS_NUMPY}\n{NUMPY}    return loss\n", None),
    ],
)
def test_code_that_runs_for_the_exercise_is_read(text: str, line: int | None) -> None:
    exercise = COURSE.exercise("train_step")
    (mistake,) = (mistake for mistake in exercise.mistakes if mistake.id == "returns-tensor")
    found = fitting_wording(exercise, mistake, LearnerCode(text))
    assert (None if found is None else found.line) == line


def test_a_wording_without_texts_only_points() -> None:
    """The statement is found inside a `case`, which no comparison of texts reads."""
    (mistake,) = named(
        "lr_at",
        (
            'if decay == "cosine":\n        height = 0.5 * (1 + math.cos(math.pi * progress))',
            'match decay:\n        case "cosine":\n            height = math.cos(math.pi / 2 * progress)',
        ),
    )
    assert mistake.titles == ("코사인을 4분의 1 주기만 썼어요",)
    assert "cos" in (mistake.source_line or "")
    assert not mistake.before


def test_a_wording_has_all_texts_or_none() -> None:
    with pytest.raises(ValueError, match="모두 적거나"):
        Wording(code="a", title="제목")


def test_what_stands_beside_is_another_statement() -> None:
    exercise = COURSE.exercise("train_step")
    wording = msgspec.structs.replace(WORDINGS[0][2], code="copy", beside=r"\.data")
    mistake = msgspec.structs.replace(exercise.mistakes[0], wordings=(wording,))
    alone = f"{NUMPY}    old = copy(p.data)\n"
    assert fitting_wording(exercise, mistake, LearnerCode(alone)) is None
    found = fitting_wording(exercise, mistake, LearnerCode(f"{alone}    p.data = old\n"))
    assert found is not None
    assert found.line == 2
