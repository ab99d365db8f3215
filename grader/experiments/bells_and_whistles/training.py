"""One training run of the GPT: a list says the learning rate of each step."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from grader.experiments.bells_and_whistles.data import batch_stream, short_train, short_val
from grader.experiments.bells_and_whistles.gpt import make_gpt, token_loss

Log = tuple[list[float], list[float]]
"""Batch loss and norm of the gradient, for each step."""
MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]
"""Makes an optimizer for parameters."""

PAUSE = 39
"""Number of steps by which "WSD" comes down."""


def climb_then(
    shape: str, *, peak: float, warmup: int, total: int, initial: float = 3e-5, lowest: float = 1e-6
) -> list[float]:
    """Return the learning rate of each of `total` steps.

    They climb in a straight line from `initial` to `peak` within `warmup` steps, then follow `shape`: "상수" stays
    there, "직선" (a line), "코사인" and "WSD" (only in the last 40 steps) come down to `lowest`.
    """
    grid: dict[str, Any] = {"steps": total - warmup, "dtype": torch.float64}
    height = {
        "상수": torch.linspace(1, 1, **grid),
        "직선": torch.linspace(1, 0, **grid),
        "코사인": (1 + torch.linspace(0, math.pi, **grid).cos()) / 2,
        "WSD": (torch.linspace(total - warmup - 1, 0, **grid) / PAUSE).clamp(max=1),
    }[shape]
    up = torch.linspace(initial, peak, warmup + 1, dtype=torch.float64)[:-1]
    rates: list[float] = torch.cat([up, lowest + (peak - lowest) * height]).tolist()
    return rates


def train_with(
    rates: Sequence[float],
    model: nn.Module,
    opt: Optimizer,
    stream: Iterable[Tensor],
    *,
    clip_from: float = 0,
    max_norm: float = 1.0,
    rogue: int | None = None,
    after: Callable[[int], None] | None = None,
) -> Log:
    """Train one step for each rate.

    Args:
        rates: learning rate of each step, for all groups.
        model: what is trained.
        opt: its optimizer.
        stream: batches of windows, at least as many as rates.
        clip_from: first step that clips; `math.inf` only measures.
        max_norm: limit of the norm.
        rogue: the step whose loss is the sum over its tokens instead of their mean.
        after: called with the step's number at the end of each step.

    Returns:
        Batch losses, and norms before clipping.
    """
    losses, norms = [], []
    for step, (rate, part) in enumerate(zip(rates, stream, strict=False)):
        for group in opt.param_groups:
            group["lr"] = rate
        opt.zero_grad()
        loss = token_loss(model, part)
        (loss * part[:, 1:].numel() if step == rogue else loss).backward()
        limit = max_norm if step >= clip_from else math.inf
        norms.append(clip_grad_norm_(model.parameters(), limit).item())
        opt.step()
        losses.append(loss.item())
        if after is not None:
            after(step)
    return losses, norms


def short_run(rates: Sequence[float], seed: int, *, clip_from: float = math.inf) -> tuple[Log, float]:
    """Train the small GPT with AdamW; return the log and the last validation loss. Nothing clips unless asked to."""
    model = make_gpt(seed)
    opt = torch.optim.AdamW(model.parameters())
    log = train_with(rates, model, opt, batch_stream(short_train, seed), clip_from=clip_from)
    return log, validation_loss(model)


@torch.no_grad()
def validation_loss(model: nn.Module) -> float:
    """Return the loss over all short windows of the validation text."""
    return token_loss(model, short_val).item()


def momentum_sgd(params: Iterable[nn.Parameter]) -> Optimizer:
    """Return SGD with momentum 0.9."""
    return torch.optim.SGD(params, lr=1.0, momentum=0.9)
