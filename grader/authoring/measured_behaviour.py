"""Measure in which scenarios known mistakes behave alike, for `solutions/<lesson>/behaviours.json`.

In each scenario, behaviour 0 is the solution's; every way to make a mistake gets the number of the first earlier
program that behaves the same, or a new number.
"""

import json
from collections.abc import Mapping

from grader.course.course import Exercise, Lesson
from grader.judging.behaviour_table import Behaviours
from grader.judging.judge import difference, has_same_cause
from grader.judging.reference import Reference
from grader.observe.play import Scenario
from grader.observe.trace import Run

SEED = 1
"""Any seed would do: the table only guides a search (see `grader.judging.behaviour_table`)."""


def measure(exercise: Exercise, its: Reference | None = None) -> Behaviours:
    """Play every way to make a mistake in every scenario, and number the behaviours in the order of the ways."""
    table: Behaviours = {}
    if not exercise.mistakes:
        return table
    its = its or Reference(exercise, SEED)
    for scenario in exercise.driver.scenarios:
        seen = [its.solution(scenario.name)]
        numbers = {}
        for name, source in its.sources.items():
            run = its.run(source, scenario.name)
            number = next((n for n, other in enumerate(seen) if _same(run, other, scenario)), len(seen))
            if number == len(seen):
                seen.append(run)
            numbers[name] = number
        table[scenario.name] = numbers
    return table


def _same(run: Run, other: Run, scenario: Scenario) -> bool:
    return difference(run, other, scenario.atol, agree=has_same_cause) is None


def table_text(lesson: Lesson) -> str:
    """Return the lesson's table as the text of its file: one line per scenario."""
    exercises = []
    for exercise in lesson.exercises:
        lines = ",\n".join(f"  {_words(name)}: {_words(n)}" for name, n in measure(exercise).items())
        exercises.append(f" {_words(exercise.name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(exercises) + "\n}\n"


def _words(value: str | Mapping[str, int]) -> str:
    return json.dumps(value, ensure_ascii=False)
