"""Collect everything that the progress page shows in one object, which notebook and terminal draw."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from grader.course.course import Course, Exercise, Lesson
from grader.course.reading import load_course
from grader.learner.history import ExerciseHistory
from grader.learner.next_section import Section, next_exercise, section
from grader.learner.progress import Progress
from grader.learner.reward_facts import in_percent, percent
from grader.learner.rewards import Achievement, Standing, load_rewards, standing, won_at


@dataclass(frozen=True)
class NextExercise:
    """The next exercise, with its place in the course."""

    exercise: Exercise
    lesson: Lesson
    section: Section


@dataclass(frozen=True)
class LessonRow:
    """One lesson on the page."""

    lesson: Lesson
    percent: int
    exercises: tuple[tuple[Exercise, ExerciseHistory], ...]

    @property
    def begun(self) -> bool:
        """True if any of its exercises was checked, or a hint of it shown, or put back after a pass."""
        return any(history.checks or history.hints_shown or history.is_reset for _, history in self.exercises)

    @property
    def passed(self) -> int:
        """Number of graded exercises that have passed since their last reset."""
        return sum(history.passed for exercise, history in self.exercises if exercise in self.lesson.counted)


@dataclass(frozen=True)
class MistakeRow:
    """One mistake that the learner has made."""

    title: str
    exercise: str
    """Title of the exercise."""
    mastered: bool
    told: bool
    """True if its exercise has passed, and that did not overcome it: what to write was shown."""
    times: int


@dataclass(frozen=True)
class AchievementRow:
    """One achievement, won or not."""

    achievement: Achievement
    won: bool
    on: str
    """Day on which it was won, `2026-11-23`; empty if not known."""
    share_done: float
    """How far the learner has come towards it, 0 to 1."""
    count: str
    """`3/10` or `62%`; empty if the rule is about several facts."""


@dataclass(frozen=True)
class Overview:
    """Everything on the progress page."""

    course: Course
    standing: Standing
    following: NextExercise | None
    lessons: tuple[LessonRow, ...]
    mistakes: tuple[MistakeRow, ...]
    """Open ones first, each group with the most recently met first."""
    achievements: tuple[AchievementRow, ...]
    """Won ones first, then the others by how near they are."""
    reset: int
    """Number of exercises that were put back after a pass and have not passed again."""
    streak: int
    days: int
    minutes: int
    predictions: int
    right: int
    notices: tuple[str, ...]


def overview(learner: Progress) -> Overview:
    """Collect the progress page of this learner.

    Raises:
        CourseError: a file of the course has invalid content.
    """
    course, history = load_course(), learner.history
    reached = standing(history)
    exercise = next_exercise(course, learner.passed)
    return Overview(
        course,
        reached,
        None if exercise is None else locate_exercise(course, exercise),
        tuple(_lesson_row(lesson, learner) for lesson in course.lessons),
        tuple(sorted(_mistake_rows(course, learner), key=lambda row: row.mastered)),
        tuple(sorted(_achievement_rows(learner, reached), key=lambda row: (not row.won, -row.share_done))),
        sum(entry.is_reset for name, entry in history.exercises.items() if name in course.exercises),
        learner.streak(),
        len(history.days),
        round(history.seconds / 60),
        len(history.verdicts),
        sum(history.verdicts.values()),
        learner.take_notices(),
    )


def locate_exercise(course: Course, exercise: Exercise) -> NextExercise:
    """Return the exercise with its lesson and section."""
    lesson = course.lesson(exercise.lesson)
    return NextExercise(exercise, lesson, section(lesson, exercise.name))


def duration(minutes: float) -> str:
    """Return a duration in Korean, at least one minute: `1시간 5분`."""
    hours, left = divmod(max(1, round(minutes)), 60)
    return " ".join(part for part in (f"{hours}시간" if hours else "", f"{left}분" if left else "") if part)


def _lesson_row(lesson: Lesson, learner: Progress) -> LessonRow:
    passed = [e for e in lesson.exercises if e.name in learner.passed]
    entries = tuple((e, learner.history.exercise(e.name)) for e in lesson.exercises)
    return LessonRow(lesson, percent(lesson.counted, passed), entries)


def _mistake_rows(course: Course, learner: Progress) -> Iterator[MistakeRow]:
    for made in reversed(learner.history.mistakes.values()):
        exercise = course.exercises.get(made.exercise)
        if exercise is None:  # an exercise of another edition
            continue
        title = next((m.title for m in exercise.mistakes if m.id == made.id), None)
        if title is not None:
            told = made.answer_shown and not made.mastered and learner.history.exercise(made.exercise).passed
            yield MistakeRow(title, exercise.title, made.mastered, told, made.times)


def _achievement_rows(learner: Progress, reached: Standing) -> Iterator[AchievementRow]:
    at = won_at(learner.events) if reached.won - learner.history.achievements.keys() else {}
    at |= learner.history.achievements
    for achievement in load_rewards().achievements:
        day = datetime.fromtimestamp(at[achievement.id]).date().isoformat() if achievement.id in at else ""
        count = ""
        if len(achievement.when) == 1:
            ((fact, number),) = achievement.when.items()
            so_far = min(reached.known[fact], number)
            count = f"{so_far:g}%" if in_percent(fact) else f"{so_far:g}/{number:g}"
        yield AchievementRow(
            achievement, achievement.id in reached.won, day, achievement.share_done(reached.known), count
        )
