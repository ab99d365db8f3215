"""Read the table of which known mistakes change what: `solutions/<lesson>/behaviours.json`, made by `grader build`.

For each scenario of each exercise it says which ways to make a mistake behave alike. A diagnosis then plays one of
them instead of all, and none that change nothing there. The table only decides what is played first and what is left
out: no mistake is ever named without a play of its own.
"""

import json
from functools import cache

from grader.course.course import Exercise
from grader.course.reading import load_course

Behaviours = dict[str, dict[str, int]]
"""For each scenario, the number of each way's behaviour by the way's name; 0 is the solution's."""


def behaviours_of(exercise: Exercise) -> Behaviours:
    """Return the exercise's part of the table; empty if it has not been made yet."""
    return _table(exercise.lesson).get(exercise.name, {})


@cache
def _table(lesson: str) -> dict[str, Behaviours]:
    """Return a lesson's table, by exercise. Cached: do not modify."""
    path = load_course().lesson(lesson).behaviours
    try:
        table: dict[str, Behaviours] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return table
