"""What is played follows from the seed and from what a program does, not from how; the process stays as it was."""

import numpy as np
import pytest
import torch
from torch.nn.modules import module as torch_module

from grader.course.reading import load_course
from grader.judging.solution import solution_source
from grader.observe.play import Driver, Stage, play
from grader.observe.program import load_program
from tests.observe.five_lines import EXERCISES, RIGHT, traced
from tests.sample_programs import sample


def test_a_seed_gives_the_same_trace_and_another_seed_another() -> None:
    one, same, other = traced(RIGHT, seed=1), traced(RIGHT, seed=1), traced(RIGHT, seed=2)
    for name, run in one.runs.items():
        if "theta" not in run.arrays:  # a scenario about something else
            continue
        assert np.array_equal(run.arrays["theta"], same.runs[name].arrays["theta"])
        assert not np.array_equal(run.arrays["theta"], other.runs[name].arrays["theta"])


def test_states_do_not_depend_on_the_order_of_events() -> None:
    """A closure and `autograd.grad` by hand leave the parameters of the plain five lines."""
    closure = """
def train_step(model, opt, loss_fn, xb, yb):
    def closure():
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss
    return float(opt.step(closure))
"""
    by_hand = """
import torch
def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    parameters = list(model.parameters())
    for p, g in zip(parameters, torch.autograd.grad(loss, parameters)):
        p.grad = g
    opt.step()
    return loss.item()
"""
    right = traced(RIGHT)
    for source in (closure, by_hand):
        other = traced(source)
        for name, run in right.runs.items():
            if "theta" not in run.arrays:
                continue
            # Identical arithmetic in identical order: equal to rounding of one float64 step.
            assert np.abs(run.arrays["theta"] - other.runs[name].arrays["theta"]).max() < 1e-12


def test_nan_and_infinite_parameters_are_part_of_the_trace() -> None:
    source = RIGHT.replace("loss.backward()", "(loss * float('nan')).backward()")
    theta = traced(source).runs["sgd"].arrays["theta"]
    assert np.isfinite(theta[0]).all()
    assert np.isnan(theta[1]).any()


def test_playing_leaves_the_process_as_it_was() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    traced(
        RIGHT.replace("return", "torch.set_grad_enabled(False)\n    torch.rand(5)\n    return").replace(
            "def", "import torch\ndef", 1
        )
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.is_grad_enabled()


def test_autocast_that_was_left_on_reaches_no_scenario() -> None:
    """An exercise does not pay for what the one before it left."""
    torch.set_autocast_enabled("cpu", True)
    try:
        found = traced(RIGHT).runs["float32"].facts
        assert torch.is_autocast_enabled("cpu"), "and it is on as before"
    finally:
        torch.set_autocast_enabled("cpu", False)
    assert found == traced(RIGHT).runs["float32"].facts


def test_a_scenario_takes_down_what_it_set_up_however_it_ends() -> None:
    """What fails then costs nothing."""
    driver, taken_down = Driver("work"), []

    @driver.scenario("ends", "끝나는 시나리오")
    def _ends(stage: Stage) -> None:
        def close() -> None:
            taken_down.append(stage.recorder.call_count)
            raise ValueError

        stage.recorder.at_end(close)
        stage.recorder.call(stage.student("work"))

    for source in ("def work():\n    return 1", "def work():\n    raise KeyError"):
        failure = play(driver, load_program(source), seed=1).runs["ends"].failure
        assert (None if failure is None else failure.type) == ("KeyError" if "raise" in source else None)
    assert taken_down == [1, 1]


def test_a_hook_on_all_modules_ends_with_its_scenario() -> None:
    """Left behind, it would be a replaced part of torch in the sandbox, and reach other scenarios here."""
    program = load_program(sample("accepted", "Dashboard", "one_global_hook").text)
    hooks = dict(torch_module._global_forward_hooks)
    play(load_course().exercise("Dashboard").driver, program, seed=1)
    assert dict(torch_module._global_forward_hooks) == hooks


@pytest.mark.cuda
@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_behaves_the_same_on_a_gpu(exercise: str) -> None:
    """float64 on the device against float64 on the CPU: rounding only, 1e-9 after a few updates."""
    program = load_program(solution_source("01"))
    on_cpu = play(EXERCISES[exercise], program, seed=1)
    on_gpu = play(EXERCISES[exercise], program, seed=1, device="cuda")
    program.unload()
    for name, run in on_cpu.runs.items():
        assert on_gpu.runs[name].failure == run.failure
        if name in ("modes", "eval-mode") and "theta" in run.arrays and exercise in ("train_step", "fit"):
            continue  # dropout draws other masks on a GPU
        for key, value in run.arrays.items():
            found = on_gpu.runs[name].arrays[key]
            assert np.allclose(found, value, rtol=0, atol=1e-9, equal_nan=True), (name, key)


def test_no_warning_of_a_driver_reaches_the_learner(recwarn: pytest.WarningsRecorder) -> None:
    """A scheduler that is given the loss makes the rate a tensor with a graph, of which the driver reads the number."""
    text = sample("first_tries", "train_step_extras", "steps_by_loss").text
    driver = load_course().exercise("train_step_extras").driver
    play(driver, load_program(text), seed=1, only=["schedule"])
    assert not [str(warning.message) for warning in recwarn]
