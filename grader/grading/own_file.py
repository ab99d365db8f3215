"""Check a learner's own file from the command line as a notebook's `check` does, in a separate process if possible.

`cli/learner.py` (`grader check FILE`), `notebook/watch.py` and `practice/drill.py` make an `OwnFile` and call its
`check`. How a file is read is not decided here but in `submission/`; how a program is graded, in `grade_submission.py`.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from grader.base.errors import CommandError, NothingToCheck
from grader.base.files import require_file
from grader.base.names import listed
from grader.course.course import Course, Exercise
from grader.course.feedback import Feedback
from grader.grading import SEED
from grader.grading.in_process import check_here
from grader.grading.warm import without_gc_for_good
from grader.observe.wording import particle
from grader.submission.close_names import Pairing, close_names
from grader.submission.renaming import with_names
from grader.submission.siblings import with_neighbours
from grader.submission.submission import Submission, read_submission
from grader.submission.syntax import definitions


def proposal(file: Path, pairings: Sequence[Pairing], options: str = "") -> str:
    """Return Korean sentences that propose to check functions as exercises, with the command; empty for none.

    Args:
        file: the file.
        pairings: the functions and the exercises.
        options: further options of the command, as they are written in a shell.
    """
    if not pairings:
        return ""
    which = ", ".join(f"`{pairing.own}` → `{pairing.exercise}`" for pairing in pairings)
    names = [f"--as {pairing.own}={pairing.exercise}" for pairing in pairings]
    command = " ".join(filter(None, ("grader check", shlex.quote(str(file)), options, *names)))
    return (
        f"이름이 비슷한 함수가 있어요. 혹시 {which}인가요? 그렇다면 연습 문제의 이름으로 바꾸거나, "
        f"이렇게 확인해 보세요: {command}"
    )


class OwnFile:
    """A learner's file as it was when it was read, with the exercises in it."""

    def __init__(self, file: Path, course: Course, names: Mapping[str, str] | None = None) -> None:
        """Read the file.

        Args:
            file: the file.
            course: the course.
            names: functions of the file that answer an exercise under another name -> name of the exercise.

        Raises:
            CommandError: there is no such file, or no such function in it.
            NothingToCheck: it cannot be read, or holds no exercise.
        """
        require_file(file)
        names = names or {}
        self._notes_on_names = tuple(
            f"`{own}`{particle(own, '을/를')} `{exercise}`{particle(exercise, '으로/로')} 확인했어요. "
            "제출할 때는 이름을 바꿔 주세요."
            for own, exercise in names.items()
        )
        read = read_submission(file, (*course.exercises, *names))
        self.submission: Submission = replace(read, files=tuple(map(with_neighbours, read.files)))
        if self.submission.unreadable:
            broken = self.submission.unreadable[0]
            raise NothingToCheck(f"{broken.name}: {broken.message}")
        self._rename(file, names)
        self.exercises = tuple(e for e in course.exercises.values() if self.source(e.name))
        """Exercises of the course that the file holds, in the order of the course."""
        absent = [e for e in course.exercises.values() if e not in self.exercises]
        self.close_names = close_names(self.submission.files, absent, course.exercises)
        """Functions of the file that are probably exercises under another name."""
        if not self.exercises:
            complaint = " ".join((f"{file}에서 연습 문제를 찾지 못했어요.", *self.notes))
            advice = proposal(file, self.close_names)
            if not advice and all(p.name for source in self.submission.files for p in source.problems):
                advice = "연습 문제의 이름은 grader progress로, 노트북에서는 progress()로 볼 수 있어요."
            raise NothingToCheck(f"{complaint} {advice}".rstrip())
        self._course = course

    def _rename(self, file: Path, names: Mapping[str, str]) -> None:
        """Give the file's functions the names of the exercises that they answer.

        Raises:
            CommandError: the file has no such function, or has one of the exercise's own name too.
        """
        files = self.submission.files
        for own, exercise in names.items():
            if not any(source.defines_or_attempts(own) for source in files):
                found = listed(
                    list(dict.fromkeys(name for source in files for name in definitions(source.text)))
                )
                raise CommandError(
                    f"{file}에 `{own}`{particle(own, '이/가')} 없어요(--as {own}={exercise}). "
                    f"있는 함수: {found or '없음'}. 파일에 쓴 이름을 = 앞에 적어 주세요."
                )
            if any(source.defines_or_attempts(exercise) for source in files):
                raise CommandError(
                    f"{file}에 `{exercise}`{particle(exercise, '이/가')} 이미 있어요(--as {own}={exercise}). "
                    "그 함수를 지우거나 --as를 빼고 확인해 주세요."
                )
        self.submission = replace(self.submission, files=tuple(with_names(source, names) for source in files))

    @property
    def notes(self) -> tuple[str, ...]:
        """Korean lines about what was skipped, such as answers in drill cells, and about other names."""
        return (*self.submission.notes, *self._notes_on_names)

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
        chosen_lessons = tuple(lesson for lesson in lessons if lesson.exercises)
        # A learner's own file needs no isolation. A separate process is enough: an endless loop or a crash then ends
        # only that process.
        run = GradingRun(self._course, chosen_lessons, seed, device, sandbox="none", own_file=True)
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
