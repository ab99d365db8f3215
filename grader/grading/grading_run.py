"""Define the settings of a grading run, which all its parts share.

`cli/grade.py` and `own_file.py` make a `GradingRun`; workers receive it pickled. To add a setting, add a field, its
option in `cli/grade.py`, and, if results depend on it, its entry in `classroom/journal.py`.
"""

from dataclasses import dataclass, field, fields
from typing import Any

from grader.course.course import Course, Exercise, Lesson
from grader.course.reading import load_course
from grader.sandbox.client import Limits


@dataclass(frozen=True)
class GradingRun:
    """The settings with which a class, or a single submission, is graded."""

    course: Course
    lessons: tuple[Lesson, ...]
    """Lessons whose exercises are graded."""
    seed: int
    device: str = "cpu"
    sandbox: str = "auto"
    """Isolation: `auto`, `bwrap` or `none`; see `Sandbox`."""
    jobs: int = 1
    """Number of submissions graded at the same time."""
    limits: Limits = field(default_factory=Limits)
    """Limits of one exercise."""
    submission_seconds: float = 120.0
    """Wall time after which no further exercise of a submission is begun. A complete right submission takes about ten
    seconds, so this is enough even where every processor serves four others."""
    only: tuple[str, ...] = ()
    """Names of the exercises that are graded; empty: all of the lessons."""
    added_packages: tuple[str, ...] = ()
    """Installed packages, as pip calls them, that submissions may use beside those of the course."""
    preimports: tuple[str, ...] = ()
    """Modules that submissions of this class import; each sandbox imports them once for all submissions."""
    own_file: bool = False
    """True if a learner checks a file of their own. Only then is a warm-up judged that runs as it was handed out."""
    own_names: tuple[tuple[str, str], ...] = ()
    """Names that students gave to answers, each with the exercise that it is graded as."""
    ray: str | None = None
    """Address of the Ray cluster that grades; None: this machine does."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the course by its lessons' ids only: drivers hold functions that cannot be pickled.

        The other process reads the course from its own files.
        """
        lessons = tuple(lesson.id for lesson in self.lessons)
        others = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("course", "lessons")}
        return _unpickled, (lessons, others)

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises to grade, in the order of the course."""
        every = (e for lesson in self.lessons for e in lesson.exercises)
        return tuple(e for e in every if not self.only or e.name in self.only)

    @property
    def lesson_packages(self) -> tuple[str, ...]:
        """Names of the lessons' packages in `grader.exercises`, whose drivers the sandbox needs."""
        return tuple(lesson.module for lesson in self.lessons)


def _unpickled(lessons: tuple[str, ...], others: dict[str, Any]) -> GradingRun:
    """Build a GradingRun in another process: read the course there, and look up the lessons by their ids."""
    course = load_course()
    return GradingRun(course, tuple(course.lesson(key) for key in lessons), **others)
