"""Read and write `solutions/<lesson>/behaviours.json`, the table that says which known mistakes behave alike.

`grader build` measures the table once, by playing every variant of every known mistake in every scenario. The search
for a submission's mistakes then plays only one of the variants that behave alike in a scenario, and none that change
nothing there. The table decides only which programs need not be played: a mistake is never named without playing a
program that makes it.

In the file, the key `ways` holds the variants of all mistakes, each with one number for each scenario:

    "train_step": {
      "scenarios": ["sgd", "adamw", "modes"],
      "ways": {
       "missing-backward": [2, 2, 1],
       "step-before-backward": [2, 2, 1],
       "step-before-backward/1": [3, 4, 1]

The first two behave alike everywhere, and all three do in `modes`.
"""

import json
from collections.abc import Mapping
from functools import cache

from grader.course.course import Exercise
from grader.course.reading import load_course

Behaviours = dict[str, dict[str, int]]
"""Name of the scenario -> name of the variant -> number of its behaviour there.

In one scenario, variants with equal numbers behave alike, and 0 is the solution's behaviour. Numbers of different
scenarios have nothing to do with each other.
"""


def behaviours_of(exercise: Exercise) -> Behaviours:
    """Return the exercise's behaviours; empty if they have not been measured yet. Do not modify them."""
    return _table_of_lesson(exercise.lesson).get(exercise.name, {})


def parse_table(text: str) -> dict[str, Behaviours]:
    """Return the behaviours of a lesson's exercises, by name of the exercise, from the text of the file."""
    return {
        exercise: {
            scenario: {variant: numbers[column] for variant, numbers in entry["ways"].items()}
            for column, scenario in enumerate(entry["scenarios"])
        }
        for exercise, entry in json.loads(text).items()
    }


def format_table(table: Mapping[str, Behaviours]) -> str:
    """Return the text of the file, with one line for each variant, so that a diff shows which behaviours changed."""
    entries = (_format_exercise(exercise, behaviours) for exercise, behaviours in table.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


@cache
def _table_of_lesson(lesson: str) -> dict[str, Behaviours]:
    """Return the behaviours of a lesson's exercises, by name of the exercise. Cached: do not modify."""
    try:
        text = load_course().lesson(lesson).behaviours.read_text(encoding="utf-8")
    except FileNotFoundError:  # a new lesson: `Reference.behaviour` plays its mistakes instead
        return {}
    return parse_table(text)


def _format_exercise(exercise: str, behaviours: Behaviours) -> str:
    """Return one exercise's part of the file."""
    variants = list(next(iter(behaviours.values()), {}))  # every scenario has the same variants
    lines = ",\n".join(
        f"   {_json(name)}: {_json([numbers[name] for numbers in behaviours.values()])}" for name in variants
    )
    ways = f"{{\n{lines}\n  }}" if lines else "{}"
    return f' {_json(exercise)}: {{\n  "scenarios": {_json(list(behaviours))},\n  "ways": {ways}\n }}'


def _json(value: str | list[str] | list[int]) -> str:
    """Return a value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False)
