"""Check a learner's own file from the command line as a notebook's `check` does, in a separate process if possible."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from grader.base.errors import CommandError, NothingToCheck
from grader.course.course import Course, Exercise
from grader.course.feedback import Feedback
from grader.grading import SEED
from grader.grading.in_process import check_here
from grader.grading.warm import without_gc_for_good
from grader.submission.submission import Submission, read_submission


def require_file(file: Path) -> None:
    """Raise CommandError unless `file` is an existing file.

    Raises:
        CommandError: it is a folder, or does not exist.
    """
    if file.is_dir():
        raise CommandError(f"폴더예요: {file}. 파일 하나를 주세요. 반 전체는 grader grade {file}로 채점해요.")
    if not file.is_file():
        raise CommandError(f"파일이 없어요: {file}. 경로를 확인해 주세요.")


class OwnFile:
    """A learner's file as it was when it was read, with the exercises in it."""

    def __init__(self, file: Path, course: Course) -> None:
        """Read the file.

        Raises:
            CommandError: there is no such file.
            NothingToCheck: it cannot be read, or holds no exercise.
        """
        require_file(file)
        self.submission: Submission = read_submission(file, tuple(course.exercises))
        if self.submission.unreadable:
            broken = self.submission.unreadable[0]
            raise NothingToCheck(f"{broken.name}: {broken.message}")
        self.exercises = tuple(e for e in course.exercises.values() if self.source(e.name))
        """Exercises of the course that the file holds, in the order of the course."""
        if not self.exercises:
            listed = ", ".join(course.exercises)
            where = " ".join((f"{file}에서 연습 문제를 찾지 못했어요.", *self.notes))
            raise NothingToCheck(f"{where} 있는 연습 문제: {listed}")
        self._course = course

    @property
    def notes(self) -> tuple[str, ...]:
        """Korean lines about what was skipped, such as answers in drill cells."""
        return self.submission.notes

    def source(self, exercise: str) -> str:
        """Return the program text in which the exercise is defined; empty if the file does not hold it."""
        found = self.submission.source_for(exercise)
        return "" if found is None else found.text

    def check(
        self,
        exercises: tuple[Exercise, ...],
        *,
        seed: int = SEED,
        device: str = "cpu",
        meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> tuple[Feedback, ...]:
        """Run and judge some of the exercises.

        Args:
            exercises: exercises to check.
            seed: seed of the scenarios.
            device: `cpu` or `cuda`.
            meanwhile: context manager entered while they run.

        Returns:
            Feedback on each, in the order of the course; none for a warm-up or bonus task that was not begun.
        """
        if not hasattr(os, "fork"):  # Windows
            return self._check_here(exercises, seed, device, meanwhile)
        with without_gc_for_good():
            from grader.grading import grade_submission
            from grader.grading.grading_run import GradingRun

        chosen = {exercise.name for exercise in exercises}
        lessons = (
            replace(lesson, exercises=tuple(e for e in lesson.exercises if e.name in chosen))
            for lesson in self._course.lessons
        )
        # A learner's own file needs no isolation (`none`). A separate process is enough: an endless loop or a crash
        # then ends only that process.
        run = GradingRun(
            self._course, tuple(lesson for lesson in lessons if lesson.exercises), seed, device, "none"
        )
        return grade_submission.grade_one(run, self.submission, meanwhile).all_feedback

    def _check_here(
        self,
        exercises: tuple[Exercise, ...],
        seed: int,
        device: str,
        meanwhile: Callable[[], AbstractContextManager[object]],
    ) -> tuple[Feedback, ...]:
        """Check in this process, where processes cannot be forked (Windows)."""
        feedbacks: list[Feedback] = []
        with meanwhile():
            for exercise in (e for e in self._course.exercises.values() if e in exercises):
                source = self.submission.source_for(exercise.name)
                if source is not None:
                    feedbacks += check_here(source, (exercise,), seed=seed, device=device)
        return tuple(feedbacks)
