"""No notebook holds an answer, letters are balanced, cells show the idea, and times are told."""

import re
from collections import Counter
from typing import Any

import nbformat
import pytest

from grader.authoring.build import BuildError, solution_notebook
from grader.authoring.check_predictions import check_predictions
from grader.course.course import Course, Lesson, Part, Prediction
from grader.course.reading import load_course
from tests.lessons.test_prose import texts

COURSE: Course = load_course()
LESSONS = [pytest.param(lesson, id=lesson.name) for lesson in COURSE.lessons]
PARTS = [pytest.param(part, id=part.place) for part in COURSE.parts]


def plain(text: str) -> str:
    return re.sub(r"\W", "", text)


def cells_of(lesson: Lesson) -> list[Any]:
    """The cells of all notebooks that a learner gets."""
    return [cell for part in lesson.parts for cell in nbformat.read(part.notebook, as_version=4).cells]


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_notebook_holds_an_answer(lesson: Lesson) -> None:
    """Neither what the experiment shows nor why another choice is wrong stands in it."""
    # Outputs and metadata too.
    text = plain("".join(part.notebook.read_text(encoding="utf-8") for part in lesson.parts))
    whole = plain("".join(cell.source for cell in cells_of(lesson)))
    for one in lesson.predictions:
        for secret in (one.because, *one.wrong.values()):
            assert plain(secret) not in whole, one.id
            assert plain(secret) not in text, one.id


@pytest.mark.parametrize("lesson", LESSONS)
def test_letters_are_balanced(lesson: Lesson) -> None:
    """Who always chooses the same letter is right in less than half, and every one of a, b, c is worth a thought.

    Of few questions no letter is right more than once too often.
    """
    asked = len(lesson.predictions)
    assert asked >= 1
    right = Counter(one.answer for one in lesson.predictions)
    assert max(right.values()) <= max(1, 0.48 * asked), right
    if asked >= 6:
        assert min(right[letter] for letter in "abc") >= 0.2 * asked, right


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_right_choice_is_not_known_by_its_length(lesson: Lesson) -> None:
    cells = [cell for part in lesson.parts for cell in solution_notebook(part).cells]
    above, longest = "", 0
    right = {one.id: one.answer for one in lesson.predictions}
    for cell in cells:
        if cell.cell_type == "markdown":
            above = cell.source
        found = re.search(r'^predict\("([^"]+)"\)', cell.source, re.MULTILINE)
        if found and cell.cell_type == "code":
            choices = dict(re.findall(r"^- ([a-d]): (.+)", above, re.MULTILINE))
            lengths = {letter: len("".join(texts(text))) for letter, text in choices.items()}
            longest += lengths[right[found[1]]] == max(lengths.values())
    assert longest <= max(1, 0.6 * len(right)), (longest, len(right))


@pytest.mark.parametrize("lesson", LESSONS)
def test_folded_cells_say_what_is_in_them(lesson: Lesson) -> None:
    """Tables, plots and asserts are folded, and their first line stays in view."""
    for cell in cells_of(lesson):
        folded = bool(cell.metadata.get("jupyter", {}).get("source_hidden"))
        assert folded == ("folded" in cell.metadata.get("tags", ())), cell.id
        if folded:
            assert cell.source.startswith(("# ", "%%")), f"{cell.id}: its first line says what is in it"


@pytest.mark.parametrize("lesson", LESSONS)
def test_nothing_asserted_stands_in_view_of_a_question(lesson: Lesson) -> None:
    """An assert is the answer: from the question to its reveal it is folded."""
    asked = False
    for cell in cells_of(lesson):
        asked = asked or cell.source.startswith("predict(")
        if asked and cell.cell_type == "code" and "folded" not in cell.metadata.get("tags", ()):
            assert not re.search(r"^\s*assert ", cell.source, re.MULTILINE), cell.id
        asked = asked and "reveal(" not in cell.source


ASKED = Prediction("01-1", "b", "그렇습니다.", {"a": "아닙니다.", "c": "아닙니다."})


def made(*cells: tuple[str, str]) -> Any:
    kinds = {"text": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    return nbformat.v4.new_notebook(cells=[kinds[kind](source) for kind, source in cells])


QUESTION = ("text", "어느 것입니까?\n\n- a: 하나\n- b: 둘\n- c: 셋")
PREDICT, REVEAL = ("code", 'predict("01-1")'), ("code", 'x = 1\nreveal("01-1")')


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ((QUESTION, PREDICT, REVEAL), None),
        ((QUESTION, PREDICT, ("code", 'reveal("01-1", measured="a" if x else "b")')), None),
        ((QUESTION, PREDICT, ("code", 'reveal("01-1", measured="b")')), "답이 적혀"),
        ((QUESTION, ("code", 'predict("01-1", "b")'), REVEAL), "답이 적혀"),
        ((QUESTION, REVEAL), "predict 0번"),
        ((QUESTION, PREDICT, REVEAL, REVEAL), "reveal 2번"),
        ((("text", "보기가 없습니다"), PREDICT, REVEAL), "보기는 없음"),
        ((("text", "- a: 하나\n- b: 둘"), PREDICT, REVEAL), "보기는 a, b"),
        ((QUESTION, PREDICT, REVEAL, ("code", 'reveal("01-9")')), "predictions.toml에 없어요"),
    ],
)
def test_the_build_refuses_what_does_not_fit(cells: tuple[tuple[str, str], ...], said: str | None) -> None:
    part = Part("01_made", "1_made", "만든 레슨", 1)
    lesson = Lesson("01", "01_made", "made", "만든 레슨", 1, (), (ASKED,), parts=(part,))
    if said is None:
        assert check_predictions(lesson, part, made(*cells)) == {"01-1"}
        return
    with pytest.raises(BuildError, match=said):
        check_predictions(lesson, part, made(*cells))


TIME = re.compile(r"^약 (?:(\d+)시간 ?)?(?:(\d+)분)? · [★☆]{3}$", re.MULTILINE)
HEADING = re.compile(r"^(#{1,3}) (.+)$", re.MULTILINE)


@pytest.mark.parametrize("lesson", LESSONS)
def test_sections_and_exercises_say_how_long_they_take(lesson: Lesson) -> None:
    """Each in a line of its own, and the course counts the sections' sum."""
    text = "\n\n".join(cell.source for cell in cells_of(lesson) if cell.cell_type == "markdown")
    reading, exercises = 0, 0
    headings = [*HEADING.finditer(text)]
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        told = TIME.search(text, heading.end(), end)
        is_exercise = heading[2].startswith(("연습", "몸풀기", "보너스"))
        if (re.match(r"\d+\. ", heading[2]) and heading[1] == "##") or is_exercise:
            assert told, heading[0]
        if told:
            minutes = 60 * int(told[1] or 0) + int(told[2] or 0)
            reading += 0 if is_exercise else minutes
            exercises += minutes if is_exercise else 0
    assert reading == lesson.minutes
    assert exercises >= 10 * len(lesson.exercises)
