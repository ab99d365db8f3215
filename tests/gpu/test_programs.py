"""Right programs on a GPU: those of the course, and those that others write."""

from pathlib import Path

import numpy as np
import pytest

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.judge import judge
from grader.judging.reference import cached_reference
from grader.judging.solution import solution_source
from grader.observe.play import play
from grader.observe.program import Program, load_program
from grader.observe.trace import Trace
from grader.submission.submission import read_submission
from tests.gpu.processes import PRETENDED
from tests.sample_programs import Sample, samples

pytestmark = pytest.mark.cuda

COURSE = load_course()
OF_THE_DEVICE = {"seed_everything", "Snapshot"}
"""They read the random state of every device there is: on a GPU there is more of it to see."""
OF_THE_CPU_ALONE = {
    "evaluate/set_grad_enabled": "adds losses to a total that it made without a device",
    "resume/group_by_group": "puts what it loaded to the CPU into the optimizer's state itself",
}
"""Accepted programs that are right on the CPU only, and why: the grader grades on the CPU unless told otherwise."""
RANDOM_STATE_OF_THE_CPU = {
    "lambda_max/differences_of_gradients",
    "lambda_max/forward_over_reverse",
    "sharpness/backward_with_saved_gradients",
    "sharpness/float32_losses",
    "sharpness/subtracts_again",
}
"""Accepted programs that keep the random state of the CPU alone: on a real GPU, dropout then draws another mask. The
pretended GPU shares the CPU's random state."""
NOT_EMULATED = {
    "train_gpt/lambda_lr": "an inference tensor",
    "lambda_max/forward_over_reverse": "forward-mode AD",
}
"""Accepted programs that do what the pretended GPU cannot."""


def slice_of_accepted() -> list[object]:
    """Those that have a name above and the first of each exercise; the others in the full run (`-m cuda`)."""
    every = samples("accepted")
    # `lambda_max` takes a minute on the pretended GPU, as often as it is played; its solution is compared to the bit.
    firsts = {s.exercise: s for s in reversed(every) if s.exercise != "lambda_max"}.values()
    named = OF_THE_CPU_ALONE.keys() | NOT_EMULATED.keys() | (set() if PRETENDED else RANDOM_STATE_OF_THE_CPU)
    return [
        sample if sample in firsts or str(sample) in named else pytest.param(sample, marks=pytest.mark.full)
        for sample in every
    ]


def traced(program: Program, exercise: Exercise, device: str) -> Trace:
    return play(exercise.driver, program, seed=1, device=device)


@pytest.mark.skipif(not PRETENDED, reason="a real GPU rounds otherwise")
@pytest.mark.parametrize("name", sorted(set(COURSE.exercises) - OF_THE_DEVICE))
def test_a_solution_does_on_the_pretended_gpu_what_it_does_on_the_cpu_to_the_bit(name: str) -> None:
    """States, facts and events, with the line of each: also of gradients, which come from another thread there."""
    exercise = COURSE.exercise(name)
    program = load_program(solution_source(exercise.lesson), name=f"solution_of_{name}")
    try:
        on_cpu, on_gpu = (traced(program, exercise, device) for device in ("cpu", "cuda"))
    finally:
        program.unload()
    assert on_gpu.runs.keys() == on_cpu.runs.keys()
    for scenario, run in on_cpu.runs.items():
        found = on_gpu.runs[scenario]
        assert found.failure == run.failure, scenario
        assert found.facts == run.facts, scenario
        assert found.arrays.keys() == run.arrays.keys(), scenario
        for key, value in run.arrays.items():
            assert np.array_equal(found.arrays[key], value, equal_nan=True), (scenario, key)
        assert found.events == run.events, scenario


@pytest.mark.parametrize("sample", slice_of_accepted(), ids=str)
def test_a_right_program_is_right_on_a_gpu_unless_it_is_named(sample: Sample, tmp_path: Path) -> None:
    name = str(sample)
    if PRETENDED and name in NOT_EMULATED:
        pytest.skip(f"the pretended GPU cannot: {NOT_EMULATED[name]}")
    exercise = COURSE.exercise(sample.exercise)
    source = read_submission(sample.write(tmp_path), tuple(COURSE.exercises)).source_for(exercise.name)
    assert source is not None
    program = load_program(source.text, name=f"style_{sample.name}_on_a_gpu")
    try:
        verdict = judge(
            exercise,
            traced(program, exercise, "cuda"),
            cached_reference(exercise.name, 1, "cuda").solution_run,
        )
    finally:
        program.unload()
    wrong_here = OF_THE_CPU_ALONE.keys() | (set() if PRETENDED else RANDOM_STATE_OF_THE_CPU)
    right = verdict.status == "passed"
    assert right is (name not in wrong_here), (verdict.differences, verdict.failure)


def test_a_scaler_that_is_switched_off_is_wrong_on_a_gpu() -> None:
    """On the CPU it passes: right programs switch it off there."""
    exercise = COURSE.exercise("train")
    text = solution_source(exercise.lesson)
    off = text.replace("enabled=amp_dtype is torch.float16", "enabled=False")
    assert off != text
    program = load_program(off, name="scaler_off_on_a_gpu")
    try:
        verdict = judge(
            exercise, traced(program, exercise, "cuda"), cached_reference("train", 1, "cuda").solution_run
        )
    finally:
        program.unload()
    assert verdict.status != "passed"
    assert {"fp16", "overflow"} <= verdict.differences.keys()
