"""How a class is graded: the settings that every part of a grading run goes by."""

from dataclasses import dataclass, field

from grader.course import Course, Exercise, Lesson
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
    ray: str | None = None
    """Address of a Ray cluster that runs the sandboxes; None: this machine does."""

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises that are graded, in the course's order."""
        return tuple(e for lesson in self.lessons for e in lesson.exercises)

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages of drivers that the sandbox server needs."""
        return tuple(lesson.module for lesson in self.lessons)
