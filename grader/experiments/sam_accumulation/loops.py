"""A SAM for experiments, loops that accumulate around it, and what their updates are made of.

A loop is called as `loop(model, sam, loss_fn, micro_batches, accum_steps)`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.experiments.sam_accumulation.digits import (
    Batch,
    loss_fn,
    make_batches,
    make_model,
    x_train,
    y_train,
)
from grader.experiments.sam_accumulation.vectors import (
    cosine,
    gradient_at,
    relative_error,
    set_weights,
    trained_weights,
)
from grader.experiments.vectors import flat

Loop = Callable[..., object]


class VectorSAM:
    """SAM over an optimizer, with all weights as one vector; learners write it tensor by tensor."""

    def __init__(self, model: nn.Module, opt: torch.optim.Optimizer, rho: float = 0.05) -> None:
        self.model, self.opt, self.rho = model, opt, rho

    def zero_grad(self) -> None:
        """Clear all gradients."""
        self.opt.zero_grad()

    def first_step(self, zero_grad: bool = False) -> None:
        """Climb from w to w + e, and note w."""
        self.w = flat(self.model.parameters())
        g = flat(p.grad for p in self.model.parameters())
        set_weights(self.model, self.w + self.rho * g / g.norm())
        if zero_grad:
            self.opt.zero_grad()

    def second_step(self, zero_grad: bool = False) -> None:
        """Return to w and let the optimizer step with the gradient taken at w + e."""
        set_weights(self.model, self.w)
        self.opt.step()
        if zero_grad:
            self.opt.zero_grad()


class SpySGD(torch.optim.SGD):
    """SGD that notes the gradient which its last `step` read."""

    used: Tensor

    def step(self, closure: Any = None) -> Any:
        """Note the gradient, then step."""
        self.used = flat(p.grad for group in self.param_groups for p in group["params"])
        return super().step(closure)


def recipe(loop: Loop, accum_steps: int = 4, rho: float = 0.05) -> list[float]:
    """Return how much of h1, h2, … (each micro-batch's gradient at w + e) is in one update of the loop."""
    model = make_model(seed=1)
    window = make_batches(seed=1, count=accum_steps)
    w = flat(model.parameters())
    g = gradient_at(model, w, window)
    peak = w + rho * g / g.norm()
    each = torch.stack([gradient_at(model, peak, [batch]) for batch in window], dim=1)
    set_weights(model, w)
    opt = SpySGD(model.parameters(), lr=0.5)
    loop(model, VectorSAM(model, opt, rho), loss_fn, window, accum_steps)
    amounts = torch.linalg.lstsq(each.cpu(), opt.used.cpu()[:, None]).solution.flatten()
    return [round(amount, 3) + 0.0 for amount in amounts.tolist()]


def tempting_loop(
    model: nn.Module, sam: VectorSAM, loss_fn: nn.Module, micro_batches: Sequence[Batch], accum_steps: int
) -> None:
    """Accumulate wrongly: the second pass sees the window's last micro-batch again and again."""
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        (loss_fn(model(xb), yb) / accum_steps).backward()
        if i % accum_steps != 0:
            continue
        sam.first_step(zero_grad=True)
        for _ in range(accum_steps):
            (loss_fn(model(xb), yb) / accum_steps).backward()
        sam.second_step(zero_grad=True)


def plain_loop(
    model: nn.Module, sam: VectorSAM, loss_fn: nn.Module, micro_batches: Sequence[Batch], accum_steps: int
) -> None:
    """Accumulate without SAM."""
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        (loss_fn(model(xb), yb) / accum_steps).backward()
        if i % accum_steps == 0:
            sam.opt.step()
            sam.opt.zero_grad()


def vector_loop(
    model: nn.Module, sam: VectorSAM, loss_fn: nn.Module, micro_batches: Sequence[Batch], accum_steps: int
) -> None:
    """Update with SAM on each whole window at once: right, but it saves no memory."""
    for start in range(0, len(micro_batches), accum_steps):
        window = micro_batches[start : start + accum_steps]
        w = flat(model.parameters())
        g = gradient_at(model, w, window)
        h = gradient_at(model, w + sam.rho * g / g.norm(), window)
        set_weights(model, w - sam.opt.param_groups[0]["lr"] * h)


def train_losses(loop: Loop, seed: int, windows: int = 60, rho: float = 0.05) -> list[float]:
    """Return the loss on all training data after every 12 of `windows` updates, in windows of four."""
    model = make_model(seed)
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5), rho)
    batches = make_batches(seed, 4 * windows)
    curve = []
    for start in range(0, len(batches), 48):
        loop(model, sam, loss_fn, batches[start : start + 48], 4)
        with torch.no_grad():
            curve.append(loss_fn(model(x_train.double()), y_train).item())
    return curve


def compare_gradients(
    size: int, *, steps: int = 100, rho: float = 0.05, seeds: Sequence[int] = range(12)
) -> list[list[float]]:
    """Compare, for windows of `size`, `tempting_loop` and plain accumulation with right SAM.

    Returns:
        A list over the seeds of each: relative error and cosine of `tempting_loop`, then of plain accumulation.
    """
    rows = []
    for seed in seeds:
        model = make_model(seed)
        w = trained_weights(model, seed + 100, steps)
        window = make_batches(seed, size)
        g = gradient_at(model, w, window)
        peak = w + rho * g / g.norm()
        h = gradient_at(model, peak, window)
        last = gradient_at(model, peak, window[-1:])
        rows.append((relative_error(last, h), cosine(last, h), relative_error(g, h), cosine(g, h)))
    return [list(column) for column in zip(*rows, strict=True)]


def update_by_hand(
    model: nn.Module, windows: Sequence[Sequence[Batch]], *, rho: float, lr: float, max_norm: float
) -> Tensor:
    """Return the weights after one clipped SAM update a window, from the formulas alone."""
    w = flat(model.parameters())
    for window in windows:
        g = gradient_at(model, w, window)
        h = gradient_at(model, w + rho * g / g.norm(), window)
        w = w - lr * h * min(1.0, max_norm / (h.norm().item() + 1e-6))
    return w
