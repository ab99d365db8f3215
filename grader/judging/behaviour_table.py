"""Read the table of which known mistakes change what: `solutions/<lesson>/behaviours.json`, made by `grader build`.

For each scenario of each exercise it says which ways to make a mistake behave alike. A diagnosis then plays one of
them instead of all, and none that change nothing there. The table only decides what is played first and what is left
out: no mistake is ever named without a play of its own.
"""

import json
from collections.abc import Mapping
from functools import cache

from grader.course.course import Exercise
from grader.course.reading import load_course

Behaviours = dict[str, dict[str, int]]
"""For each scenario, the number of each way's behaviour by the way's name; 0 is the solution's."""


def behaviours_of(exercise: Exercise) -> Behaviours:
    """Return the exercise's part of the table; empty if it was not measured yet."""
    return _table(exercise.lesson).get(exercise.name, {})


@cache
def _table(lesson: str) -> dict[str, Behaviours]:
    """Return a lesson's table, by exercise. Cached: do not modify."""
    try:
        text = load_course().lesson(lesson).behaviours.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return table_of(text)


def table_of(text: str) -> dict[str, Behaviours]:
    """Parse the text of a lesson's table: the behaviours of each exercise."""
    return {
        exercise: {
            scenario: {way: numbers[column] for way, numbers in entry["ways"].items()}
            for column, scenario in enumerate(entry["scenarios"])
        }
        for exercise, entry in json.loads(text).items()
    }


def text_of(table: Mapping[str, Behaviours]) -> str:
    """Write a lesson's table as text, one line for each way to make a mistake: a diff shows what an edit changed."""
    return "{\n" + ",\n".join(_entry(name, behaviours) for name, behaviours in table.items()) + "\n}\n"


def _entry(exercise: str, behaviours: Behaviours) -> str:
    names = list(next(iter(behaviours.values()), {}))
    lines = ",\n".join(
        f"   {_json(name)}: {_json([numbers[name] for numbers in behaviours.values()])}" for name in names
    )
    ways = f"{{\n{lines}\n  }}" if lines else "{}"
    return f' {_json(exercise)}: {{\n  "scenarios": {_json(list(behaviours))},\n  "ways": {ways}\n }}'


def _json(value: str | list[str] | list[int]) -> str:
    return json.dumps(value, ensure_ascii=False)
