"""Digits with one blank image among them, and training on them until something is no longer finite."""

import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from grader.experiments.several_processes.classifier import draw_batches
from grader.experiments.several_processes.digits import Batch, loss_fn, sgd

SEEDS = range(6)


def batches_with_blank(seed: int) -> tuple[list[Batch], int, int]:
    """Return 60 batches of 32 digits in which one image is blank, its step (30 to 44) and its row."""
    generator = torch.Generator().manual_seed(seed)
    step = int(torch.randint(30, 45, (), generator=generator))
    row = int(torch.randint(32, (), generator=generator))
    batches = draw_batches(seed, 60)
    batches[step][0][row] = 0.0
    return batches, step, row


def make_model(seed: int, scale: nn.Module) -> nn.Sequential:
    """Return a 64-64-10 classifier in float64 with `scale` after its first layer, which has no bias."""
    torch.manual_seed(seed)
    layers = OrderedDict(
        first=nn.Linear(64, 64, bias=False), scale=scale, relu=nn.ReLU(), head=nn.Linear(64, 10)
    )
    return nn.Sequential(layers).double()


def train(model: nn.Module, batches: Sequence[Batch], max_norm: float | None = None) -> list[float]:
    """Update once with each batch and return its loss; clip the gradients if there is a limit."""
    opt, losses = sgd(model.parameters()), []
    for xb, yb in batches:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        losses.append(loss.item())
    return losses


def first_nan(losses: Sequence[float]) -> int | None:
    """Return the first step whose loss is NaN; None if there is none."""
    return next((step for step, loss in enumerate(losses) if math.isnan(loss)), None)


def nan_share(tensors: Sequence[Tensor]) -> float:
    """Return which share of all numbers in these tensors is NaN."""
    return sum(int(tensor.isnan().sum()) for tensor in tensors) / sum(tensor.numel() for tensor in tensors)


def layers_that_spoil(model: nn.Module, batch: Tensor) -> list[str]:
    """Return the children that make of a finite input an output that is not, in the order of their calls."""
    spoils = []
    hooks = [
        layer.register_forward_hook(
            lambda _layer, inputs, output, name=name: spoils.append(
                (name, bool(inputs[0].isfinite().all()), bool(output.isfinite().all()))
            )
        )
        for name, layer in model.named_children()
    ]
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return [name for name, is_good, stays_good in spoils if is_good and not stays_good]


def anomaly(model: nn.Module, xb: Tensor, yb: Tensor) -> tuple[str, str]:
    """Make a backward pass under `detect_anomaly`; return its error and the line of the forward pass that it names.

    Both are empty if nothing was wrong.
    """
    with warnings.catch_warnings(record=True) as caught, torch.autograd.detect_anomaly():
        warnings.simplefilter("always")
        try:
            loss_fn(model(xb), yb).backward()
        except RuntimeError as error:
            trace = next(str(w.message) for w in caught if "Traceback of forward call" in str(w.message))
            lines = re.findall(r'File ".*", line \d+, in .*\n +(.*)', trace)
            return str(error), lines[-1]
    return "", ""
