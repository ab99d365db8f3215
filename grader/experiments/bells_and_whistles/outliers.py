"""One batch whose gradient is 512 times too large: what it leaves in the steps of AdamW and of momentum SGD."""

import math
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import nn

from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import flat, make_gpt
from grader.experiments.bells_and_whistles.stored import Run
from grader.experiments.bells_and_whistles.training import (
    MakeOptimizer,
    climb_then,
    momentum_sgd,
    train_with,
    validation_loss,
)

ROGUE = 70
"""The step, counted from 0, at which the batch comes."""

PROGRAMS: Mapping[str, tuple[MakeOptimizer, float, dict[str, Any]]] = {
    "AdamW, 튀는 배치 없음": (torch.optim.AdamW, 0.003, {"rogue": None, "clip_from": math.inf}),
    "AdamW, 클리핑 없음": (torch.optim.AdamW, 0.003, {"rogue": ROGUE, "clip_from": math.inf}),
    "AdamW, 클리핑": (torch.optim.AdamW, 0.003, {"rogue": ROGUE, "clip_from": 0}),
    "모멘텀 SGD, 클리핑 없음": (momentum_sgd, 0.3, {"rogue": ROGUE, "clip_from": math.inf}),
    "모멘텀 SGD, 클리핑": (momentum_sgd, 0.3, {"rogue": ROGUE, "clip_from": 0}),
}
"""Optimizer, peak and what happens, for each training that is compared."""


def rogue_run(name: str, seed: int) -> Run:
    """Run one of `PROGRAMS` for 130 steps: distances moved, and validation losses after the 50th."""
    make_opt, peak, settings = PROGRAMS[name]
    model = make_gpt(seed)
    opt = make_opt(model.parameters())
    place, moves, val_losses = [flat(model.parameters())], [], {}

    def watch(step: int) -> None:
        now = flat(model.parameters())
        moves.append((now - place[0]).norm().item())
        place[0] = now
        if step >= 50 and step % 4 == 1:
            loss = validation_loss(model)
            val_losses[step] = loss if math.isfinite(loss) else math.inf

    rates = climb_then("상수", peak=peak, warmup=30, total=130)
    _, norms = train_with(rates, model, opt, batch_stream(short_train, seed), after=watch, **settings)
    usual = median(moves[50:ROGUE])
    return {
        "norm": norms[ROGUE],
        "leap": moves[ROGUE] / usual,
        "later": median(moves[110:]) / usual,
        "before": val_losses[69],
        "worst": max(loss for step, loss in val_losses.items() if step >= ROGUE),
        "end": val_losses[129],
        "rms": moves[ROGUE] / peak / math.sqrt(len(place[0])),
        "curve": val_losses,
        "moves": moves,
    }


def _strides(beta2: float, seed: int, rogue: int | None) -> list[float]:
    """Return the distance of each step after the first."""
    model = make_gpt(seed)
    opt = torch.optim.AdamW(model.parameters(), betas=(0.9, beta2))
    path: list[torch.Tensor] = []
    rates = climb_then("상수", peak=0.003, warmup=30, total=280)
    stream = batch_stream(short_train, seed)

    def remember(step: int) -> None:
        path.append(flat(model.parameters()))

    train_with(rates, model, opt, stream, clip_from=math.inf, rogue=rogue, after=remember)
    return [(after - before).norm().item() for before, after in pairwise(path)]


def memory_run(beta2: float, seed: int) -> Run:
    """Return how long steps are after the batch, against those of a training without it, at four places."""
    with_it, without = _strides(beta2, seed, ROGUE), _strides(beta2, seed, None)
    return {
        f"{at - ROGUE}스텝 뒤": median(with_it[at - 1 : at + 19]) / median(without[at - 1 : at + 19])
        for at in (90, 110, 190, 260)
    }


def growing_steps(growth: float, calm: int = 1000, steps: int = 200, lr: float = 1e-3) -> float:
    """Return the longest step of AdamW, in units of the rate, for a gradient that grows by `growth` at each step.

    Before it grows, the gradient of one weight has been 1 with a random sign for `calm` steps.
    """
    weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    opt = torch.optim.AdamW([weight], lr=lr, weight_decay=0.0)
    signs = torch.randint(2, (calm,), generator=torch.Generator().manual_seed(0)).tolist()
    gradients = [2.0 * sign - 1 for sign in signs] + [growth**step for step in range(steps)]
    longest = 0.0
    for gradient in gradients:
        before = weight.item()
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        opt.step()
        longest = max(longest, abs(weight.item() - before) / lr)
    return longest
