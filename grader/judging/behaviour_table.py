"""Read and format `solutions/<lesson>/behaviours.json`: which variants of known mistakes behave alike, by scenario.

`grader build` writes the table: `authoring/measured_behaviour.py` plays every variant of every known mistake in every
scenario. `Reference.behaviour` reads it, so that it is known without a play in which scenarios a variant differs from
the solution, and from other variants. Most of all, this saves plays in the search for a submission's mistakes
(`agreement_oracle`). Mistakes that behave alike everywhere are told apart by the events of their runs (`tie_break`) or
by the learner's text (`twins_by_text`), if at all.

Nothing is added by hand: `grader build --tables EXERCISE` measures a new mistake or scenario.

In the file of a made-up lesson, each variant has one number for each scenario:

    {
     "halve": {
      "scenarios": ["even", "odd", "zero"],
      "variants": {
       "rounds-up": [0, 1, 0],
       "doubles": [1, 2, 0],
       "doubles/1": [1, 2, 1]
      }
     }
    }

`rounds-up` differs from the solution in `odd` only. The two variants of `doubles` behave alike in `even` and in `odd`,
and in `zero` only the second differs from the solution.
"""

import json
import re
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
    """Return the exercise's behaviours; empty if they have not been measured yet. Cached: do not modify."""
    return _read_lesson_table(exercise.lesson).get(exercise.name, {})


def parse_table(text: str) -> dict[str, Behaviours]:
    """Return the behaviours of a lesson's exercises, by name of the exercise, from the text of the file."""
    return {
        exercise: {
            scenario: {variant: numbers[column] for variant, numbers in entry["variants"].items()}
            for column, scenario in enumerate(entry["scenarios"])
        }
        for exercise, entry in json.loads(text).items()
    }


def format_table(table: Mapping[str, Behaviours]) -> str:
    """Return the text of the file, with one line for each variant, so that a diff shows which behaviours changed."""
    entries = {exercise: _entry(behaviours) for exercise, behaviours in table.items()}
    text = json.dumps(entries, ensure_ascii=False, indent=1)
    # `indent` puts each element of a list on its own line: join them again. No name contains a bracket.
    return re.sub(r"\[.*?\]", _in_one_line, text, flags=re.DOTALL) + "\n"


@cache
def _read_lesson_table(lesson: str) -> dict[str, Behaviours]:
    """Return the behaviours of a lesson's exercises, by name of the exercise. Cached: do not modify."""
    try:
        text = load_course().lesson(lesson).behaviours.read_text(encoding="utf-8")
    except FileNotFoundError:  # a new lesson: `Reference.behaviour` plays its mistakes instead
        return {}
    return parse_table(text)


def _entry(behaviours: Behaviours) -> dict[str, object]:
    """Return one exercise's part of the file."""
    variants = next(iter(behaviours.values()), {})  # every scenario has the same variants
    return {
        "scenarios": list(behaviours),
        "variants": {name: [numbers[name] for numbers in behaviours.values()] for name in variants},
    }


def _in_one_line(found: re.Match[str]) -> str:
    """Return the JSON list that was found, in one line."""
    return json.dumps(json.loads(found[0]), ensure_ascii=False)
