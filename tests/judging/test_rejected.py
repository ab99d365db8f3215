"""Other people's ways to be wrong (tests/rejected): none passes, and what has a name is told it."""

import tomllib
from pathlib import Path

import pytest

from grader.judging.reference import reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.submission.submission import read_submission
from tests.judging.examined import COURSE, examined, named
from tests.places import TESTS


def _edited_styles() -> list[object]:
    params = []
    for path in sorted((TESTS / "rejected").glob("*.toml")):
        for name, rows in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name not in COURSE.exercises:  # of a lesson that has not joined the course yet
                continue
            for number, row in enumerate(rows):
                base = TESTS / "accepted" / name / f"{row['base']}.py"
                label = f"{name}-{number}-{row['expect']}"
                values = (name, base, row["edits"], row["expect"])
                params.append(pytest.param(*values, id=label, marks=_marks(name, row["expect"])))
    for path in sorted((TESTS / "rejected").glob("*/*.py")):
        expect = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# expect: ")
        name = path.parent.name
        label = f"{name}-{path.stem}-{expect}"
        params.append(pytest.param(name, path, [], expect, id=label, marks=_marks(name, expect)))
    return params


def _marks(exercise: str, expect: str) -> object:
    """The quick run tries those of lesson 01 that one mistake explains: pairs take seconds each."""
    quick = COURSE.exercise(exercise).lesson == "01" and expect and "+" not in expect
    return () if quick else pytest.mark.full


@pytest.mark.parametrize(("exercise", "base", "edits", "expect"), _edited_styles())
def test_mistake_is_named_in_another_style(
    exercise: str, base: Path, edits: list[list[str]], expect: str
) -> None:
    submission = read_submission(base, tuple(COURSE.exercises))
    source = submission.source_for(exercise)
    assert source is not None
    text = source.text
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    program = load_program(text, name="wrong_style")
    try:
        its = reference(exercise, 1)
        trace = play(its.exercise.driver, program, seed=its.seed)
    finally:
        program.unload()
    verdict, diagnosis = examined(trace, its)
    assert verdict.status != "passed"
    if expect:  # otherwise it need only fail: nobody has given it a name yet
        assert sorted(named(diagnosis)) == sorted(expect.split("+"))
