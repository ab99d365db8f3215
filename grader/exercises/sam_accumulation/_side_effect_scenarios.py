"""Scenarios for `sharpness` and `lambda_max`, which only measure: they must leave the model as it was.

`add_…` register scenarios with a driver; `record_…` are called by scenarios of the driver's own. None of them records
the returned number, so a wrong number costs nothing here. A function that never uses the model leaves it as it was,
too, and must not pass: all but `record_frozen` also record whether the function called the model. To check that
something else is left as it was, add a scenario to one of the `add_…`, and its name to both drivers' docstrings.
Modes are in `_mode_scenarios.py`.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from grader.exercises.fixtures.classifiers import (
    Batch,
    Net,
    batches,
    distance_moved,
    fill_gradients,
    flat_gradients,
    flat_weights,
    holds_gradients,
    mlp,
    norm_dropout_mlp,
)
from grader.exercises.fixtures.returned import type_witness
from grader.exercises.fixtures.witnesses import ForwardWitness
from grader.observe.play import Driver, Stage
from grader.observe.values import type_name

RANDOM_STATE_SALT = "dropout"
"""Salt of the random state that is set before each call of the learner's function. Another salt draws other numbers."""
Measure = Callable[[Stage, Net, Batch], Any]
"""Lets the recorder note the model's forward passes, sets the random state from `RANDOM_STATE_SALT`, and calls the
learner's function once with the model and the batch; returns its result.
"""
MeasureModel = Callable[[Stage, Net], Any]
"""Calls the learner's function once with the model and a batch of its own choice; returns its result."""


def add_weight_scenarios(driver: Driver, measure: Measure, *, check: str) -> None:
    """Add scenarios on weights and gradients: `weights`, `gradients`, `held-gradients`.

    Args:
        driver: the exercise's driver.
        measure: calls the learner's function.
        check: id of the check that the scenarios decide.
    """

    @driver.scenario("weights", "가중치를 그대로 두기", check=check)
    def _weights(stage: Stage) -> None:
        """Record how far the weights have moved after two calls, because some errors grow or show at the second only.

        A wrong program stays where it has measured, or goes back to another point.
        """
        model = mlp(stage.env)
        before = flat_weights(model)
        first, second = batches(stage.env, (6, 4))
        measure(stage, model, first)
        passes_before_second = len(stage.recorder.training_at_forward)
        measure(stage, model, second)
        stage.recorder.array("가중치가 옮겨진 거리", distance_moved(model, before))
        _record_model_was_called(stage, [passes_before_second])

    @driver.scenario("gradients", "그레이디언트가 없던 모델", check=check)
    def _gradients(stage: Stage) -> None:
        """Record whether a gradient appeared where there was none; zeros count as none, because they change no sum.

        A wrong program calls `backward()`, which leaves its gradients in `.grad`.
        """
        model = mlp(stage.env)
        measure(stage, model, *batches(stage.env, (6,)))
        has_appeared = any(p.grad is not None and bool(p.grad.ne(0).any()) for p in model.parameters())
        stage.recorder.fact("없던 그레이디언트가 생김", has_appeared)
        _record_model_was_called(stage)

    @driver.scenario("held-gradients", "그레이디언트를 쌓고 있던 모델", check=check)
    def _held_gradients(stage: Stage) -> None:
        """Record whether gradients that were there before are exactly the same.

        A wrong program adds to them, or clears them.
        """
        model = mlp(stage.env)
        held = fill_gradients(stage.env, model)
        measure(stage, model, *batches(stage.env, (6,)))
        are_same = holds_gradients(list(model.parameters()), held)
        stage.recorder.claim("있던 그레이디언트가 그대로임", are_same, flat_gradients(model))
        _record_model_was_called(stage)


