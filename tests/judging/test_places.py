"""The line at which a card points is the one at which a tutor would.

Programs of `tests/placed/<exercise>/` carry the tutor's finger as a comment: `# here: <mistake>` on the line that is
wrong, `# before: <mistake>` or `# after: <mistake>` on the neighbour of what is missing.
"""

import contextlib
import io
import re
from functools import cache

import pytest

from grader.course.feedback import Feedback, NamedMistake
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from tests.judging.test_first_tries import program_of
from tests.sample_programs import Sample, samples

PLACED = samples("placed")
_LABEL = re.compile(r"# (here|before|after): (.*)")


def pointed_at(text: str) -> dict[str, tuple[str, int]]:
    """Side and line by mistake, as a program's comments say."""
    lines = enumerate(text.split("\n"), start=1)
    found = [(label, number) for number, line in lines if (label := _LABEL.search(line))]
    return {id_: (label[1], number) for label, number in found for id_ in label[2].split(", ")}


def place(named: NamedMistake) -> tuple[str, int | None]:
    """Side and line at which a card points."""
    return "before" if named.before else "after" if named.after else "here", named.line


@cache
def told(sample: Sample) -> Feedback:
    """What is said of a program, without attempts at a repair."""
    exercise = load_course().exercise(sample.exercise)
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(exercise.driver, program_of(sample.text, exercise), seed=SEED)
    return assess(exercise, trace, cached_reference(sample.exercise, SEED), LearnerCode(sample.text))


@pytest.mark.parametrize("sample", PLACED, ids=str)
def test_a_card_points_where_a_tutor_would(sample: Sample) -> None:
    found = {id_: place(named) for named in told(sample).diagnosis.mistakes for id_ in named.ids}
    expected = pointed_at(sample.text)
    assert expected
    assert found.items() >= expected.items()
