"""Measure in which scenarios known mistakes behave alike, for `solutions/<lesson>/behaviours.json`.

In each scenario, behaviour 0 is the solution's; every variant of a mistake gets the number of the first earlier
program that behaves the same, or a new number.
"""

from collections.abc import Collection

from grader.course.course import Exercise, Lesson
from grader.judging.behaviour_table import Behaviours, table_of
from grader.judging.compare_runs import difference, has_same_cause
from grader.judging.reference import Reference

SEED = 1
"""Any seed would do: the table only guides a search (see `grader.judging.behaviour_table`)."""


def measure(exercise: Exercise, its: Reference | None = None) -> Behaviours:
    """Play every variant of a mistake in every scenario, and number the behaviours in the order of the variants."""
    table: Behaviours = {}
    if not exercise.mistakes:
        return table
    its = its or Reference(exercise, SEED)
    for scenario in exercise.driver.scenarios:
        seen = [its.solution(scenario.name)]
        numbers = {}
        for name, source in its.sources.items():
            run = its.run(source, scenario.name)
            alike = (difference(run, other, scenario.atol, agree=has_same_cause) is None for other in seen)
            number = next((n for n, same in enumerate(alike) if same), len(seen))
            if number == len(seen):
                seen.append(run)
            numbers[name] = number
        table[scenario.name] = numbers
    return table


def measured_table(lesson: Lesson, only: Collection[str] = ()) -> dict[str, Behaviours]:
    """Measure the lesson's table anew.

    Args:
        lesson: whose exercises are measured.
        only: names of exercises to measure; the others keep what the lesson's file says. Empty: measure all.
    """
    kept = (
        table_of(lesson.behaviours.read_text(encoding="utf-8")) if only and lesson.behaviours.exists() else {}
    )
    return {
        exercise.name: kept[exercise.name] if exercise.name in kept.keys() - set(only) else measure(exercise)
        for exercise in lesson.exercises
    }
