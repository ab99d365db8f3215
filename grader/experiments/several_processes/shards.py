"""Orders in which ranks read the digits, and what training makes of them."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.experiments.several_processes.digits import make_model, x_train, x_val, y_train, y_val
from grader.experiments.vectors import flat

Order = Callable[[int, int], Tensor]
"""Gives the numbers that all ranks together read, from a seed and an epoch."""

WORLD = 4
BATCH, EPOCHS = 32, 20


def shuffled(n: int, *salt: int) -> Tensor:
    """Return the numbers 0 to n - 1 in an order that follows from the salt alone."""
    mixed = 0
    for number in salt:
        mixed = mixed * 1_000_003 + number
    return torch.randperm(n, generator=torch.Generator().manual_seed(mixed))


def new_each_epoch(seed: int, epoch: int) -> Tensor:
    """Shuffle once for all ranks, anew in each epoch: each image is read once."""
    return shuffled(len(x_train), seed, epoch)


def same_each_epoch(seed: int, epoch: int) -> Tensor:
    """Shuffle once for all ranks and all epochs, as when `set_epoch` is forgotten."""
    return shuffled(len(x_train), seed)


def ranks_shuffle_alone(seed: int, epoch: int) -> Tensor:
    """Take each rank's share from an order of its own: images are read by several ranks or by none."""
    n = len(x_train)
    shares = [shuffled(n, seed, epoch, rank)[rank::WORLD][: n // WORLD] for rank in range(WORLD)]
    return torch.stack(shares, dim=1).ravel()


def trained_in_order(order: Order, seeds: Sequence[int], rate: float) -> list[float]:
    """Train one classifier for each seed with SGD, all side by side, and return their validation losses.

    A batch of 32 in this process is what four ranks with 8 images each add up to.
    """
    weights = torch.stack([flat(make_model(seed).parameters()) for seed in seeds]).float().requires_grad_()
    images, val_images = x_train.float(), x_val.float()
    for epoch in range(EPOCHS):
        rows = torch.stack([order(seed, epoch)[: len(x_train) // BATCH * BATCH] for seed in seeds])
        for batch in rows.split(BATCH, dim=1):
            logits = _logits(weights, images[batch])
            losses = F.cross_entropy(logits.flatten(0, 1), y_train[batch].ravel(), reduction="sum") / BATCH
            (gradient,) = torch.autograd.grad(losses, weights)
            with torch.no_grad():
                weights -= rate * gradient
    with torch.no_grad():
        logits = _logits(weights, val_images.expand(len(seeds), -1, -1))
        return [F.cross_entropy(of_seed, y_val).item() for of_seed in logits]


def _logits(weights: Tensor, images: Tensor) -> Tensor:
    """Return each 64-64-10 classifier's logits for its own images."""
    first, bias, last, last_bias = weights.split([64 * 64, 64, 64 * 10, 10], dim=1)
    hidden = torch.tanh(torch.baddbmm(bias[:, None], images, first.view(-1, 64, 64).mT))
    return torch.baddbmm(last_bias[:, None], hidden, last.view(-1, 10, 64).mT)
