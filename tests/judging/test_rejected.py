"""Other people's ways to be wrong (tests/rejected): none passes, and what has a name is told it."""

import pytest

from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from tests.judging.examined import BY_COMMAND, COURSE, examined, named
from tests.sample_programs import Sample, samples


def _marks(number: int, sample: Sample) -> object:
    """CI tries every third; the quick run those of lesson 01 that one mistake explains: pairs take seconds each."""
    expect = sample.header["expect"]
    if COURSE.exercise(sample.exercise).lesson == "01" and expect and "+" not in expect:
        return ()
    return pytest.mark.full if number % 3 == 0 else BY_COMMAND


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(sample, id=str(sample), marks=_marks(number, sample))
        for number, sample in enumerate(samples("rejected"))
    ],
)
def test_mistake_is_named_in_another_style(sample: Sample) -> None:
    expect = sample.header["expect"]
    program = load_program(sample.text, name="wrong_style")
    try:
        its = cached_reference(sample.exercise, 1)
        trace = play(its.exercise.driver, program, seed=its.seed)
    finally:
        program.unload()
    verdict, diagnosis = examined(trace, its)
    assert verdict.status != "passed"
    if expect:  # otherwise it need only fail: nobody has given it a name yet
        assert sorted(named(diagnosis)) == sorted(expect.split("+"))
