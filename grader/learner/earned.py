"""Work out what a check or prediction earned the learner: XP, level, achievements, time taken, and where to go on."""

import ast
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.course import Course, Exercise
from grader.course.feedback import Feedback, Repair
from grader.learner.next_section import next_exercise
from grader.learner.overview import NextExercise, duration, locate_exercise
from grader.learner.progress import Progress
from grader.learner.rewards import Achievement, Standing, load_rewards, standing
from grader.report.hint_ladder import hints_by_mistake


@dataclass(frozen=True)
class Gain:
    """What one check, clinic case or prediction earned."""

    first: bool
    """True for the exercise's first pass."""
    earned: tuple[tuple[str, int], ...] = ()
    """What XP were given for, in Korean, and how many."""
    level: Standing | None = None
    """The standing with the new level, if a new level was reached."""
    achievements: tuple[Achievement, ...] = ()

    @property
    def xp(self) -> int:
        """XP earned in all."""
        return sum(xp for _, xp in self.earned)

    @property
    def lines(self) -> tuple[str, ...]:
        """The gain as Korean sentences, the XP in the first."""
        found = (
            [f"+{self.xp} XP ({', '.join(f'{name} {xp}' for name, xp in self.earned)})"] if self.xp else []
        )
        if self.level is not None:
            found.append(f"레벨 {self.level.number} 「{self.level.level.name}」에 올랐어요.")
        found += [f"새 업적 「{achievement.title}」: {achievement.text}" for achievement in self.achievements]
        return tuple(found)


def added(gains: Sequence[Gain]) -> Gain:
    """Return what several checks earned together, to be told in one place."""
    levels = [gain.level for gain in gains if gain.level is not None]
    won = tuple(achievement for gain in gains for achievement in gain.achievements)
    earned = Counter[str]()
    for gain in gains:
        earned.update(dict(gain.earned))
    first = any(gain.first for gain in gains)
    return Gain(first, tuple(earned.items()), levels[-1] if levels else None, won)


def recorded_check(learner: Progress, feedback: Feedback, source: str, repair: Repair) -> Gain:
    """Record a check and return what it earned.

    A check of the untouched starter is not recorded. Neither is one of the same definition with the same result as in
    the check before it: it is no new attempt.

    Args:
        learner: the progress to record in.
        feedback: the check's result.
        source: text of the learner's file or cell.
        repair: when the card tells the repair; what it tells is no hint any more.
    """
    if not feedback.begun:
        return Gain(False)
    name, passed = feedback.exercise, feedback.status == "passed"
    before, earlier = standing(learner.history), learner.history.exercise(name).ever_passed
    calls = load_rewards().orders.get(name, ()) if passed else ()
    order = order_of_calls(source, name, calls) if calls else ""
    road = hints_by_mistake(feedback, repair)
    text, known = fingerprint(source, name), learner.history.exercise(name)
    if (known.last_check, known.road) == ((text, passed, tuple(feedback.mistake_ids)), road):
        return Gain(False)
    learner.record_check(name, passed, feedback.mistake_ids, order, road, text)
    if not passed:
        return Gain(False)
    return gain_since(learner, before, first=not earlier)


def gain_since(learner: Progress, before: Standing, *, first: bool) -> Gain:
    """Return what the learner has gained since `before`, and record new achievements as shown."""
    after = standing(learner.history)
    # Includes those won by predictions since the last pass.
    untold = after.won - learner.history.achievements.keys()
    new = tuple(a for a in load_rewards().achievements if a.id in untold)
    learner.record_achievements(a.id for a in new)
    level = after if after.number > before.number else None
    more = ((name, xp - before.earned[name]) for name, xp in after.earned.items())
    return Gain(first, tuple((name, xp) for name, xp in more if xp), level, new)


