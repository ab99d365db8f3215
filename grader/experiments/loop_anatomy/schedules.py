"""Experiments on learning-rate schedules: what each buys, and what happens after the planned end."""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler, SequentialLR

from grader.experiments.loop_anatomy.digits import device, loss_fn, make_batches, training_loss

MakeScheduler = Callable[[Optimizer], LRScheduler]


def warmup_then_cosine(opt: Optimizer, warmup: int, total: int) -> LRScheduler:
    """Return two of PyTorch's schedulers, one after the other: linear warm-up, then a cosine."""
    rising = LinearLR(opt, start_factor=1 / warmup, total_iters=warmup - 1)
    falling = CosineAnnealingLR(opt, T_max=total - warmup)
    return SequentialLR(opt, [rising, falling], milestones=[warmup])


def scheduled_run(make_scheduler: MakeScheduler, seed: int, lr: float = 0.05) -> tuple[float, float]:
    """Train three ReLU layers with AdamW for three epochs.

    Returns:
        The training loss at the end, and the highest batch loss within the first 40 steps.
    """
    torch.manual_seed(seed)
    layers = [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    model = nn.Sequential(*layers).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    scheduler = make_scheduler(opt)
    curve = []
    for xb, yb in make_batches(seed, epochs=3):
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        scheduler.step()
        curve.append(loss.item())
    return training_loss(model), max(curve[:40])


def rates_of(make_scheduler: MakeScheduler, steps: int = 130) -> tuple[list[float], str | None]:
    """Return the learning rate of each step, from a peak of 1, and the error that ended them early, if any."""
    opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make_scheduler(opt)
    rates: list[float] = []
    for _ in range(steps):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        try:
            scheduler.step()
        except ValueError as error:
            return rates, str(error)
    return rates, None


def cosine_by_formula(k: int) -> float:
    """Return the factor of step k for 10 steps of warm-up and a cosine that ends at step 100."""
    return (k + 1) / 10 if k < 10 else 0.5 * (1 + math.cos(math.pi * (k - 10) / 90))
