"""How long AdamW's steps are: without bias correction, after one huge gradient, and for the worst gradients."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

import torch
from torch import Tensor, nn

from grader.experiments.several_processes.digits import (
    loss_fn,
    make_batches,
    make_model,
    x_train,
    x_val,
    y_train,
    y_val,
)
from grader.experiments.vectors import flat

SEEDS = tuple(range(6))
"""The seeds over which the claims are measured."""


def missing_correction(step: int, beta1: float = 0.9, beta2: float = 0.999) -> float:
    """Return how many times longer step `step`, from 1, becomes if neither average is corrected."""
    return (1 - beta1**step) / math.sqrt(1 - beta2**step)


def train_digits(
    seed: int, lr: float, *, factor: Callable[[int], float] = lambda _: 1.0, steps: int = 200
) -> float:
    """Train a classifier of the digits with AdamW, without decay, and return its validation loss.

    Args:
        seed: seed of the weights and of the batches of 64.
        lr: learning rate.
        factor: what the rate of each step, counted from 1, is multiplied by. With `missing_correction` the steps are
            those of an AdamW that corrects nothing: its eps of 1e-8 is too small to make a difference.
        steps: number of steps.
    """
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), weight_decay=0.0, fused=True)
    for step, (xb, yb) in enumerate(make_batches(seed, steps), start=1):
        opt.param_groups[0]["lr"] = lr * factor(step)
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    with torch.no_grad():
        return float(loss_fn(model(x_val), y_val))


def first_move_ratio(seed: int, step: Callable[[Tensor], Tensor]) -> float:
    """Return how long a first update of the classifier is, against that of torch's AdamW with rate 1.

    Args:
        seed: seed of the weights; the batch is the first 64 digits.
        step: gradient -> what is subtracted from the weights.
    """
    model = make_model(seed)
    loss_fn(model(x_train[:64]), y_train[:64]).backward()
    before = flat(model.parameters())
    gradient = flat(p.grad for p in model.parameters())
    torch.optim.AdamW(model.parameters(), lr=1.0, weight_decay=0.0).step()
    return float(step(gradient).norm() / (flat(model.parameters()) - before).norm())


def losses_by_rate(
    rates: Iterable[float], factor: Callable[[int], float] = lambda _: 1.0
) -> dict[float, list[float]]:
    """Return the validation losses of all seeds for each rate."""
    return {lr: [train_digits(seed, lr, factor=factor) for seed in SEEDS] for lr in rates}


def best_rate(losses: Mapping[float, Sequence[float]]) -> float:
    """Return the rate whose losses have the lowest median."""
    return min(losses, key=lambda lr: median(losses[lr]))


def steps_of(gradients: Sequence[float], beta1: float = 0.9, beta2: float = 0.999) -> list[float]:
    """Return the steps of torch's AdamW for one weight and these gradients, in units of the rate; plus is downwards."""
    weight, moved = nn.Parameter(torch.zeros((), dtype=torch.float64)), []
    opt = torch.optim.AdamW([weight], lr=1.0, betas=(beta1, beta2), weight_decay=0.0, foreach=False)
    for gradient in gradients:
        before = weight.item()
        weight.grad = torch.tensor(gradient, dtype=torch.float64)
        opt.step()
        moved.append(before - weight.item())
    return moved


def calm(seed: int, steps: int = 5000) -> list[float]:
    """Return gradients of size 1 with random signs."""
    signs = torch.randint(2, (steps,), generator=torch.Generator().manual_seed(seed))
    return (2.0 * signs - 1).tolist()


def shrink(
    make_opt: Callable[..., torch.optim.Optimizer], sizes: Sequence[float], seed: int, steps: int = 500
) -> list[float]:
    """Decay weights that start at 1 by 0.1 under gradients that are pure noise of these sizes.

    Returns:
        For each size, the mean of 1,000 weights after the steps, with rate 0.001.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = nn.Parameter(torch.ones(len(sizes), 1000))
    opt = make_opt([weights], lr=1e-3, weight_decay=0.1)
    for _ in range(steps):
        weights.grad = torch.randn(weights.shape, generator=generator) * torch.tensor(sizes)[:, None]
        opt.step()
    return [float(mean) for mean in weights.detach().mean(1)]
