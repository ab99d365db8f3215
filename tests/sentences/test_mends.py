"""What the last hint says of mending a mistake (`mend`) is true of any learner's code, and no answer in disguise."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from grader.course.course import Exercise, Mistake
from grader.course.reading import load_course
from grader.judging.solution import exercise_source

MOST_CHARACTERS = 180
"""A sentence or two: more is read by nobody who has asked for the third hint."""
EXERCISES = [exercise for lesson in load_course().lessons for exercise in lesson.exercises]


def _mends(mistake: Mistake) -> Iterator[tuple[str, str]]:
    """Yield what is told of mending the mistake, with the hint that is told before it."""
    yield mistake.mend, mistake.hint
    for wording in mistake.wordings:
        if wording.title:  # without texts, the mistake's own are told
            yield wording.mend, wording.hint


@cache
def _only_in_the_solution(exercise: Exercise) -> frozenset[str]:
    """Return the names that the solution gives to what it computes; a learner may call the same by another name."""
    tree = ast.parse(exercise_source(exercise))
    names = [
        node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return frozenset({name.id for name in names} - arguments)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_every_mistake_says_how_to_mend_it(exercise: Exercise) -> None:
    silent = {mistake.id for mistake in exercise.mistakes if not all(mend for mend, _ in _mends(mistake))}
    assert not silent


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_how_to_mend_it_is_short_and_says_something_new(exercise: Exercise) -> None:
    """It is a request in 해요체, not a question, and no sentence of it was in the hint before or on the card."""
    for mistake in exercise.mistakes:
        for mend, hint in _mends(mistake):
            assert len(mend) <= MOST_CHARACTERS, mend
            assert not mend or (mend.endswith("요.") and "?" not in mend), mend
            told = f"{hint} {mistake.title} {mistake.explain}"
            assert not mend or (mend not in told and hint not in mend), mend


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_how_to_mend_it_needs_no_name_of_the_solution(exercise: Exercise) -> None:
    """In code between backticks stand arguments, names of libraries, and what everybody writes; a name that only the
    solution has would be read as a demand to have it."""
    for mistake in exercise.mistakes:
        for mend, _ in _mends(mistake):
            for code in re.findall("`([^`]+)`", mend):
                words = set(re.findall(r"(?<![\w.])[^\W\d]\w*", code))
                made = {
                    word
                    for word in words
                    if re.search(rf"\b{word}\b[^=]*(?<![=!<>])=(?!=)|for {word}\b", code)
                }
                assert not (words & _only_in_the_solution(exercise)) - made, (mistake.id, mend)
