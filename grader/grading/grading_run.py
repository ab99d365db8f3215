"""How a class is graded: the settings that every part of a grading run goes by."""

from dataclasses import dataclass, field, fields
from typing import Any

from grader.course.course import Course, Exercise, Lesson
from grader.course.reading import load_course
from grader.sandbox.client import Limits


@dataclass(frozen=True)
class GradingRun:
    """How a class is graded."""

    course: Course
    lessons: tuple[Lesson, ...]
    seed: int
    device: str = "cpu"
    sandbox: str = "auto"
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)
    submission_seconds: float = 120.0
    """By the clock on the wall, after which no further exercise of a submission is begun. A whole right one takes
    about ten: it has room also where every processor has four others to serve."""
    added: tuple[str, ...] = ()
    """Installed packages, as pip calls them, that submissions may use beside those of the course."""
    ahead: tuple[str, ...] = ()
    """Modules that submissions of this class import: each sandbox does so once, for all of them."""
    each: bool = False
    """Whether all programs are run, also one that is the same as a right one that came before."""
    ray: str | None = None
    """Address of a Ray cluster that grades; None: this machine does."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process reads the course from its own files: drivers hold functions that do not travel."""
        lessons = tuple(lesson.id for lesson in self.lessons)
        others = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("course", "lessons")}
        return _with_the_course, (lessons, others)

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises that are graded, in the course's order."""
        return tuple(e for lesson in self.lessons for e in lesson.exercises)

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages of drivers that the sandbox server needs."""
        return tuple(lesson.module for lesson in self.lessons)


def _with_the_course(lessons: tuple[str, ...], others: dict[str, Any]) -> GradingRun:
    course = load_course()
    return GradingRun(course, tuple(course.lesson(key) for key in lessons), **others)
