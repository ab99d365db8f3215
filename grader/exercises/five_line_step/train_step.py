"""Driver of `train_step`, which makes one update on a mini-batch and returns the loss before it.

Promises of the exercise, and the scenarios that check them:
    one update on the mini-batch, without gradients of earlier calls: `sgd`, `adamw`, `float32`
    the loss before the update, as a float: `returns`
    each module's mode stays: `modes`, `given-modes`; no seed is set: `random-state`; nothing is printed: `quiet`

Batches have uneven sizes, which shows a loss that is divided by a fixed batch size. Learning rates change between
calls, which shows an update that comes a call late.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any

import torch

from grader.exercises.five_line_step._step_case import step_case, step_problem
from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    Modes,
    adamw,
    batches,
    flat_buffers,
    loss_function,
    momentum_sgd,
    norm_dropout_mlp,
    scale_rates,
    set_modes,
    sgd,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import Case, add_usual, record_modes
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("train_step")

_HIGH_LOSS = 20.0
"""A number above every loss here."""


def _case(stage: Stage, make_optimizer: MakeOptimizer = sgd, *, salt: str = "model") -> Case:
    """Return a case with an `mlp` and five batches; `salt` decides the weights."""
    return step_case(stage, "train_step", make_optimizer, salt=salt)


def _step(case: Case, data: Sequence[Batch]) -> Any:
    """Make one call, with the first batch of the list that `add_usual` hands over, and return its result."""
    return case.call(*data[0])


def _step_on_each_batch(case: Case) -> None:
    """Make one call for each batch, with falling learning rates, and record the updates."""
    case.watch()
    for batch in case.data:
        case.call(*batch)
        scale_rates(case.opt, 0.8)


@driver.scenario("sgd", "SGD", problem=step_problem)
def _sgd(stage: Stage) -> None:
    """Make one call for each batch with SGD.

    A program that does not clear gradients, or scales the loss, makes other updates.
    """
    _step_on_each_batch(_case(stage))


# `float32` here and `quiet` at the end, because scenarios are played and listed in the order in which they are added.
add_usual(driver, _case, _step, checks={"float32": "sgd"})


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    """Make one call for each batch with AdamW, and with a loss that is negative, as a log-likelihood may be.

    A program that updates by hand (`p -= lr * p.grad`) ignores AdamW's state, and one that steps twice disturbs it. One
    that takes a loss below zero for the end of the training makes no update.
    """
    case = _case(stage, adamw)
    loss_fn = case.loss_fn
    case.loss_fn = lambda output, target: loss_fn(output, target) - _HIGH_LOSS
    _step_on_each_batch(case)


# Decides the check `adamw` and not the check `modes`, because it also compares the updates: a wrong update must not
# cost the points of `modes`. For that check, `given-modes` compares a program's updates with each other only.
@driver.scenario("modes", "배치 정규화와 드롭아웃이 있는 모델", check="adamw")
def _norm_and_dropout(stage: Stage) -> None:
    """Train models with batch normalization and dropout in several modes; record updates and running statistics.

    A program that changes the mode it found, or makes two forward passes, gives other statistics.
    """
    env, recorder = stage.env, stage.recorder
    loss_fn = loss_function(env)
    (batch,) = batches(env, (6,))
    for mode in (Modes.ALL_TRAIN, Modes.ALL_EVAL, Modes.NORM_EVAL):
        model = set_modes(norm_dropout_mlp(env, mode), mode)
        opt = sgd(model)
        recorder.watch(model, opt)
        env.set_random_state("dropout")
        recorder.call(stage.student("train_step"), model, opt, loss_fn, *batch)
        recorder.array(f"buffers/{mode}", flat_buffers(model))


@driver.scenario("random-state", "난수의 상태", check="adamw")
def _random_state(stage: Stage) -> None:
    """Set two different random states, make a call after each, and record whether both leave the same state.

    A program that sets a seed of its own leaves the same state both times.
    """
    states_left = []
    for number in range(2):
        case = _case(stage)
        stage.env.set_random_state(f"state {number}")
        case.call(*case.data[number])
        states_left.append(torch.get_rng_state())
    stage.recorder.fact("시드를 다시 정함", yes_or_no(torch.equal(*states_left)))


@driver.scenario("given-modes", "받은 모드", check="modes")
def _given_modes(stage: Stage) -> None:
    """Hand over models in several modes; record the modes during and after the calls, and whether updates are alike.

    A program that calls `model.train()` leaves another mode. The optimizer has momentum, so that a program which
    updates by hand in one of the modes shows at the second call.
    """
    record_modes(stage, lambda stage: _case(stage, momentum_sgd), _step)


# A learner may sum or average the loss in float32, so the returned number need not be exact to float64.
@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what two calls return, both from the model's initial weights, so that a wrong update costs nothing here.

    A program that computes the loss after its update returns another number; one that returns a tensor, another type. A
    running mean of the losses differs from the second loss.
    """
    case = _case(stage, salt="model 0")
    initial = [p.detach().clone() for p in case.model.parameters()]
    for number in range(2):
        for parameter, value in zip(case.model.parameters(), initial, strict=True):
            parameter.data.copy_(value)
            parameter.grad = None
        stage.recorder.returned(case.call(*case.data[number]))


add_usual(driver, _case, _step, checks={"quiet": "returns"})
