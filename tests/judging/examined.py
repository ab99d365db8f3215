"""Plays a program as a mistake is played, and asks judge and diagnosis about it."""

import pytest

from grader.course_files import load_course
from grader.feedback import Diagnosis
from grader.judging.diagnose import diagnose
from grader.judging.judge import Verdict, judge
from grader.judging.reference import Reference
from grader.observe.trace import Run, Trace

COURSE = load_course()
EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in COURSE.exercises.values()]


def quickly(*names: str) -> list[object]:
    """All exercises; in the quick run only these."""
    full = pytest.mark.full
    return [
        pytest.param(exercise, id=name, marks=() if name in names else full)
        for name, exercise in COURSE.exercises.items()
    ]


SEEDS = (1, *(pytest.param(seed, marks=pytest.mark.full) for seed in (0, 2, 3, 4)))
"""The learner's seed, whose transcripts are kept too, and in the full run four more."""

# Mistakes that are one program seen from outside: named together, in the order of the course file.
NO_CLIP = ("clip-before-backward", "no-clip", "clip-after-step")
LAST_ONLY = ("zero-grad-every-micro-batch", "backward-last-only")
SCALED_CLIP = ("clip-before-unscale", "missing-unscale")
SECOND_PASS_SUMMED = ("no-division", "second-pass-not-divided")
SECOND_PASS_UNCLIPPED = ("clips-first-pass-only", "clips-nothing")
JOINED = {
    "train_step_extras": (NO_CLIP,),
    "accumulate": (NO_CLIP, LAST_ONLY),
    "amp_step": (SCALED_CLIP,),
    "amp_accumulate": (SCALED_CLIP,),
    "train_gpt": (NO_CLIP,),
    "token_mean_accumulate": (LAST_ONLY,),
    "sam_accumulate": (SECOND_PASS_SUMMED, SECOND_PASS_UNCLIPPED),
    "train_qa": (SECOND_PASS_UNCLIPPED,),
}


def runs_of(program: str, its: Reference) -> dict[str, Run]:
    """Every scenario of a wrong program, or of the solution (`""`)."""
    names = [scenario.name for scenario in its.exercise.driver.scenarios]
    return {n: its.run(program, n) if program else its.solution(n) for n in names}


def examined(trace: Trace, its: Reference) -> tuple[Verdict, Diagnosis]:
    verdict = judge(its.exercise, trace, its.solution)
    return verdict, diagnose(its.exercise, trace, verdict, its)


def named(diagnosis: Diagnosis) -> list[str]:
    return [mistake.id for mistake in diagnosis.mistakes]


def joined(exercise: str, mistake: str) -> str:
    """The id as results say it."""
    group = next((g for g in JOINED.get(exercise, ()) if mistake in g), (mistake,))
    return "|".join(group)
