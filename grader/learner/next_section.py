"""Where a learner goes next, and where that stands in its notebook: heading and minutes, as the lesson has them."""

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from grader.course.course import Course, Exercise, Lesson

_HEADING = re.compile(r"^### (.+)$")
_MINUTES = re.compile(r"^약 (\d+)분(?: · ([★☆]+))?")
_CELL = re.compile(r'^# %%.*"exercise:(\w+)"')


@dataclass(frozen=True)
class Section:
    """The section of a lesson in which an exercise stands."""

    heading: str
    """`연습 1. train_step`."""
    minutes: int | None
    stars: str
    """`★★☆`; empty where the lesson does not say."""
    link: str
    """The notebook beside this one, at the exercise's cell, as JupyterLab opens it."""


def next_exercise(course: Course, passed: Container[str]) -> Exercise | None:
    """The first one that counts and has not passed; after all of these the first of the others; None at the end."""
    counted = [e for lesson in course.lessons for e in lesson.counted]
    others = [e for e in course.exercises.values() if e.kind != "exercise"]
    return next((e for e in (*counted, *others) if e.name not in passed), None)


def section(lesson: Lesson, exercise: str) -> Section:
    """Where the exercise stands in its lesson.

    Raises:
        KeyError: it is not in this lesson.
        OSError: the lesson's source cannot be read.
    """
    return _sections(lesson.solution, lesson.notebook.name)[exercise]


@cache
def _sections(source: Path, notebook: str) -> dict[str, Section]:
    found: dict[str, Section] = {}
    heading, minutes, stars = "", None, ""
    for line in source.read_text(encoding="utf-8").splitlines():
        if title := _HEADING.match(line):
            heading, minutes, stars = title[1].replace("`", ""), None, ""
        elif (told := _MINUTES.match(line)) and minutes is None:
            minutes, stars = int(told[1]), told[2] or ""
        elif cell := _CELL.match(line):
            # By the cell's id, as `grader build` gives it: JupyterLab finds no heading whose name is in Hangul.
            link = f"{quote(notebook)}#cell-id=exercise-{cell[1]}"
            found[cell[1]] = Section(heading, minutes, stars, link)
    return found
