"""What runs and observes a program: traces across the border, loading statement by statement, the recorder."""

import contextlib
import dataclasses
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.exercises.five_line_step import EXERCISES
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Event, Failure, Run, Trace, TraceError, from_bytes, to_bytes

RIGHT = """
def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""


def traced(source: str, exercise: str = "train_step", seed: int = 1) -> Trace:
    program = load_program(source)
    try:
        return play(EXERCISES[exercise], program, seed=seed)
    finally:
        program.unload()


def test_a_trace_survives_the_border() -> None:
    """Arrays, facts, events and failures come back as they went."""
    run = Run(
        arrays={"theta": np.arange(6.0).reshape(2, 3), "none": np.zeros((0,))},
        facts={"모드": [[True, False]], "이름": "값", "없음": None},
        evidence={"lr": np.full((2, 3), 0.1)},
        labels=["layers.0.weight 3"],
        events=[Event("step", 4, 1, None, 2, "grad set")],
        failure=Failure("ValueError", ("ValueError", "Exception"), "메시지", 3, 1),
    )
    trace = Trace({"sgd": run}, 0.5, Failure("NameError", ("NameError",), "x"), ["경고"])
    back = from_bytes(to_bytes(trace))
    assert (back.seconds, back.load_failure, back.warnings) == (0.5, trace.load_failure, ["경고"])
    other = back.runs["sgd"]
    assert (other.facts, other.labels, other.events, other.failure) == (
        run.facts,
        run.labels,
        run.events,
        run.failure,
    )
    assert all(np.array_equal(other.arrays[k], v) for k, v in run.arrays.items())


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_whatever_comes_over_the_border_is_a_trace_or_a_trace_error(
    junk: bytes, at: int, patch: bytes
) -> None:
    """A forged or damaged blob must not raise anything else in the grading process."""
    good = to_bytes(traced(RIGHT))
    for blob in (junk, good[:at] + patch + good[at + len(patch) :], good[:at], b"\xff" * 8 + junk):
        with contextlib.suppress(TraceError):
            assert isinstance(from_bytes(blob), Trace)


def test_a_deeply_nested_header_is_refused() -> None:
    """JSON nested 100,000 deep must not overflow the grader's stack."""
    header = b'{"__metadata__":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(TraceError):
        from_bytes(len(header).to_bytes(8, "little") + header)


def test_a_seed_gives_the_same_trace_and_another_seed_another() -> None:
    one, same, other = traced(RIGHT, seed=1), traced(RIGHT, seed=1), traced(RIGHT, seed=2)
    for name, run in one.runs.items():
        assert np.array_equal(run.arrays["theta"], same.runs[name].arrays["theta"])
        assert not np.array_equal(run.arrays["theta"], other.runs[name].arrays["theta"])


def test_a_statement_that_fails_costs_only_what_it_defines() -> None:
    """An import that no exercise needs, and a broken helper, leave the exercise intact."""
    program = load_program("import no_such_package_anywhere\nBAD = 1 / 0\n" + RIGHT)
    assert set(program.failures) == {"no_such_package_anywhere", "BAD"}
    assert program.failures["BAD"].line == 2
    assert callable(program.names["train_step"])
    assert len(program.warnings) == 1
    program.unload()


def test_exit_while_loading_is_a_failure_not_an_exit() -> None:
    program = load_program("import sys\nX = sys.exit(3)\n" + RIGHT)
    assert program.failures["X"].type == "SystemExit"
    program.unload()


def test_dataclasses_under_postponed_annotations_load() -> None:
    """They look their module up in `sys.modules`; and the future import need not stand first."""
    source = (
        "x = 1\nfrom __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass C:\n    a: int\n"
    )
    program = load_program(source, name="with_dataclass")
    assert not program.failures
    assert dataclasses.is_dataclass(program.names["C"])
    assert "with_dataclass" in sys.modules
    program.unload()
    assert "with_dataclass" not in sys.modules


def test_a_missing_function_is_said() -> None:
    failure = traced("x = 1\n").load_failure
    assert failure is not None
    assert "train_step" in failure.message


def test_the_line_of_an_exception_is_the_submissions_deepest() -> None:
    source = (
        "def helper():\n    raise KeyError('k')\n\n"
        "def train_step(model, opt, loss_fn, xb, yb):\n    helper()\n"
    )
    failure = traced(source).runs["sgd"].failure
    assert failure is not None
    assert (failure.type, failure.line) == ("KeyError", 2)


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


@pytest.mark.cuda
@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_behaves_the_same_on_a_gpu(exercise: str) -> None:
    """float64 on the device against float64 on the CPU: rounding only, 1e-9 after a few updates."""
    from grader.judging.edits import solution_text

    program = load_program(solution_text("01"))
    on_cpu = play(EXERCISES[exercise], program, seed=1)
    on_gpu = play(EXERCISES[exercise], program, seed=1, device="cuda")
    program.unload()
    for name, run in on_cpu.runs.items():
        assert on_gpu.runs[name].failure == run.failure
        if name in ("modes", "eval-mode") and "theta" in run.arrays and exercise in ("train_step", "fit"):
            continue  # dropout draws other masks on a GPU
        for key, value in run.arrays.items():
            assert np.allclose(on_gpu.runs[name].arrays[key], value, rtol=0, atol=1e-9), (name, key)
