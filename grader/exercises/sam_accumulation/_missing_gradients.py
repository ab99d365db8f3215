"""Scenarios in which some or all gradients are None, or all are zero; for the driver of `SAM`, which adds them.

To add one, write a function that records it and list the function in `_SCENARIOS`.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from grader.exercises.fixtures.classifiers import distance_moved, flat_weights
from grader.exercises.sam_accumulation._watched_sam import RandomGradients, sam_over_sgd
from grader.observe.play import Driver, Stage


def add_missing_gradient_scenarios(driver: Driver, *, check: str, atol: float) -> None:
    """Add `none`, `none-second`, `none-climbs`, `zero`, `adaptive-zero`, `zero-later` and `none-later`.

    Args:
        driver: the driver of `SAM`.
        check: id of the check that the scenarios decide.
        atol: absolute tolerance of weights and distances.
    """
    for name, title, record in _SCENARIOS:
        driver.scenario(name, title, check=check, atol=atol)(record)


def _update_with_missing_gradients(stage: Stage, missing: Sequence[tuple[int | None, int | None]]) -> None:
    """Make one update for each pair in `missing`.

    Args:
        stage: the scenario's stage.
        missing: for each update, the index of the parameter that has no gradient in the first pass, and of the one that
            has none in the second pass; None: all parameters have a gradient in that pass.
    """
    watched = sam_over_sgd(stage)
    gradients = RandomGradients(stage.env, watched.model)
    for in_first, in_second in missing:
        watched.update_with(gradients.next(without=in_first), gradients.next(without=in_second))


def _none(stage: Stage) -> None:
    """Make three updates in which a parameter has no gradient in the first pass: twice the same, then another one.

    A wrong program raises on None, or puts a parameter back to what an earlier update remembered.
    """
    _update_with_missing_gradients(stage, ((1, None), (1, None), (0, None)))


def _none_second(stage: Stage) -> None:
    """Make two updates in which a parameter has no gradient in the second pass, each time another one.

    A wrong program goes back to w only where there is a gradient, and leaves these parameters at w + e.
    """
    _update_with_missing_gradients(stage, ((None, 2), (None, 0)))


def _none_climbs(stage: Stage) -> None:
    """Record how far `first_step` moves a parameter without a gradient; the others are not recorded.

    A wrong program raises on None, or moves the parameter all the same.
    """
    watched = sam_over_sgd(stage, watch=False)
    watched.set_gradients(RandomGradients(stage.env, watched.model).next(without=1))
    before = watched.parameters[1].detach().clone()
    stage.recorder.call(watched.sam.first_step)
    stage.recorder.array("움직인 거리", (watched.parameters[1].detach() - before).norm().reshape(1))


def _climb_on_zero_gradients(stage: Stage, **kwargs: Any) -> None:
    """Record how far `first_step` moves the weights if all gradients are zero; `kwargs` are arguments of the SAM."""
    watched = sam_over_sgd(stage, watch=False, **kwargs)
    before = flat_weights(watched.model)
    watched.set_gradients([torch.zeros_like(p) for p in watched.parameters])
    stage.recorder.call(watched.sam.first_step)
    stage.recorder.array("움직인 거리", distance_moved(watched.model, before))


def _zero(stage: Stage) -> None:
    """Climb on gradients that are all zero.

    A wrong program divides by their norm, and makes NaN of the weights.
    """
    _climb_on_zero_gradients(stage)


def _adaptive_zero(stage: Stage) -> None:
    """Climb with ASAM on gradients that are all zero.

    A wrong program divides by their norm, and makes NaN of the weights.
    """
    _climb_on_zero_gradients(stage, adaptive=True)


def _zero_later(stage: Stage) -> None:
    """Make a normal update, then one with zero gradients in the first pass, and record how far the second moves.

    A wrong program does not save the weights if it does not climb, and goes back to those that the first update saved.
    """
    watched = sam_over_sgd(stage, watch=False)
    gradients = RandomGradients(stage.env, watched.model)
    watched.update_with(gradients.next(), gradients.next())
    before = flat_weights(watched.model)
    watched.update_with([torch.zeros_like(p) for p in watched.parameters], gradients.next())
    stage.recorder.array("움직인 거리", distance_moved(watched.model, before))


def _none_later(stage: Stage) -> None:
    """Make a normal update, then one without any gradient in either pass, and record how far the second moves.

    The weights must stay where they are. A program that raises an exception, because it finds no gradient, is right
    too, so exceptions are suppressed.
    """
    watched = sam_over_sgd(stage, watch=False)
    gradients = RandomGradients(stage.env, watched.model)
    watched.update_with(gradients.next(), gradients.next())
    before = flat_weights(watched.model)
    watched.set_gradients([None] * len(watched.parameters))

    def both_steps() -> None:
        with suppress(Exception):
            watched.sam.first_step()
            watched.sam.second_step()

    stage.recorder.call(both_steps)
    stage.recorder.array("움직인 거리", distance_moved(watched.model, before))


_SCENARIOS = (
    ("none", "첫 번째 그레이디언트가 None인 매개변수", _none),
    ("none-second", "두 번째 그레이디언트가 None인 매개변수", _none_second),
    ("none-climbs", "그레이디언트가 None인 매개변수의 first_step", _none_climbs),
    ("zero", "그레이디언트가 모두 0일 때", _zero),
    ("adaptive-zero", "그레이디언트가 모두 0일 때의 ASAM", _adaptive_zero),
    ("zero-later", "업데이트한 다음에 그레이디언트가 모두 0일 때", _zero_later),
    ("none-later", "업데이트한 다음에 그레이디언트가 모두 None일 때", _none_later),
)
"""Name, title and function of each scenario, in the order in which they are played."""
