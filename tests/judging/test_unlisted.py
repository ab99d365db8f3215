"""Mistakes that strangers thought of as unusual: found, and pointed at, also where no name is known for them.

Each program of `tests/unlisted/<exercise>/` makes one mistake; its first lines say which one, and at which line a tutor
would point.
"""

import contextlib
import io
from collections import Counter
from functools import cache

import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.repair.add_repair import wants_repair, with_repair
from grader.judging.repair.top_level_names import import_statements
from grader.judging.solution import exercise_source, solution_source
from grader.observe.play import play
from grader.observe.program import load_program
from grader.sandbox.sandbox import Sandbox
from grader.submission.syntax import definitions
from tests.sample_programs import Sample, samples

QUICK = ("clip_global_norm", "evaluate", "sgd_update", "train_step", "zero_gradients")


@cache
def told(sample: Sample) -> Feedback:
    """What a learner reads in a notebook."""
    text = whole(sample)
    exercise, its = load_course().exercise(sample.exercise), cached_reference(sample.exercise, SEED)
    program, learner_code = load_program(text), LearnerCode(text)
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(exercise.driver, program, seed=SEED)
        feedback = assess(exercise, trace, its, learner_code)
        if not wants_repair(feedback):
            return feedback
        with _sandbox(exercise.lesson).attempts(SEED) as attempts:
            runner = attempts.for_exercise(exercise.name)
            return with_repair(feedback, exercise, trace.runs, its, learner_code, runner)


def whole(sample: Sample) -> str:
    """The program as it stands in a notebook: a training run comes with the functions of other exercises it calls."""
    if sample.exercise != "train":
        return sample.text
    lesson = load_course().exercise(sample.exercise).lesson
    own = definitions(sample.text)
    others = [
        e for e in load_course().lesson(lesson).exercises if e.name in sample.text and e.name not in own
    ]
    pieces = [exercise_source(other) for other in others]
    imports = import_statements(solution_source(lesson)).items()
    needed = [line for name, line in imports if any(name in piece for piece in pieces)]
    return "\n\n".join([sample.text, "\n".join(needed), *pieces])


@cache
def _sandbox(lesson: str) -> Sandbox:
    return Sandbox("none", lessons=(load_course().lesson(lesson).module,))


def lines(feedback: Feedback) -> list[int | None]:
    """The lines that it points at, those of names and of a repair."""
    diagnosis = feedback.diagnosis
    return [*(n.line for n in diagnosis.mistakes), *(s.line for s in diagnosis.repair)]


def counted(only: tuple[str, ...], every: int = 1) -> Counter[str]:
    """How many of these exercises' programs are caught, named, and pointed at within one line of the tutor's."""
    counts: Counter[str] = Counter()
    for sample in samples("unlisted")[::every]:
        if sample.exercise not in only:
            continue
        tutors = int(sample.header["lines"])
        feedback = told(sample)
        right = any(line is not None and abs(line - tutors) <= 1 for line in lines(feedback))
        kind = "named" if feedback.diagnosis.mistakes else "unnamed"
        counts.update(programs=1, caught=feedback.status != "passed")
        counts.update({kind: 1, f"{kind} at the line": right})
    return counts


def test_unusual_mistakes_are_caught_and_pointed_at_quickly() -> None:
    counts = counted(QUICK)
    assert counts["caught"] == counts["programs"] >= 18, counts
    assert counts["unnamed at the line"] >= 0.7 * counts["unnamed"], counts


@pytest.mark.full
def test_unusual_mistakes_are_caught_and_pointed_at() -> None:
    """The bar is what was measured, less two: all of 107 caught; of the 59 without a name 56 pointed at by a repair.

    (Of the 30 that were kept from view while the search was mended: 16 of 20 without a name, 15 of 19 before.) Every
    third one is examined here, to keep the whole run below its limit.
    """
    counts = counted(tuple(load_course().exercises), every=3)
    assert counts["caught"] == counts["programs"] == 36, counts
    assert counts["unnamed at the line"] >= 0.91 * counts["unnamed"], counts
