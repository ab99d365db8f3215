"""Compute the numbers that the rules in `lessons/rewards.toml` refer to, by name, from history and course."""

from collections.abc import Iterable
from itertools import groupby

from grader.course.course import Course, Exercise
from grader.learner.history import History


def facts(history: History, course: Course) -> dict[str, float]:
    """Compute every fact.

    Returns:
        `passed`, `passed_warmup`, `passed_bonus`: number of exercises of each kind that have ever passed.
            `passed_with_answer`, `passed_without_answer`: those of `passed` before whose first pass the answer was
            shown, and the others. Over all kinds: `passed_without_hints` (bonus tasks have no hints and do not
            count); without those whose answer was shown: `passed_first_try`, `most_tries` (checks until a pass).
            `course`, `bonus`, `lesson.01` …: percentage of their exercises that have passed. `lessons_without_hints`.
            `predictions` (whose answer was revealed after the choice), `predictions_right`, `predictions_in_a_row`.
            `mistakes_met`, `mistakes_mastered`: those first made before the exercise passed. `clinic_mended`,
            `clinic_real`: mistakes and real bugs found in the clinic. `days`, `longest_streak`, `minutes`.
            `orders.NAME`: number of orders of its calls with which the exercise has passed.
    """
    every = list(course.exercises.values())
    passed = [e for e in every if history.exercise(e.name).ever_passed]
    counted = [e for lesson in course.lessons for e in lesson.counted]
    kinds = {kind: [e for e in passed if e.kind == kind] for kind in ("exercise", "warmup", "bonus")}
    own = [e for e in passed if not history.exercise(e.name).with_answer]
    met = [mistake for mistake in history.mistakes.values() if not mistake.after_a_pass]
    alone = [e for e in passed if e.hints and not history.exercise(e.name).hints_used]
    found: dict[str, float] = {
        "passed": len(kinds["exercise"]),
        "passed_with_answer": len([e for e in kinds["exercise"] if e not in own]),
        "passed_without_answer": len([e for e in kinds["exercise"] if e in own]),
        "passed_warmup": len(kinds["warmup"]),
        "passed_bonus": len(kinds["bonus"]),
        "passed_first_try": sum(history.exercise(e.name).tries == 1 for e in own),
        "passed_without_hints": len(alone),
        "most_tries": max((history.exercise(e.name).tries for e in own), default=0),
        "course": percent(counted, passed),
        "bonus": percent([e for e in every if e.kind == "bonus"], passed),
        "lessons_without_hints": sum(percent(lesson.counted, alone) == 100 for lesson in course.lessons),
        "predictions": len(history.verdicts),
        "predictions_right": sum(history.verdicts.values()),
        "predictions_in_a_row": max(
            (len(list(run)) for right, run in groupby(history.verdicts.values()) if right), default=0
        ),
        "mistakes_met": len(met),
        "mistakes_mastered": sum(mistake.once_mastered for mistake in met),
        "clinic_mended": len(history.mended),
        "clinic_real": len(history.real_bugs),
        "days": len(history.days),
        "longest_streak": history.longest_streak,
        "minutes": history.seconds / 60,
    }
    found |= {f"lesson.{lesson.id}": percent(lesson.counted, passed) for lesson in course.lessons}
    found |= {f"orders.{e.name}": len(history.exercise(e.name).orders) for e in every}
    return found


def in_percent(fact: str) -> bool:
    """Return True if a fact is a percentage."""
    return fact in ("course", "bonus") or fact.startswith("lesson.")


def percent(exercises: Iterable[Exercise], passed: Iterable[Exercise]) -> int:
    """Return the percentage of `exercises` that are in `passed`, rounded down; 0 if `exercises` is empty."""
    names, done = {e.name for e in exercises}, {e.name for e in passed}
    return 100 * len(names & done) // len(names) if names else 0
