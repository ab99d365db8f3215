"""Reads what the course is made of: `lessons/course.toml` and one `solutions/<lesson>.toml` a lesson."""

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from grader import paths
from grader.observe.play import Driver


class CourseError(ValueError):
    """A course file says something that cannot be right; the message names the file and the place."""


@dataclass(frozen=True)
class Check:
    """One line of the marking scheme."""

    title: str
    points: float
    scenarios: tuple[str, ...]
    """Scenarios whose runs must all agree with the solution's."""


Edit = tuple[str, str]
"""Old text (stands exactly once in the exercise's source) and what stands there instead."""


@dataclass(frozen=True)
class Mistake:
    """A known mistake: what is said about it, and the programs that make it."""

    id: str
    title: str
    explain: str
    hint: str
    at: str
    """Kind of event whose line feedback points at (`step`, `backward` …), or `def`, `return`, `def METHOD`."""
    programs: tuple[tuple[Edit, ...], ...]
    """Each entry is one way to make it."""
    in_pairs: int = 1
    """How many of `programs`, from the first, are also tried together with other mistakes."""


@dataclass(frozen=True)
class Exercise:
    """One graded function."""

    name: str
    lesson: str
    title: str
    checks: tuple[Check, ...]
    hints: tuple[str, ...]
    """From gentle to the answer, which is the last."""
    mistakes: tuple[Mistake, ...]
    driver: Driver

    @property
    def max_score(self) -> float:
        """Points there are."""
        return sum(check.points for check in self.checks)


@dataclass(frozen=True)
class Lesson:
    """One notebook with its exercises."""

    id: str
    name: str
    module: str
    """Its drivers: `grader/exercises/<module>.py`."""
    title: str
    minutes: int
    """Reading time, exercises not counted."""
    exercises: tuple[Exercise, ...]

    @property
    def solution(self) -> Path:
        """The lesson's single source."""
        return paths.solutions_path(f"{self.name}.py")

    @property
    def notebook(self) -> Path:
        """What a learner opens."""
        return paths.lessons_path(f"{self.name}.ipynb")


@dataclass(frozen=True)
class Course:
    """All lessons in order."""

    title: str
    tagline: str
    lessons: tuple[Lesson, ...]

    @property
    def exercises(self) -> dict[str, Exercise]:
        """Every exercise by name, in the course's order."""
        return {e.name: e for lesson in self.lessons for e in lesson.exercises}

    def lesson(self, key: str) -> Lesson:
        """The lesson with this id (`01`, `1`) or name (`01_five_line_step`).

        Raises:
            CourseError: there is none.
        """
        for lesson in self.lessons:
            if key in (lesson.id, lesson.name, lesson.id.lstrip("0")):
                return lesson
        known = ", ".join(lesson.id for lesson in self.lessons)
        raise CourseError(f"'{key}' 레슨은 없어요. 있는 레슨: {known}")

    def exercise(self, name: str) -> Exercise:
        """The exercise of this name.

        Raises:
            CourseError: there is none; the message lists those there are.
        """
        if name in self.exercises:
            return self.exercises[name]
        near = get_close_matches(name, self.exercises, n=1)
        meant = f" 혹시 '{near[0]}'인가요?" if near else ""
        raise CourseError(f"'{name}' 연습 문제는 없어요.{meant} 있는 연습 문제: {', '.join(self.exercises)}")


@cache
def load_course() -> Course:
    """The course as its files describe it.

    Raises:
        CourseError: a file contradicts itself or the drivers.
    """
    document = _read_toml(paths.lessons_path("course.toml"))
    lessons = tuple(_lesson(entry) for entry in document["lessons"])
    names = [e.name for lesson in lessons for e in lesson.exercises]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise CourseError(f"연습 문제 이름이 겹쳐요: {', '.join(sorted(doubled))}")
    return Course(document["title"], document["tagline"], lessons)


def _lesson(entry: Mapping[str, Any]) -> Lesson:
    module = importlib.import_module(f"grader.exercises.{entry['module']}")
    path = paths.solutions_path(f"{entry['name']}.toml")
    document = _read_toml(path)
    drivers: Mapping[str, Driver] = module.EXERCISES
    described = document["exercises"]
    if set(described) != set(drivers):
        raise CourseError(
            f"연습 문제 이름이 서로 달라요. {path}: {sorted(described)}, "
            f"드라이버: {sorted(drivers)}. 이름을 맞춰 주세요."
        )
    exercises = tuple(
        _exercise(name, entry["id"], described[name], drivers[name], path) for name in described
    )
    return Lesson(entry["id"], entry["name"], entry["module"], entry["title"], entry["minutes"], exercises)


def _exercise(name: str, lesson: str, document: Mapping[str, Any], driver: Driver, path: Path) -> Exercise:
    try:
        checks = tuple(
            Check(c["title"], float(c["points"]), tuple(c["scenarios"])) for c in document["checks"]
        )
        mistakes = tuple(_mistake(m) for m in document.get("mistakes", ()))
        hints = tuple(document["hints"])
    except KeyError as error:
        raise CourseError(f"{path}: exercises.{name}에 빠진 항목이 있어요: {error}") from error
    known = {scenario.name for scenario in driver.scenarios}
    for check in checks:
        unknown = set(check.scenarios) - known
        if unknown:
            raise CourseError(f"{path}: exercises.{name} '{check.title}': 없는 시나리오 {sorted(unknown)}")
    unused = known - {s for check in checks for s in check.scenarios}
    if unused:
        raise CourseError(f"{path}: exercises.{name}: 점수에 들어가지 않는 시나리오 {sorted(unused)}")
    return Exercise(name, lesson, document["title"], checks, hints, mistakes, driver)


_EVENTS = frozenset(
    ("zero_grad", "forward", "backward", "clip", "first_step", "step", "scheduler", "return", "def")
)


def _mistake(document: Mapping[str, Any]) -> Mistake:
    at = document.get("at", "def")
    if at not in _EVENTS and not at.startswith("def "):
        raise CourseError(f"{document['id']}: at이 {at!r}예요. 쓸 수 있는 것: {', '.join(sorted(_EVENTS))}")
    programs = [document["edits"], *document.get("variants", ())]
    return Mistake(
        id=document["id"],
        title=document["title"],
        explain=document["explain"].strip(),
        hint=document["hint"].strip(),
        at=at,
        programs=tuple(tuple((str(old), str(new)) for old, new in program) for program in programs),
        in_pairs=int(document.get("in_pairs", 1)),
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: TOML 문법이 틀렸어요: {error}") from error
