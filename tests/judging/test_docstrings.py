"""What a docstring promises, some scenario needs: `[[promises]]` names mistakes that break each sentence."""

import ast

import pytest

from grader.course.course import Exercise
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from tests.judging.examined import COURSE

EXERCISES = [pytest.param(exercise, id=name) for name, exercise in COURSE.exercises.items()]


def docstrings(exercise: Exercise) -> str:
    """The docstring of the exercise and those of its methods, with single spaces."""
    definition = ast.parse(exercise_source(exercise)).body[0]
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    methods = [node for node in definition.body if isinstance(node, ast.FunctionDef)]
    of = [definition, *methods] if isinstance(definition, ast.ClassDef) else [definition]
    return " ".join(" ".join((ast.get_docstring(node) or "").split()) for node in of)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_sentence_is_a_promise(exercise: Exercise) -> None:
    """Nothing is left of the docstring once they are taken away, each once."""
    rest = docstrings(exercise)
    for promise in sorted(exercise.promises, key=lambda promise: -len(promise.says)):
        says = " ".join(promise.says.split())
        assert says in rest, f"not in the docstring: {says}"
        rest = rest.replace(says, "", 1)
    assert not rest.split(), "without [[promises]] in its TOML"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_promise_is_broken_by_a_mistake_that_a_scenario_shows(exercise: Exercise) -> None:
    """The table says so; where it has not been measured, the mistake is played."""
    its = cached_reference(exercise.name, 1)
    usual = {variant.mistake.id: variant for variant in its.variants if variant.number == 0}
    scenarios = [scenario.name for scenario in exercise.driver.scenarios]
    for promise in exercise.promises:
        assert bool(promise.broken_by) is not bool(promise.given), promise.says
        for mistake in promise.broken_by:
            assert any(its.behaviour(usual[mistake], name) for name in scenarios), (promise.says, mistake)
