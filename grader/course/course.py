"""The nouns of the course: lessons, exercises, checks, known mistakes.

`course.reading` fills them from the course files.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from grader import paths
from grader.base.errors import HanstepError
from grader.base.names import closest
from grader.observe.wording import with_particle

if TYPE_CHECKING:  # importing it imports torch
    from grader.observe.play import Driver


class CourseError(HanstepError):
    """A course file contradicts itself or another one; the message names the file and the place."""


Side = Literal["", "before", "after"]
"""Where beside a line something is missing; empty where it is not said."""
Kind = Literal["exercise", "warmup", "bonus"]
"""Kind of a graded function. Only an `exercise` counts for a student's score; a `warmup` or `bonus` is judged and
explained in the same way, but gives no points.
"""
Text = Annotated[str, Meta(min_length=1)]
Letter = Annotated[str, Meta(pattern="^[a-d]$")]
Edit = tuple[Text, str]
"""One text edit: (old text, which occurs exactly once in the exercise's source; the text that replaces it)."""
Edits = Annotated[tuple[Edit, ...], Meta(min_length=1)]
"""All edits that turn the solution into one wrong program."""
_EVENTS = "zero_grad|forward|backward|clip|first_step|step|scheduler|return|def"


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the marking scheme. Each scenario of the driver names the check that it decides."""

    id: Text
    title: Text
    points: Annotated[float, Meta(gt=0)]
    look: str = ""
    """What a failure of this check means and where to look first, shown when no known mistake fits."""


class Wording(Struct, frozen=True, forbid_unknown_fields=True):
    """Texts in place of a mistake's where the learner's code shows how it was made, and the line to point at.

    Two ways to make a mistake may behave alike; only the code tells which of them a title would be true of. A wording
    without texts only points at the statement: the mistake is told in its own words.
    """

    code: Text
    """Regular expression. A statement of the learner's definition, or of a helper that it calls, has to match, as
    `ast.unparse` writes it; of a compound statement, its header. Strings are empty there unless they are one word."""
    title: Text = ""
    """Empty if there are no texts; then `explain`, `hint` and `mend` are empty, too."""
    explain: Text = ""
    """As `Mistake.explain`, with conditions."""
    hint: Text = ""
    mend: str = ""
    """As `Mistake.mend`; the mistake's own is not told where this wording is."""
    beside: str = ""
    """Regular expression that another statement has to match, too; empty: none."""

    def __post_init__(self) -> None:
        """Raise a ValueError, which the reader of the file words, if only some of the texts are given."""
        if not (bool(self.title) == bool(self.explain) == bool(self.hint)) or (self.mend and not self.title):
            raise ValueError("title, explain, hint를 모두 적거나 하나도 적지 마세요")


class SharedTexts(Struct, frozen=True, forbid_unknown_fields=True):
    """Texts that several exercises share for the same mistake: one entry of `solutions/shared_mistakes.toml`."""

    title: Text
    explain: Text
    hint: Text
    mend: str = ""
    wordings: tuple[Wording, ...] = ()


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """Another way to make a mistake, of which the mistake's own explanation would not be true."""

    edits: Edits
    explain: Text
    """Says of this way what `Mistake.explain` says of the others."""
    mend: str = ""
    """As `Mistake.mend`, if that is not how to mend this way; empty: it is."""


class Mistake(Struct, frozen=True, forbid_unknown_fields=True):
    """A known mistake: the texts about it, and the programs that make it."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    explain: Text
    """What the code does and what came of it. `{condition: sentence}` is told only of runs of which it is true
    (`course.conditions`); everything else must be true wherever the mistake is made, whatever else is wrong."""
    hint: Text
    """What to think of or to try, without the answer."""
    edits: Edits
    """The edits for the way in which most learners make it."""
    mend: str = ""
    """What to write instead, in one or two sentences that are true of the learner's code whatever its names and shape;
    the last hint where no edit of that code was found. It states nothing of the run, so it has no conditions."""
    at: Annotated[str, Meta(pattern=rf"^({_EVENTS}|def \w+)$")] = "def"
    """Kind of event whose line feedback points at (`step`, `backward` …), or `def`, `return`, `def METHOD`. Used when
    no line of the learner's code resembles the edited lines.
    """
    near: str = ""
    """Line of the solution whose counterpart in the learner's code feedback
    should point at, where the edited lines alone do not tell.
    """
    only_near: bool = False
    """Point at `near` even if the learner's code contains one of the edited lines word for word."""
    side: Side = ""
    """`before` or `after`: something is missing on this side of `near`, although the edits do not just leave it out."""
    variants: tuple[Edits | Variant, ...] = ()
    """Other ways to make the same mistake; only edits where `explain` is true of them, too."""
    wordings: tuple[Wording, ...] = ()
    """Other texts, for ways to make it that only the learner's code tells apart."""
    excludes: tuple[str, ...] = ()
    """Ids of mistakes that no code makes together with this one, although their edits can be combined.

    Example: who divides twice has not left out the division. It is enough to name one of the two in the other's entry.
    """

    @property
    def programs(self) -> tuple[Edits, ...]:
        """The edits of every way to make it, the usual one first."""
        return (self.edits, *(v.edits if isinstance(v, Variant) else v for v in self.variants))

    def explanation(self, number: int) -> str:
        """Return the explanation of the program with this number in `programs`, with its conditions."""
        variant = self.variants[number - 1] if number else None
        return variant.explain if isinstance(variant, Variant) else self.explain

    def way_to_mend(self, number: int) -> str:
        """Return what to write instead of the program with this number in `programs`; empty if nothing tells it."""
        variant = self.variants[number - 1] if number else None
        return (variant.mend if isinstance(variant, Variant) else "") or self.mend


class Cases(Struct, frozen=True, forbid_unknown_fields=True):
    """Two cases for which learners often write the same code twice; then a mistake may be in one copy only."""

    condition: Text
    """Python expression, in names of the solution, that is true in the first case."""
    first: Text
    """Korean name of the first case, such as 「꽉 찬 구간」: feedback on a mistake in that copy only tells it."""
    second: Text
    """The same for the second case."""
    mistakes: tuple[str, ...]
    """Ids of the mistakes that are also looked for in one copy only."""
    inside: str = ""
    """First line of the solution's statement whose block is written twice; empty: the whole body of the function."""


class Promise(Struct, frozen=True, forbid_unknown_fields=True):
    """What one sentence of an exercise's docstring promises, and the mistakes that break it.

    Some scenario shows each of these mistakes, so a promise with one is needed by a scenario
    (`tests/judging/test_docstrings.py`).
    """

    says: Text
    """The sentence, as it stands in the docstring; a line break counts as a space."""
    broken_by: tuple[str, ...] = ()
    """Ids of mistakes that break it; empty only for a sentence that `given` explains."""
    given: str = ""
    """Why no mistake can break it: it says what the function is given, or leaves something open."""


class Copy(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole wrong program that many web pages show and learners paste; it is recognised by its behaviour."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    """Name of the program, as shown to the learner."""
    explain: Text
    """How it differs from a right program."""
    hint: Text
    program: Text


class Prediction(Struct, frozen=True, forbid_unknown_fields=True):
    """A question that a learner answers before an experiment.

    The notebook holds the question; its answer is only here.
    """

    id: Annotated[str, Meta(pattern="^[0-9]{2}-[a-z0-9]+$")]
    """Lesson and number: `01-3`, or `01-bug1` for the lesson's buggy program."""
    answer: Letter
    because: Text
    """Why the answer is right: what the experiment shows."""
    wrong: dict[Letter, Text]
    """For every wrong choice, why one may think so and why it is not so."""

    @property
    def choices(self) -> tuple[str, ...]:
        """The letters of all choices, sorted."""
        return tuple(sorted({self.answer, *self.wrong}))


@dataclass(frozen=True)
class Exercise:
    """One graded function or class."""

    name: str
    lesson: str
    title: str
    checks: tuple[Check, ...]
    clues: tuple[str, ...]
    """Hints before the answer, from gentle to plain; a bonus task has none."""
    mistakes: tuple[Mistake, ...]
    load_driver: "Callable[[], Driver]" = field(compare=False, repr=False)
    """Imports and returns the exercise's driver, which also imports torch."""
    because: str
    """Shown when the exercise passes: what a right program does that wrong ones do not."""
    copies: tuple[Copy, ...] = ()
    promises: tuple[Promise, ...] = ()
    cases: Cases | None = None
    kind: Kind = "exercise"
    minutes: int | None = None
    """Estimated minutes to solve it, as its section in the lesson says; None if it says nothing."""
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
        """The driver that tests this exercise. The first access imports torch and the driver's module.

        Raises:
            CourseError: the driver and the course's files contradict each other.
        """
        return self.load_driver()

    @property
    def max_score(self) -> float:
        """Sum of the points of all checks."""
        return sum(check.points for check in self.checks)

    def deciding(self, check: Check) -> tuple[str, ...]:
        """Return the names of the scenarios whose runs must all equal the solution's for the check to pass."""
        return tuple(s.name for s in self.driver.scenarios if s.check == check.id)


@dataclass(frozen=True)
class Part:
    """One sitting of a lesson: a source file, and the two notebooks that are built from it."""

    lesson: str
    """Name of the lesson, which is the folder of the files: `01_five_line_step`."""
    name: str
    """Stem of the files: `2_two_more_lines`. The number in front gives the order."""
    title: str
    """Its first heading."""
    minutes: int
    """Estimated minutes to read, predict and run; exercises are not included."""
    exercises: tuple[str, ...] = ()
    """Names of the graded functions in it, in their order."""

    @property
    def source(self) -> Path:
        """Path of the source, from which both notebooks are built."""
        return paths.solutions_path(self.lesson, f"{self.name}.py")

    @property
    def executed(self) -> Path:
        """Path of the notebook with solutions and outputs."""
        return self.source.with_suffix(".ipynb")

    @property
    def notebook(self) -> Path:
        """Path of the notebook that a learner opens."""
        return paths.lessons_path(self.lesson, f"{self.name}.ipynb")

    @property
    def place(self) -> str:
        """Path of the notebook below a learner's folder: `01_five_line_step/1_five_lines.ipynb`."""
        return f"{self.lesson}/{self.name}.ipynb"

    def cells(self) -> list[dict[str, Any]]:
        """Return the cells of the notebook that a learner opens, as nbformat stores them."""
        return list(json.loads(self.notebook.read_text(encoding="utf-8"))["cells"])


@dataclass(frozen=True)
class Lesson:
    """One lesson: its parts and the exercises in them."""

    id: str
    name: str
    module: str
    """Package of its drivers, under `grader/exercises/`: `five_line_step`."""
    title: str
    minutes: int
    """Estimated minutes to read, predict and run; exercises are not included."""
    exercises: tuple[Exercise, ...]
    """All graded functions in the order of the parts, warm-ups and bonus tasks included."""
    predictions: tuple[Prediction, ...] = ()
    needs: tuple[str, ...] = ()
    """Ids of the lessons to take first; they come earlier in the course."""
    english: str = ""
    """Summary for the site's English page; empty if nobody has written one."""
    parts: tuple[Part, ...] = ()
    """Its notebooks, in the order in which they are taken."""

    @property
    def counted(self) -> tuple[Exercise, ...]:
        """The exercises that count for the score (no warm-ups, no bonus tasks)."""
        return tuple(exercise for exercise in self.exercises if exercise.kind == "exercise")

    @property
    def folder(self) -> Path:
        """Folder of its sources, texts and tables in `solutions/`."""
        return paths.solutions_path(self.name)

    def part_of(self, exercise: str) -> Part:
        """Return the part that holds the exercise.

        Raises:
            KeyError: it is not in this lesson.
        """
        for part in self.parts:
            if exercise in part.exercises:
                return part
        raise KeyError(exercise)

    @property
    def behaviours(self) -> Path:
        """Path of the file that says which known mistakes change which scenarios, as `grader build` measured it."""
        return self.folder / "behaviours.json"


@dataclass(frozen=True)
class Course:
    """The course: all lessons in order."""

    title: str
    tagline: str
    lessons: tuple[Lesson, ...]

    @property
    def exercises(self) -> dict[str, Exercise]:
        """Every exercise by name, in the course's order."""
        return {e.name: e for lesson in self.lessons for e in lesson.exercises}

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every part of every lesson, in order."""
        return tuple(part for lesson in self.lessons for part in lesson.parts)

    def lesson(self, key: str) -> Lesson:
        """Return the lesson with this id (`01`, `1`) or name (`01_five_line_step`).

        Raises:
            CourseError: there is no such lesson.
        """
        for lesson in self.lessons:
            if key in (lesson.id, lesson.name, lesson.id.lstrip("0")):
                return lesson
        known = ", ".join(lesson.id for lesson in self.lessons)
        raise CourseError(f"'{key}' 레슨은 없어요. 있는 레슨: {known}")

    def exercise(self, name: str) -> Exercise:
        """Return the exercise of this name.

        Raises:
            CourseError: there is no such exercise.
        """
        if name in self.exercises:
            return self.exercises[name]
        raise unknown_exercise(name, self.exercises)

    def prediction(self, name: str) -> Prediction:
        """Return the prediction of this id.

        Raises:
            CourseError: there is no such prediction.
        """
        every = {one.id: one for lesson in self.lessons for one in lesson.predictions}
        if name in every:
            return every[name]
        meant = _meant(str(name), every)
        raise CourseError(f"'{name}' 예측은 없어요.{meant} 노트북에 적혀 있던 번호를 그대로 적어 주세요.")


def unknown_exercise(name: str, known: Iterable[str]) -> CourseError:
    """Return the error for a name that no exercise has; it suggests the closest of the known names."""
    asked = with_particle(f"'{name}'", "이라는/라는")
    remedy = (
        _meant(name, known)
        or " 연습 문제의 이름은 grader progress로, 노트북에서는 progress()로 볼 수 있어요."
    )
    return CourseError(f"{asked} 연습 문제는 없어요.{remedy}")


def _meant(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the known name closest to a misspelt one; empty if none is close."""
    near = closest(name, known)
    return f" 혹시 '{near}'인가요?" if near else ""
