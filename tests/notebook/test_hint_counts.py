"""For the known mistakes of every exercise: the number of hints stays the same to the last one, and none is empty."""

import re

import pytest

from grader import hint
from grader.course.reading import load_course
from grader.grading.time_limit import time_limit
from grader.judging.assess import assess
from grader.judging.edits import variants_of
from grader.judging.learner_code import LearnerCode
from grader.judging.own_edit import wants_own_edit, with_own_edit
from grader.judging.reference import Reference, cached_reference
from grader.learner.earned import recorded_check
from grader.learner.progress import Progress
from grader.observe.play import TimeLimit
from grader.observe.trace import Run, Trace

COURSE = load_course()
EACH = 30
"""Of this many mistakes of an exercise one is tried, because some take seconds; quickly the first, and of lesson 01."""
SECONDS = 3.0
"""Time for one edited version, some of which never end; in the notebook the sandbox ends them."""
TRIED = [
    pytest.param(
        exercise.name,
        variant.name,
        marks=[] if number == 0 and exercise.lesson == "01" else [pytest.mark.full],
    )
    for exercise in COURSE.exercises.values()
    for number, variant in enumerate(variants_of(exercise))
    if number % EACH == 0
]


class InTheLesson:
    """Plays edited versions as the known mistakes are played: with the lesson's other definitions around."""

    def __init__(self, its: Reference) -> None:
        self.its = its

    def run(self, text: str, scenario: str) -> Run | None:
        try:
            with time_limit(SECONDS):
                return self.its.complete_run(text, scenario)
        except (Exception, TimeLimit):  # an edit may break the program, which then does not even load
            return None


@pytest.mark.parametrize(("name", "variant"), TRIED)
def test_the_ladder_keeps_its_length_and_every_step_says_something(name: str, variant: str) -> None:
    exercise, its = COURSE.exercise(name), cached_reference(name, 1)
    source = its.sources[variant]
    runs = {s.name: its.complete_run(source, s.name) for s in exercise.driver.scenarios}
    learner_code = LearnerCode(source)
    feedback = assess(exercise, Trace(runs), its, learner_code)
    assert feedback.diagnosis.mistakes
    if wants_own_edit(feedback):
        feedback = with_own_edit(feedback, exercise, runs, its, learner_code, InTheLesson(its))
    recorded_check(Progress.load(), feedback, source, "at-once")

    totals, newest = set(), []
    for _ in range(len(exercise.hints) + 4):
        told = hint(name, answer=True).text
        headings = re.findall(r"· 힌트 (\d+)/(\d+)", told)
        steps = re.split(r"^.*· 힌트 \d+/\d+.*\n", f"{told}\n", flags=re.MULTILINE)[1:]
        totals |= {int(total) for _, total in headings}
        newest.append(int(headings[-1][0]))
        assert len(steps) == len(headings)
        assert all(step.strip() for step in steps), told
    (total,) = totals
    assert newest == [min(count, total) for count in range(1, len(newest) + 1)]
    has_answer = len(exercise.hints) > len(exercise.clues)
    assert total in ((2, 3, 4) if has_answer else (1, 2, 3)), "idea, place, line, answer"
