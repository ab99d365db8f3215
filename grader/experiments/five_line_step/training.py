"""Longer runs of lesson 01: training on the digits with and without clearing, and heads that are not used."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.five_line_step.data import (
    device,
    digits,
    loss_fn,
    make_batches,
    make_batches_of_seeds,
    make_model,
)
from grader.experiments.vectors import flat

MakeOptimizer = Callable[[Any], torch.optim.Optimizer]
"""Makes an optimizer for parameters."""


def sgd(lr: float, momentum: float = 0.0, weight_decay: float = 0.0) -> MakeOptimizer:
    """Return what makes such an SGD."""
    return lambda params: torch.optim.SGD(params, lr=lr, momentum=momentum, weight_decay=weight_decay)


def adam(lr: float) -> MakeOptimizer:
    """Return what makes such an Adam."""
    return lambda params: torch.optim.Adam(params, lr=lr)


SETTINGS: dict[str, tuple[MakeOptimizer, int]] = {
    "SGD 0.01, 1에폭": (sgd(0.01), 1),
    "SGD 0.1 + 모멘텀 0.9, 1에폭": (sgd(0.1, momentum=0.9), 1),
    "SGD 0.5, 5에폭": (sgd(0.5), 5),
    "Adam 0.001, 5에폭": (adam(0.001), 5),
    "Adam 0.01, 5에폭": (adam(0.01), 5),
}
"""Optimizer and epochs of each row of the table of missing `zero_grad`."""


def train_digits(
    seeds: Sequence[int], make_opt: MakeOptimizer, *, epochs: int = 1, clear: bool = True
) -> tuple[list[float], list[list[float]]]:
    """Train on the digits with each seed; return the last training loss of each, and the loss of each of its steps.

    The models learn side by side in one set of tensors, which takes a fifth of the time: each has its own weights,
    batches and gradients, and the optimizers used here move every number by itself. With `clear=False` gradients are
    never cleared.
    """
    models = [make_model(seed) for seed in seeds]
    # Shape (seeds, ...). A bias gets a dimension for the samples of a batch.
    first, bias, second, last_bias = (
        torch.stack([p.detach() if p.dim() == 2 else p.detach()[None] for p in parameters]).requires_grad_()
        for parameters in zip(*(model.parameters() for model in models), strict=True)
    )

    def losses_on(xb: Tensor, yb: Tensor) -> Tensor:
        """Return the mean loss of each model on its batch; shape (seeds,)."""
        logits = torch.baddbmm(last_bias, torch.tanh(torch.baddbmm(bias, xb, first.mT)), second.mT)
        losses = F.cross_entropy(logits.flatten(0, 1), yb.flatten(), reduction="none")
        return losses.view(yb.shape).mean(dim=1)

    opt = make_opt([first, bias, second, last_bias])
    curve = []
    for xb, yb in make_batches_of_seeds(seeds, epochs=epochs):
        if clear:
            opt.zero_grad()
        losses = losses_on(xb, yb)
        losses.sum().backward()  # a sum: each model gets the gradient of its own loss
        opt.step()
        curve.append(losses.detach())
    x_train, y_train, _, _ = digits()
    with torch.no_grad():
        final = losses_on(*(whole.expand(len(models), *whole.shape) for whole in (x_train, y_train)))
    return final.tolist(), torch.stack(curve, dim=1).tolist()


Losses = dict[tuple[str, bool], list[float]]
"""Last losses by setting and whether gradients were cleared, a number for each seed."""
Curves = dict[tuple[str, bool], list[list[float]]]
"""Losses of each step, in the same way."""


def train_settings(seeds: Sequence[int]) -> tuple[Losses, Curves]:
    """Train with each of `SETTINGS`, with and without clearing, over all seeds."""
    losses: Losses = {}
    curves: Curves = {}
    for name, (make_opt, epochs) in SETTINGS.items():
        for clear in (True, False):
            losses[name, clear], curves[name, clear] = train_digits(
                seeds, make_opt, epochs=epochs, clear=clear
            )
    return losses, curves


def rows_of(losses: Losses) -> list[list[str]]:
    """Return the rows of a table: setting, medians with and without clearing, range, and seeds in which it is worse."""
    rows = []
    for name in SETTINGS:
        right, bug = losses[name, True], losses[name, False]
        worse = sum(b > a for a, b in zip(right, bug, strict=True))
        spread = f"{min(bug):.2f} ~ {max(bug):.2f}"
        rows.append([name, f"{median(right):.3f}", f"{median(bug):.3f}", spread, f"{worse}/{len(bug)}"])
    return rows


def draw_curves(curves: Curves, panels: dict[str, str]) -> Any:
    """Draw the loss curves of two settings (name → title), with and without clearing, side by side."""
    from matplotlib import pyplot as plt

    from grader.plots import COLORS

    figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.6), sharex=True)
    for axis, (name, title) in zip(axes, panels.items(), strict=True):
        for clear, color, style in ((True, COLORS["right"], "-"), (False, COLORS["wrong"], "--")):
            for number, curve in enumerate(curves[name, clear]):
                label = ("바른 루프" if clear else "zero_grad 없음") if number == 0 else None
                axis.plot(curve, color=color, linestyle=style, linewidth=0.9, alpha=0.65, label=label)
        axis.set(title=title, xlabel="스텝", yscale="log")
        for line in axis.legend().get_lines():
            line.set(linewidth=2, alpha=1)
    axes[0].set_ylabel("배치 손실 (로그 눈금)")
    axes[1].set_ylabel("배치 손실 (왼쪽보다 넓은 눈금)")
    axes[0].set_yticks([1, 2, 3], ["1", "2", "3"])
    axes[1].set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    for axis in axes:
        axis.minorticks_off()
    return figure


def fifty_steps(
    *, momentum: float = 0.0, clear: bool = True, lr: float = 0.05, weight_decay: float = 0.0
) -> Tensor:
    """Return the weights after 50 steps of SGD, as one vector."""
    model = make_model(seed=4)
    opt = sgd(lr, momentum, weight_decay)(model.parameters())
    for xb, yb in make_batches(seed=4, epochs=2)[:50]:
        if clear:
            opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    return flat(model.parameters())


def idle_head_moved(make_opt: MakeOptimizer, *, set_to_none: bool) -> float:
    """Train two heads for 20 steps and one of them for 50 more; return how far the other's weights moved in those."""
    torch.manual_seed(10)
    body, head_a, head_b = (nn.Linear(*size).to(device) for size in ((64, 32), (32, 10), (32, 10)))
    parameters: Iterable[Tensor] = [*body.parameters(), *head_a.parameters(), *head_b.parameters()]
    opt = make_opt(parameters)
    before = head_b.weight
    for step, (xb, yb) in enumerate(make_batches(seed=10, epochs=2)[:70]):
        if step == 20:
            before = head_b.weight.detach().clone()
        opt.zero_grad(set_to_none=set_to_none)
        features = torch.tanh(body(xb))
        loss = loss_fn(head_a(features), yb)
        if step < 20:
            loss = loss + loss_fn(head_b(features), yb)
        loss.backward()
        opt.step()
    return (head_b.weight - before).abs().max().item()
