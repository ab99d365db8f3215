"""What `_qa_case` says of its losses: every way of choosing an epoch finds another one, whatever the seed."""

from itertools import accumulate

import pytest
import torch

from grader.exercises.sam_accumulation._qa_case import SCORED_EPOCHS, Loader, Reader, make_qa_case
from grader.observe.play import Env


def _mean_loss(model: Reader, loader: Loader) -> float:
    """Return the mean of the losses of all batches."""
    losses = [model(**batch).loss.item() for batch in loader]
    return sum(losses) / len(losses)


def _losses(seed: int, epochs_with_data: int) -> tuple[list[float], list[float]]:
    """Return (training, dev) losses of all epochs of a model that never moves."""
    case = make_qa_case(Env(seed, torch.device("cpu"), "best-epoch"), 2, epochs=epochs_with_data)
    training, dev = [], []
    for _ in range(SCORED_EPOCHS):
        training.append(_mean_loss(case.model, case.train))
        dev.append(_mean_loss(case.model, case.dev))
    return training, dev


def _choices(training: list[float], dev: list[float]) -> list[int]:
    """Return the epoch that each way of choosing finds."""
    means = [total / number for number, total in enumerate(accumulate(dev), start=1)]
    best = dev.index(min(dev))
    last_fall = max(epoch for epoch in range(1, len(dev)) if dev[epoch] < dev[epoch - 1])
    by_mean, by_training = means.index(min(means)), training.index(min(training))
    return [best, best + 1, dev.index(max(dev)), by_mean, last_fall, by_training, len(dev) - 1]


@pytest.mark.parametrize("epochs_with_data", [1, SCORED_EPOCHS])
@pytest.mark.parametrize("seed", [*range(1, 20), 222, 282])
def test_every_way_of_choosing_finds_another_epoch(seed: int, epochs_with_data: int) -> None:
    choices = _choices(*_losses(seed, epochs_with_data))
    assert len(set(choices)) == len(choices)
