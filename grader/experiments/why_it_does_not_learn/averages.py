"""Averages of the weights along a training: against the last weights, from where they start, and their buffers."""

import copy
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

from grader.experiments.several_processes.digits import (
    loss_fn,
    make_batches,
    make_model,
    x_val,
    y_val,
)

SEEDS = tuple(range(6))
"""The seeds over which the claims are measured."""
STEPS = 400
"""Number of steps of each training."""

Follow = Callable[[nn.Module, nn.Module, int], object]
"""Moves an average towards the model after the step of this number, counted from 0."""


def loss_and_accuracy(model: nn.Module) -> tuple[float, float]:
    """Return the validation loss and the accuracy in percent, in eval mode; the mode is as before afterwards."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        logits: Tensor = model(x_val)
    model.train(was_training)
    return loss_fn(logits, y_val).item(), 100 * (logits.argmax(1) == y_val).double().mean().item()


def train_following(
    seed: int,
    lr: float,
    follow: Mapping[str, Follow],
    *,
    to_zero: bool = False,
    stop: int = STEPS,
    norm: bool = False,
) -> dict[str, nn.Module]:
    """Train a classifier of the digits by momentum SGD with batches of 16, and let averages follow it.

    Args:
        seed: seed of the weights and of the batches.
        lr: learning rate.
        follow: name -> how this average follows; each starts as a copy of the untrained model.
        to_zero: let the rate fall linearly, to zero at `STEPS`; False: it stays.
        stop: number of steps that are made.
        norm: use a model with BatchNorm.

    Returns:
        The averages by name, and the trained model as `마지막`.
    """
    model = make_model(seed, *([nn.BatchNorm1d(64)] if norm else []))
    averages: dict[str, nn.Module] = {name: copy.deepcopy(model) for name in follow}
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for step, (xb, yb) in enumerate(make_batches(seed, stop, 16)):
        opt.param_groups[0]["lr"] = lr * (1 - step / STEPS) if to_zero else lr
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
        for name, move in follow.items():
            move(averages[name], model, step)
    return averages | {"마지막": model}


def following(ratio: Callable[[int], float], *, copies_buffers: bool = False) -> Follow:
    """Return an average's rule: it keeps the share `ratio(step)` of itself and takes the rest from the model.

    Args:
        ratio: step, counted from 0 -> share of the average.
        copies_buffers: also copy the model's buffers; False: they stay as they are.
    """

    def move(average: nn.Module, model: nn.Module, step: int) -> None:
        with torch.no_grad():
            for mean, now in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(now, 1 - ratio(step))
            if copies_buffers:
                for old, new in zip(average.buffers(), model.buffers(), strict=True):
                    old.copy_(new)

    return move


def losses_by_rate(
    rates: Iterable[float], ratio: Callable[[int], float], *, to_zero: bool = False
) -> tuple[dict[float, list[float]], dict[float, list[float]]]:
    """Return the validation losses of all seeds for each rate: of the last weights, and of their average."""
    last: dict[float, list[float]] = {}
    average: dict[float, list[float]] = {}
    for lr in rates:
        runs = [train_following(seed, lr, {"평균": following(ratio)}, to_zero=to_zero) for seed in SEEDS]
        last[lr] = [loss_and_accuracy(models["마지막"])[0] for models in runs]
        average[lr] = [loss_and_accuracy(models["평균"])[0] for models in runs]
    return last, average


def loss_curves(seed: int, lr: float, ratio: Callable[[int], float]) -> tuple[list[float], list[float]]:
    """Return the validation losses after every fifth step: of the weights themselves, and of their average."""
    own: list[float] = []
    averaged: list[float] = []
    move = following(ratio)

    def watch(average: nn.Module, model: nn.Module, step: int) -> None:
        move(average, model, step)
        if step % 5 == 4:
            own.append(loss_and_accuracy(model)[0])
            averaged.append(loss_and_accuracy(average)[0])

    train_following(seed, lr, {"평균": watch})
    return own, averaged


def averaged_model_loss(seed: int, lr: float, decay: float) -> float:
    """Return the validation loss of torch's `AveragedModel`, which copies the model at its first update."""
    made: list[AveragedModel] = []

    def update(_: nn.Module, model: nn.Module, step: int) -> None:
        if step == 0:
            made.append(AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay)))
        made[0].update_parameters(model)

    train_following(seed, lr, {"평균": update})
    return loss_and_accuracy(made[0])[0]


def measure_buffers_again(model: nn.Module, seed: int) -> nn.Module:
    """Return a copy whose BatchNorm statistics are computed anew from 80 batches of training images."""
    copied = copy.deepcopy(model)
    update_bn((xb for xb, _ in make_batches(seed, 80, 16)), copied)
    return copied
