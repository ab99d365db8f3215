"""Scenarios on what a function that only measures must leave as it was.

What is left behind does not depend on the measured value, so a wrong value costs nothing here.
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
    mlp,
    norm_dropout_mlp,
)
from grader.exercises.fixtures.returned import type_witness
from grader.exercises.fixtures.witnesses import ForwardWitness
from grader.observe.play import Driver, Stage
from grader.observe.values import type_name

RANDOM_STATE = "dropout"
"""Salt of the random state that is set before the student's function is called."""
Measure = Callable[[Stage, Net, Batch], Any]
"""Attaches the recorder to the model, sets the random state `RANDOM_STATE`, and calls the student's function once."""


def record_type(stage: Stage, measure: Callable[[Stage, Net], Any], model: Net) -> None:
    """Record the type of the returned value; the witness is what the model was given as input.

    `measure` calls the student's function once, with a batch of its own choice.
    """
    witness = ForwardWitness(stage.env, model)
    value = measure(stage, model)
    stage.recorder.claim("반환 타입", type_name(value), type_witness(float, [value], witness.first_sum))
    record_model_was_called(stage)


def record_model_was_called(stage: Stage, passes: Sequence[int] = ()) -> None:
    """Record that each call of the function called the model.

    A function that ignores the model changes nothing in it, and must not pass.

    Args:
        stage: the scenario's stage.
        passes: number of forward passes before each call but the first.
    """
    counts = (0, *passes, len(stage.recorder.training_at_forward))
    stage.recorder.fact(
        "부를 때마다 모델에 배치를 넣어 봄", all(before < after for before, after in pairwise(counts))
    )


def add_weight_scenarios(driver: Driver, check: str, measure: Measure) -> None:
    """Add scenarios on weights and gradients, which must stay, both with and without gradients from before."""

    @driver.scenario("weights", "가중치를 그대로 두기", check=check)
    def _weights(stage: Stage) -> None:
        """Two calls, because what one call leaves behind, the next one adds to."""
        model = mlp(stage.env)
        before = flat_weights(model)
        first, second = batches(stage.env, (6, 4))
        measure(stage, model, first)
        passes = len(stage.recorder.training_at_forward)
        measure(stage, model, second)
        stage.recorder.array("가중치가 옮겨진 거리", distance_moved(model, before))
        record_model_was_called(stage, [passes])

    @driver.scenario("gradients", "그레이디언트가 없던 모델", check=check)
    def _gradients(stage: Stage) -> None:
        """No gradient may appear where there was none; zeros count as none, because they change no sum."""
        model = mlp(stage.env)
        measure(stage, model, *batches(stage.env, (6,)))
        appeared = any(p.grad is not None and bool(p.grad.ne(0).any()) for p in model.parameters())
        stage.recorder.fact("없던 그레이디언트가 생김", appeared)
        record_model_was_called(stage)

    @driver.scenario("held-gradients", "그레이디언트를 쌓고 있던 모델", check=check)
    def _held_gradients(stage: Stage) -> None:
        """Gradients that are there must stay exactly as they are."""
        model = mlp(stage.env)
        held = fill_gradients(stage.env, model)
        measure(stage, model, *batches(stage.env, (6,)))
        kept = [
            p.grad is not None and bool(torch.equal(p.grad, g))
            for p, g in zip(model.parameters(), held, strict=True)
        ]
        stage.recorder.claim("있던 그레이디언트가 그대로임", all(kept), flat_gradients(model))
        record_model_was_called(stage)


def add_state_scenarios(driver: Driver, check: str, measure: Measure) -> None:
    """Add scenarios on BatchNorm's buffers and the random state, which must stay."""

    def norm_after(stage: Stage) -> nn.BatchNorm1d:
        model = norm_dropout_mlp(stage.env).train()
        measure(stage, model, *batches(stage.env, (6,)))
        norm = model.layers[1]
        assert isinstance(norm, nn.BatchNorm1d)
        return norm

    @driver.scenario("statistics", "배치 정규화의 이동 통계량", check=check)
    def _statistics(stage: Stage) -> None:
        """Running mean and variance must stay as they are."""
        norm = norm_after(stage)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        stage.recorder.array("buffers", torch.cat([norm.running_mean, norm.running_var]))
        record_model_was_called(stage)

    @driver.scenario("counter", "배치 정규화가 세는 배치 수", check=check)
    def _counter(stage: Stage) -> None:
        """The counter matters: with `momentum=None`, running statistics are averaged with it."""
        norm = norm_after(stage)
        assert norm.num_batches_tracked is not None
        stage.recorder.fact("num_batches_tracked", int(norm.num_batches_tracked))
        record_model_was_called(stage)

    @driver.scenario("random-state", "난수 상태", check=check)
    def _random_state(stage: Stage) -> None:
        """The random state must be as before the call; what the call draws in between does not matter here."""
        measure(stage, norm_dropout_mlp(stage.env).train(), *batches(stage.env, (6,)))
        after = torch.get_rng_state()
        stage.env.set_random_state(RANDOM_STATE)  # as before the call
        untouched = torch.equal(after, torch.get_rng_state())
        stage.recorder.fact("부른 다음의 난수 상태", "그대로" if untouched else "달라짐")
        record_model_was_called(stage)