def add_state_scenarios(driver: Driver, measure: Measure, *, check: str) -> None:
    """Add scenarios on BatchNorm's buffers and the random state: `statistics`, `counter`, `random-state`.

    Args:
        driver: the exercise's driver.
        measure: calls the learner's function.
        check: id of the check that the scenarios decide.
    """

    def batch_norm_after_call(stage: Stage) -> nn.BatchNorm1d:
        """Make one call with a model in train mode, and return the model's BatchNorm."""
        model = norm_dropout_mlp(stage.env).train()
        measure(stage, model, *batches(stage.env, (6,)))
        norm = model.layers[1]
        assert isinstance(norm, nn.BatchNorm1d)
        return norm

    @driver.scenario("statistics", "배치 정규화의 이동 통계량", check=check)
    def _statistics(stage: Stage) -> None:
        """Record running mean and variance.

        A wrong program makes passes in train mode and does not put the buffers back.
        """
        norm = batch_norm_after_call(stage)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        stage.recorder.array("buffers", torch.cat([norm.running_mean, norm.running_var]))
        _record_model_was_called(stage)

    @driver.scenario("counter", "배치 정규화가 세는 배치 수", check=check)
    def _counter(stage: Stage) -> None:
        """Record the counter of batches. It matters with `momentum=None`: BatchNorm then divides by it.

        A wrong program puts back mean and variance, and forgets the counter.
        """
        norm = batch_norm_after_call(stage)
        assert norm.num_batches_tracked is not None
        stage.recorder.fact("num_batches_tracked", int(norm.num_batches_tracked))
        _record_model_was_called(stage)

    @driver.scenario("random-state", "난수 상태", check=check)
    def _random_state(stage: Stage) -> None:
        """Record whether the random state of the CPU is as before the call.

        A wrong program lets dropout, or its own random vector, draw from the global generator.
        """
        measure(stage, norm_dropout_mlp(stage.env).train(), *batches(stage.env, (6,)))
        after = torch.get_rng_state()
        stage.env.set_random_state(RANDOM_STATE_SALT)  # as before the call
        is_same = torch.equal(after, torch.get_rng_state())
        stage.recorder.fact("부른 다음의 난수 상태", "그대로" if is_same else "달라짐")
        _record_model_was_called(stage)


def record_frozen(stage: Stage, measure: MeasureModel) -> None:
    """Freeze the first and the last parameter of an mlp, call, and record which parameters are frozen then.

    Also record whether these two kept the gradients that they held.

    Args:
        stage: the scenario's stage.
        measure: calls the learner's function.
    """
    model = mlp(stage.env)
    held = fill_gradients(stage.env, model)  # as if they had been frozen only after some training
    first, *_, last = model.parameters()
    for parameter in (first, last):
        parameter.requires_grad_(False)
    measure(stage, model)
    names = [name for name, p in model.named_parameters() if not p.requires_grad]
    stage.recorder.fact("requires_grad=False인 매개변수", ", ".join(names))
    are_kept = holds_gradients((first, last), (held[0], held[-1]))
    stage.recorder.fact("얼린 매개변수에 있던 그레이디언트가 그대로임", are_kept)


def record_type(stage: Stage, measure: MeasureModel, model: Net) -> None:
    """Record the type of the returned value; the witness is a weighted sum of the inputs of the first forward pass.

    Args:
        stage: the scenario's stage.
        measure: calls the learner's function.
        model: what `measure` is called with.
    """
    witness = ForwardWitness(stage.env, model)
    value = measure(stage, model)
    stage.recorder.claim("반환 타입", type_name(value), type_witness(float, [value], witness.first_sum))
    _record_model_was_called(stage)


def _record_model_was_called(stage: Stage, passes_before: Sequence[int] = ()) -> None:
    """Record whether each call of the learner's function called the model.

    Args:
        stage: the scenario's stage.
        passes_before: number of forward passes before each call of the function but the first.
    """
    counts = (0, *passes_before, len(stage.recorder.training_at_forward))
    was_called = all(before < after for before, after in pairwise(counts))
    stage.recorder.fact("부를 때마다 모델에 배치를 넣어 봄", was_called)
