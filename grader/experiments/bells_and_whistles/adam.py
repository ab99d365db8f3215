"""The first steps of Adam: how far they go, and whether one batch knows the sign of the gradient."""

import math
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import flat, make_gpt, token_loss
from grader.experiments.bells_and_whistles.training import MakeOptimizer, train_with


def first_move(make_opt: MakeOptimizer, scale: float) -> Tensor:
    """Return how far the first update moves each weight if the loss is multiplied by `scale`."""
    model = make_gpt(0)
    before = flat(model.parameters())
    opt = make_opt(model.parameters())
    (token_loss(model, short_train[:16]) * scale).backward()
    opt.step()
    return flat(model.parameters()) - before


def sgd(params: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Return plain SGD with rate 0.001."""
    return torch.optim.SGD(params, lr=1e-3)


def adamw(params: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Return AdamW with rate 0.001, without weight decay."""
    return torch.optim.AdamW(params, lr=1e-3, weight_decay=0.0)


def moves_of(rates: Sequence[float], seed: int = 0) -> tuple[list[float], list[float]]:
    """Train with AdamW along the rates.

    Returns:
        The length of each update in units of its rate, and the cosine between each update and the one before it.
    """
    model = make_gpt(seed)
    places = [flat(model.parameters())]
    lengths: list[float] = []
    turns: list[float] = []

    def remember(step: int) -> None:
        places.append(flat(model.parameters()))
        lengths.append((places[-1] - places[-2]).norm().item() / rates[step])
        if step > 0:
            moves = places[-1] - places[-2], places[-2] - places[-3]
            turns.append(F.cosine_similarity(*moves, dim=0).item())

    opt = torch.optim.AdamW(model.parameters())
    train_with(rates, model, opt, batch_stream(short_train, seed), clip_from=math.inf, after=remember)
    return lengths, turns


def gradient_at_start(part: Tensor) -> Tensor:
    """Return the gradient of the loss on these windows at the weights of seed 0."""
    model = make_gpt(0)
    return flat(torch.autograd.grad(token_loss(model, part), list(model.parameters())))
