"""Measure in which scenarios known mistakes behave alike, for `solutions/<lesson>/behaviours.json`.

In each scenario, behaviour 0 is the solution's; every variant of a mistake gets the number of the first earlier
program that behaves the same, or a new number.
"""

from collections.abc import Collection

from grader.course.course import CourseError, Exercise, Lesson
from grader.judging.behaviour_table import Behaviours, parse_table
from grader.judging.compare_runs import difference, has_same_cause
from grader.judging.reference import Reference

SEED = 1
"""Any seed would do: the table only guides a search (see `grader.judging.behaviour_table`)."""


def measure(exercise: Exercise, its: Reference | None = None) -> Behaviours:
    """Play every variant of a mistake in every scenario, and number the behaviours in the order of the variants.

    Raises:
        CourseError: the solution fails in a scenario, or a variant behaves as the solution does in all of them.
    """
    table: Behaviours = {}
    if not exercise.mistakes:
        return table
    its = its or Reference(exercise, SEED)
    for scenario in exercise.driver.scenarios:
        seen = [its.solution_run(scenario.name)]
        if failure := seen[0].failure:
            raise CourseError(
                f"{exercise.name}: 정답이 시나리오 {scenario.name!r}에서 예외를 내요. "
                f"{failure.type}: {failure.message}. 드라이버나 정답을 고쳐 주세요."
            )
        numbers = {}
        for name, source in its.sources.items():
            run = its.complete_run(source, scenario.name)
            alike = (difference(run, other, scenario.atol, agree=has_same_cause) is None for other in seen)
            number = next((n for n, same in enumerate(alike) if same), len(seen))
            if number == len(seen):
                seen.append(run)
            numbers[name] = number
        table[scenario.name] = numbers
    if idle := [name for name in its.sources if not any(numbers[name] for numbers in table.values())]:
        raise CourseError(
            f"{exercise.name}: 정답과 똑같이 움직이는 실수가 있어요: {', '.join(idle)}. "
            "edits를 고치거나, 다른 점이 드러나는 시나리오를 드라이버에 더해 주세요."
        )
    return table


def measured_table(lesson: Lesson, only: Collection[str] = ()) -> dict[str, Behaviours]:
    """Measure the lesson's table anew.

    Args:
        lesson: whose exercises are measured.
        only: names of exercises to measure; the others keep what the lesson's file says. Empty: measure all.
    """
    kept = (
        parse_table(lesson.behaviours.read_text(encoding="utf-8"))
        if only and lesson.behaviours.exists()
        else {}
    )
    return {
        exercise.name: kept[exercise.name] if exercise.name in kept.keys() - set(only) else measure(exercise)
        for exercise in lesson.exercises
    }