@dataclass(frozen=True)
class PassNotes:
    """Texts shown below a pass, besides the reason why it passed."""

    lesson: str
    """How far the learner is in the lesson; empty for a warm-up."""
    time: str
    """Time and checks from the first check to this first pass; all XP if it passed before."""
    gain: tuple[str, ...]
    following: NextExercise | None

    @property
    def lines(self) -> tuple[str, ...]:
        """The notes as plain text."""
        onward = "" if self.following is None else f"다음: {describe(self.following)}"
        return tuple(filter(None, (self.lesson, *self.gains, onward)))

    @property
    def gains(self) -> tuple[str, ...]:
        """XP and time in one line, then a new level and achievements."""
        first = " · ".join(filter(None, (*self.gain[:1], self.time)))
        return tuple(filter(None, (first, *self.gain[1:])))


def pass_notes(course: Course, exercise: Exercise, learner: Progress, gain: Gain) -> PassNotes:
    """Return the notes on a pass that was just recorded."""
    lesson = course.lesson(exercise.lesson)
    done = sum(e.name in learner.passed for e in lesson.counted)
    every = len(lesson.counted)
    following = next_exercise(course, learner.passed)
    onward = None if following is None else locate_exercise(course, following)
    if exercise.kind == "warmup":  # it is none of those that are counted
        standing_ = ""
    elif done < every:
        standing_ = f"레슨 {lesson.id}의 연습 함수 {every}개 가운데 {done}개를 통과했어요."
    else:
        standing_ = f"레슨 {lesson.id}의 연습 함수 {every}개를 모두 통과했어요."
    so_far = learner.history.exercise(exercise.name)
    if not gain.first:
        time = f"전에 통과한 연습이에요 (지금까지 {standing(learner.history).xp:,} XP)"
    else:
        time = (
            "첫 확인에서 바로 통과"
            if so_far.tries == 1
            else f"첫 확인부터 {_time(so_far.minutes)}, 확인 {so_far.tries}번 만에 통과"
        )
    return PassNotes(standing_, time, gain.lines, onward)


def describe(following: NextExercise) -> str:
    """Return where an exercise is, as in `연습 2. train_step_extras (레슨 01 한 train step, 약 15분)`."""
    minutes = "" if following.exercise.minutes is None else f", 약 {following.exercise.minutes}분"
    return f"{following.section.heading} (레슨 {following.lesson.id} {following.lesson.title}{minutes})"


def fingerprint(source: str, exercise: str) -> str:
    """Return a short hash of an exercise's last definition in a program; of the whole program if it has none."""
    definition = _last_definition(source, exercise)
    own = None if definition is None else ast.get_source_segment(source, definition)
    text = source if own is None else own
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def order_of_calls(source: str, function: str, calls: Sequence[str]) -> str:
    """Return the named calls of a function in the order of their evaluation, joined by spaces.

    If several orders are right, learners may collect them.

    Args:
        source: a whole file or cell.
        function: name of the function; of several definitions the last one counts.
        calls: names of functions and methods (`zero_grad` also matches `opt.zero_grad`).

    Returns:
        Empty unless each of them is called exactly once, in statements directly in the function's body.
    """
    definition = _last_definition(source, function)
    if not isinstance(definition, ast.FunctionDef):
        return ""
    made: list[tuple[int, int, str]] = []
    for statement in definition.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
            made += [
                (node.end_lineno or 0, node.end_col_offset or 0, name)
                for node in ast.walk(statement)
                if isinstance(node, ast.Call) and (name := _called_name(node.func)) in calls
            ]
    # Inner calls end, and are evaluated, before the call around them.
    names = [name for _, _, name in sorted(made)]
    return " ".join(names) if sorted(names) == sorted(calls) else ""


def _last_definition(source: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """Return the last top-level function or class of this name; None if there is none, or if the text is no program."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return next((n for n in reversed(tree.body) if isinstance(n, kinds) and n.name == name), None)


def _called_name(function: ast.expr) -> str:
    """Return the name of a called function or method; empty for any other expression."""
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def _time(minutes: float) -> str:
    """Return a duration in Korean; less than a minute in seconds, because learners have counted them."""
    return duration(minutes) if minutes >= 1 else f"{max(1, round(60 * minutes))}초"
