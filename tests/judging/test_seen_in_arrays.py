"""Known mistakes are seen in single arrays where an unknown mistake spoils the others."""

import contextlib
import io

import numpy as np
import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.explain import explain
from grader.judging.judge import judge
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Trace
from tests.sample_programs import sample, samples

ADDS_A_CONSTANT = """\
import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))
    with torch.no_grad():
        for average, current in zip(ema.parameters(), model.parameters()):
            average.mul_(d).add_(current, alpha=1 - d).add_(0.01)
        for old, new in zip(ema.buffers(), model.buffers()):
            BUFFERS
    return d
"""
AVERAGED = "old.mul_(d).add_(new, alpha=1 - d) if old.is_floating_point() else old.copy_(new)"
COPIED = "old.copy_(new)"
QUICK = (
    "clip_global_norm",
    "evaluate",
    "sgd_update",
    "train_step",
    "zero_gradients",
    "resume",
    "warmup_cosine",
)


def played(exercise_name: str, text: str) -> Trace:
    exercise = load_course().exercise(exercise_name)
    with contextlib.redirect_stdout(io.StringIO()):
        return play(exercise.driver, load_program(text), seed=SEED)


def told(exercise_name: str, text: str) -> Feedback:
    exercise, reference = load_course().exercise(exercise_name), cached_reference(exercise_name, SEED)
    return assess(exercise, played(exercise_name, text), reference, LearnerCode(text))


def test_a_mistake_is_seen_beside_an_unknown_one() -> None:
    feedback = told("ema_update_", ADDS_A_CONSTANT.replace("BUFFERS", AVERAGED))
    assert feedback.mistake_ids == ["averages-buffers"]
    assert not feedback.diagnosis.explains_all
    # What the unknown mistake spoils is not shown as what this one does.
    assert (
        feedback.diagnosis.mistakes[0].difference is None
        or "버퍼" in feedback.diagnosis.mistakes[0].difference.what
    )


def test_right_arrays_name_nothing() -> None:
    feedback = told("ema_update_", ADDS_A_CONSTANT.replace("BUFFERS", COPIED))
    assert not feedback.mistake_ids


def test_a_mistake_is_seen_beside_a_named_and_an_unknown_one() -> None:
    """`no-division` is explained; clipping each micro-batch shows only in scenarios that nothing explains."""
    text = sample("first_tries", "accumulate", "v_sum_and_clip_each").text
    assert {"no-division", "clip-every-micro-batch"} <= set(told("accumulate", text).mistake_ids)


def test_an_array_that_two_mistakes_give_names_neither() -> None:
    """The second clipped gradient of this program is that of `by-value` and of `per-parameter-norm`."""
    text = sample("unlisted", "clip_global_norm", "each_asks_itself").text
    assert not told("clip_global_norm", text).mistake_ids


def test_a_mistake_that_the_runs_speak_against_is_not_seen() -> None:
    """One changed number in an array of the learner's is enough to speak against the mistake."""
    exercise, reference = load_course().exercise("ema_update_"), cached_reference("ema_update_", SEED)
    trace = played("ema_update_", ADDS_A_CONSTANT.replace("BUFFERS", AVERAGED))
    buffers = trace.runs["buffers"].arrays
    name = next(name for name in buffers if name.startswith("버퍼") and buffers[name].dtype.kind == "f")
    buffers[name] = np.asarray(reference.solution_run("buffers").arrays[name])
    explanation = explain(trace, judge(exercise, trace, reference.solution_run), reference)
    assert "averages-buffers" not in {mistake.variant.mistake.id for mistake in explanation.mistakes}


def test_nothing_stays_open_if_a_mistake_seen_in_arrays_explains_the_rest() -> None:
    """`zero-norm-ignored` changes nothing without the other two, and all three together explain every scenario."""
    text = sample("first_tries", "sam_accumulate", "z_eighth").text
    feedback = told("sam_accumulate", text)
    assert set(feedback.mistake_ids) == {
        "keeps-first-gradient",
        "leftover-divided-by-full",
        "zero-norm-ignored",
    }
    assert feedback.diagnosis.explains_all


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.full)])
def test_programs_with_one_unlisted_mistake_are_not_called_by_another_name(quick: bool) -> None:
    """Their one mistake has no name, so that nothing may be seen in their arrays."""
    for one in samples("unlisted"):
        if (one.exercise in QUICK) != quick or one.exercise == "train":
            continue
        exercise, reference = load_course().exercise(one.exercise), cached_reference(one.exercise, SEED)
        trace = played(one.exercise, one.text)
        explanation = explain(trace, judge(exercise, trace, reference.solution_run), reference)
        assert not [m.variant.name for m in explanation.mistakes if m.only_arrays], one
