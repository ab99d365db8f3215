"""Find the next exercise, and its section in the lesson's notebook: heading, stars, link."""

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from grader.course.course import Course, Exercise, Lesson

_HEADING = re.compile(r"^### (.+)$")
_STARS = re.compile(r"^약 \d+분 · ([★☆]+)")
_CELL = re.compile(r'^# %%.*"exercise:(\w+)"')


@dataclass(frozen=True)
class Section:
    """The section of a lesson that contains an exercise."""

    heading: str
    """For example `연습 1. train_step`."""
    stars: str
    """For example `★★☆`; empty if the lesson gives none."""
    link: str
    """Link from another notebook of the course to the exercise's cell, for JupyterLab."""


def next_exercise(
    course: Course, passed: Container[str], among: Container[str] | None = None
) -> Exercise | None:
    """Return the exercise to go on with; None if all passed.

    In the order of the course: first graded exercises not passed, and warm-ups behind the last passed exercise; then
    bonus tasks, then the warm-ups that were skipped.

    Args:
        course: the course.
        passed: names of the exercises that have passed.
        among: names of the exercises to choose from; None: all.
    """
    every = list(course.exercises.values())
    reached = max((place for place, e in enumerate(every) if e.name in passed), default=-1)

    def rank(place: int, exercise: Exercise) -> int:
        if exercise.kind == "exercise" or (exercise.kind == "warmup" and place > reached):
            return 0
        return 1 if exercise.kind == "bonus" else 2

    left = [
        (rank(place, e), place)
        for place, e in enumerate(every)
        if e.name not in passed and (among is None or e.name in among)
    ]
    return every[min(left)[1]] if left else None


def notebook_of(
    course: Course, exercise: Exercise | None, folder: Path | None = None
) -> tuple[Path | None, str]:
    """Return the learner's folder with the notebook of an exercise, None if there is none; and its place in it.

    Args:
        course: the course.
        exercise: the exercise; None for the first notebook.
        folder: the folder; None: `hanstep`, or else the current one.
    """
    wanted = course.parts[0] if exercise is None else course.lesson(exercise.lesson).part_of(exercise.name)
    places = (Path("hanstep"), Path()) if folder is None else (folder,)
    return next((p for p in places if (p / wanted.place).is_file()), None), wanted.place


def section(lesson: Lesson, exercise: str) -> Section:
    """Return the section of an exercise in its lesson.

    Raises:
        KeyError: the exercise is not in this lesson.
        OSError: the part's source cannot be read.
    """
    part = lesson.part_of(exercise)
    return _sections(part.source, f"../{part.place}")[exercise]


@cache
def _sections(source: Path, notebook: str) -> dict[str, Section]:
    found: dict[str, Section] = {}
    heading, stars = "", ""
    for line in source.read_text(encoding="utf-8").splitlines():
        if title := _HEADING.match(line):
            heading, stars = title[1].replace("`", ""), ""
        elif (effort := _STARS.match(line)) and not stars:
            stars = effort[1]
        elif cell := _CELL.match(line):
            # Link to the cell's id, which `grader build` sets: JupyterLab cannot find headings whose names are in
            # Hangul.
            link = f"{quote(notebook)}#cell-id=exercise-{cell[1]}"
            found[cell[1]] = Section(heading, stars, link)
    return found
