"""Plays a program as a mistake is played, and asks for its verdict and diagnosis."""

import pytest
from _pytest.mark.structures import ParameterSet

from grader.course.feedback import Diagnosis
from grader.course.reading import load_course
from grader.judging.assess import assess
from grader.judging.judge import Verdict, judge
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import Reference
from grader.observe.trace import Run, Trace

COURSE = load_course()


BY_COMMAND = (pytest.mark.full, pytest.mark.by_command)


def quickly(*names: str, one_in: int = 1) -> list[ParameterSet]:
    """All exercises: in the quick run these, in CI one in so many of the others, too; by command the rest."""
    marks = {name: () if name in names else BY_COMMAND for name in COURSE.exercises}
    marks |= dict.fromkeys([name for name in marks if marks[name]][::one_in], pytest.mark.full)
    return [pytest.param(exercise, id=name, marks=marks[name]) for name, exercise in COURSE.exercises.items()]


QUICK = ("train_step", "zero_gradients", "evaluate", "amp_step", "lr_at", "clip_global_norm", "sam_step")
EXERCISES = quickly(*QUICK)
"""All exercises. The quick run has two of each lesson whose mistakes are played in a few seconds."""

SEEDS = (1, pytest.param(0, marks=BY_COMMAND), pytest.param(2, marks=BY_COMMAND))
"""The learner's seed, whose transcripts are kept too; by command two more."""


# Mistakes that are one program seen from outside: named together, in the order of the course file.
SCALED_CLIP = ("clip-before-unscale", "missing-unscale")
SECOND_PASS_SUMMED = ("no-division", "second-pass-not-divided")
JOINED = {
    "BestCheckpoint": (("saves-last", "forgets-best"),),
    "amp_step": (SCALED_CLIP,),
    "amp_accumulate": (SCALED_CLIP,),
    "sam_accumulate": (SECOND_PASS_SUMMED,),
}
TITLED_APART = (("saves-last", "forgets-best"),)
"""Those of `JOINED` that have a title each: where the learner's text is known, it tells which is true."""
OWN_RATE = "own-optimizer|updates-by-hand"
SOMETIMES_JOINED = {"train_step": OWN_RATE, "train_step_extras": OWN_RATE}
"""Joined ids of mistakes of which some variants are one program seen from outside; a text tells them apart."""


def runs_of(program: str, its: Reference) -> dict[str, Run]:
    """Every scenario of a wrong program, or of the solution (`""`)."""
    names = [scenario.name for scenario in its.exercise.driver.scenarios]
    return {n: its.complete_run(program, n) if program else its.solution_run(n) for n in names}


def examined(trace: Trace, its: Reference) -> tuple[Verdict, Diagnosis]:
    feedback = assess(its.exercise, trace, its, LearnerCode(""))
    return judge(its.exercise, trace, its.solution_run), feedback.diagnosis


def named(diagnosis: Diagnosis) -> list[str]:
    return [mistake.id for mistake in diagnosis.mistakes]


def joined(exercise: str, mistake: str) -> str:
    """The id as results say it."""
    group = next((g for g in JOINED.get(exercise, ()) if mistake in g), (mistake,))
    return "|".join(group)
