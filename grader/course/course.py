"""The nouns of the course: lessons, exercises, checks, known mistakes. `course_files` reads them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from grader import paths
from grader.base.errors import HanstepError
from grader.observe.wording import with_particle

if TYPE_CHECKING:  # it imports torch
    from grader.observe.play import Driver


class CourseError(HanstepError):
    """A course file says something that cannot be right; the message names the file and the place."""


Kind = Literal["exercise", "warmup", "bonus"]
"""Only what is an `exercise` counts for a student's score; the others are judged and explained like it."""
Text = Annotated[str, Meta(min_length=1)]
Letter = Annotated[str, Meta(pattern="^[a-d]$")]
Edit = tuple[Text, str]
"""Old text (stands exactly once in the exercise's source) and what stands there instead."""
Edits = Annotated[tuple[Edit, ...], Meta(min_length=1)]
"""All edits of one program."""
_EVENTS = "zero_grad|forward|backward|clip|first_step|step|scheduler|return|def"


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the marking scheme. Each scenario of the driver names the check that it decides."""

    id: Text
    title: Text
    points: Annotated[float, Meta(gt=0)]
    look: str = ""
    """What failing it means and where to look first, for a learner whose mistake nobody knows."""


class SharedTexts(Struct, frozen=True, forbid_unknown_fields=True):
    """What several exercises say of one mistake in the same words: an entry of `solutions/shared_mistakes.toml`."""

    title: Text
    explain: Text
    hint: Text


class Mistake(Struct, frozen=True, forbid_unknown_fields=True):
    """A known mistake: what is said about it, and the programs that make it."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    explain: Text
    hint: Text
    edits: Edits
    """The way most learners make it."""
    at: Annotated[str, Meta(pattern=rf"^({_EVENTS}|def \w+)$")] = "def"
    """Kind of event whose line feedback points at (`step`, `backward` …), or `def`, `return`, `def METHOD`."""
    near: str = ""
    """The solution's line beside which a tutor would point, where the changed lines themselves do not tell."""
    only_near: bool = False
    """Point there even where the learner wrote one of the changed lines word for word."""
    variants: tuple[Edits, ...] = ()
    """Other ways to make it."""

    @property
    def programs(self) -> tuple[Edits, ...]:
        """All ways to make it, the usual one first."""
        return (self.edits, *self.variants)


class Copy(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole wrong program that many pages show and learners paste: recognised by what it does."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    """What it is."""
    explain: Text
    """Where it differs from a right program."""
    hint: Text
    program: Text


class Prediction(Struct, frozen=True, forbid_unknown_fields=True):
    """A question that a learner answers before an experiment; it stands in the notebook, its answer only here."""

    id: Annotated[str, Meta(pattern="^[0-9]{2}-[a-z0-9]+$")]
    """Of the lesson and in it: `01-3`, `01-bug1`."""
    answer: Letter
    because: Text
    """What the experiment shows."""
    wrong: dict[Letter, Text]
    """Every other choice: why one may think so, and why it is not so."""

    @property
    def choices(self) -> tuple[str, ...]:
        """All letters."""
        return tuple(sorted({self.answer, *self.wrong}))


@dataclass(frozen=True)
class Exercise:
    """One graded function."""

    name: str
    lesson: str
    title: str
    checks: tuple[Check, ...]
    clues: tuple[str, ...]
    """Hints before the answer, from gentle to plain; a bonus task has none."""
    mistakes: tuple[Mistake, ...]
    load_driver: "Callable[[], Driver]" = field(compare=False, repr=False)
    """Imports what tests it, and torch with that."""
    because: str
    """Told when it passes: what a right program does that wrong ones do not."""
    copies: tuple[Copy, ...] = ()
    kind: Kind = "exercise"
    load_answer: "Callable[[], str] | None" = field(default=None, compare=False, repr=False)
    """Read the last hint from the lesson's source; None: there is none."""

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """The clues, then the answer as the exercise's cell has it.

        Raises:
            NoAnswer: the lesson's source has no such cell.
        """
        return (*self.clues, self.load_answer()) if self.clues and self.load_answer else self.clues

    @cached_property
    def driver(self) -> "Driver":
        """How it is tested. Torch and the lesson's drivers are imported when it is first asked for.

        Raises:
            CourseError: the drivers and the course's files contradict each other.
        """
        return self.load_driver()

    @property
    def max_score(self) -> float:
        """Points there are."""
        return sum(check.points for check in self.checks)

    def deciding(self, check: Check) -> tuple[str, ...]:
        """Names of the scenarios whose runs must all agree with the solution's for the check to pass."""
        return tuple(s.name for s in self.driver.scenarios if s.check == check.id)


@dataclass(frozen=True)
class Lesson:
    """One notebook with its exercises."""

    id: str
    name: str
    module: str
    """Its drivers: the package `grader/exercises/<module>/`."""
    title: str
    minutes: int
    """To read, predict and run; exercises not counted."""
    exercises: tuple[Exercise, ...]
    """In the notebook's order, warm-ups and bonus tasks among them."""
    predictions: tuple[Prediction, ...] = ()
    needs: tuple[str, ...] = ()
    """Ids of the lessons to take first; they stand before it."""
    english: str = ""
    """What it is about, for readers of the site's English page; empty where nobody has written it."""

    @property
    def counted(self) -> tuple[Exercise, ...]:
        """The exercises that give points."""
        return tuple(exercise for exercise in self.exercises if exercise.kind == "exercise")

    @property
    def solution(self) -> Path:
        """The lesson's single source."""
        return paths.solutions_path(self.name, f"{self.name}.py")

    @property
    def behaviours(self) -> Path:
        """Which known mistakes change what, as `grader build` measured it."""
        return paths.solutions_path(self.name, "behaviours.json")

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
        meant = _meant(name, self.exercises)
        asked = with_particle(f"'{name}'", "이라는/라는")
        raise CourseError(f"{asked} 연습 문제는 없어요.{meant} 있는 연습 문제: {', '.join(self.exercises)}")

    def prediction(self, name: str) -> Prediction:
        """The prediction of this id.

        Raises:
            CourseError: there is none.
        """
        every = {one.id: one for lesson in self.lessons for one in lesson.predictions}
        if name in every:
            return every[name]
        meant = _meant(str(name), every)
        raise CourseError(f"'{name}' 예측은 없어요.{meant} 노트북에 적혀 있던 번호를 그대로 적어 주세요.")


def _meant(name: str, known: Iterable[str]) -> str:
    """Which one a misspelt name may have meant, as a sentence; empty where none is near."""
    near = get_close_matches(name, known, n=1)
    return f" 혹시 '{near[0]}'인가요?" if near else ""
