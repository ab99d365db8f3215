"""What follows a question that is still open: its experiment and explanation are behind a curtain, nothing else is."""

import re

import pytest

from grader.course.course import Lesson, Part
from grader.course.reading import load_course
from grader.site.part_page import part_page

CURTAIN = '<details class="experiment" data-after="'
COURSE = load_course()
PARTS = [(lesson, part) for lesson in COURSE.lessons for part in lesson.parts]


def split(lesson: Lesson, part: Part) -> tuple[list[str], list[str], list[list[str]]]:
    """Texts in the open, texts behind a curtain, and the predictions that lift each curtain."""
    seen: list[str] = []
    hidden: list[str] = []
    after: list[list[str]] = []
    behind = False
    for cell in part_page(lesson, part, "").notebook.cells:
        found = re.search(CURTAIN + '([^"]+)"', cell.source)
        if found is not None:
            assert not behind
            after.append(found[1].split())
            behind = True
        elif re.fullmatch(r"`+\{raw\} html\n</details>\n`+", cell.source):
            assert behind
            behind = False
        else:
            (hidden if behind else seen).append(cell.source)
    assert not behind
    return seen, hidden, after


@pytest.mark.parametrize(("lesson", "part"), PARTS, ids=lambda one: one.name)
def test_questions_and_headings_are_never_behind_one(lesson: Lesson, part: Part) -> None:
    seen, hidden, after = split(lesson, part)
    lifted_by = {name for names in after for name in names}
    assert {one.id for one in lesson.predictions if f'data-id="{one.id}"' in "\n".join(seen)} == lifted_by
    assert len(hidden) > len(after) or not after
    told = "\n".join(hidden)
    assert 'class="predict"' not in told
    assert not re.search(r"^(?:- a: |def \w+.*:\n.*# 여기에 코드를)", told, re.MULTILINE)
    outside_code = re.sub(r"^```.*?^```", "", "\n".join(seen), flags=re.MULTILINE | re.DOTALL)
    headings = [
        line for line in part.notebook.read_text(encoding="utf-8").split('"') if line.startswith("## ")
    ]
    for heading in headings:
        assert heading.removesuffix("\\n") in outside_code, heading


def test_every_prediction_is_asked_in_some_part() -> None:
    lifted_by = {name for lesson, part in PARTS for names in split(lesson, part)[2] for name in names}
    assert lifted_by == {one.id for lesson in COURSE.lessons for one in lesson.predictions}
