"""Experiments on clipping and mixed precision: gradients that vanish, steps that are skipped, one bad batch."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from grader.experiments.loop_anatomy.digits import (
    accuracy,
    device,
    loss_fn,
    make_batches,
    make_model,
    training_loss,
    validation_loss,
    x_train,
    y_train,
)
from grader.experiments.vectors import flat

MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]
OPTIMIZERS: dict[str, MakeOptimizer] = {
    "SGD 0.5": lambda params: torch.optim.SGD(params, lr=0.5),
    "AdamW 0.003": lambda params: torch.optim.AdamW(params, lr=0.003),
}


def momentum_sgd(params: Iterable[nn.Parameter]) -> Optimizer:
    """Return the SGD with momentum that meets a bad batch."""
    return torch.optim.SGD(params, lr=0.05, momentum=0.9)


def rogue_run(
    update: Callable[[nn.Module, Optimizer, Tensor, float], float],
    max_norm: float,
    seed: int,
    make_opt: MakeOptimizer = momentum_sgd,
) -> tuple[list[float], list[float]]:
    """Train for 120 steps whose step 60 has a batch of 255 times too large pixels.

    Returns:
        The validation loss after each step, and what `update(model, opt, loss, max_norm)` returned: the norm.
    """
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    opt = make_opt(model.parameters())
    losses, norms = [], []
    for step, (xb, yb) in enumerate(make_batches(seed, epochs=3)[:120]):
        loss = loss_fn(model(xb * 255 if step == 60 else xb), yb)
        norms.append(update(model, opt, loss, max_norm))
        losses.append(validation_loss(model))
    return losses, norms


def matmul_milliseconds(dtype: torch.dtype) -> float:
    """Return how long a product of two 4096 × 4096 matrices takes on the GPU."""
    square = torch.randn(4096, 4096, device=device, dtype=dtype)
    square @ square  # the first one is slower
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        square @ square
    torch.cuda.synchronize()
    return 100 * (time.perf_counter() - begin)


def deep_model(seed: int, *, xavier: bool = False) -> nn.Sequential:
    """Return a tanh network of 24 layers, with PyTorch's default initialization or Xavier's."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = [layer for _ in range(23) for layer in (nn.Linear(64, 64), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(64, 10)).to(device)
    if xavier:
        for layer in model:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_normal_(layer.weight, gain=5 / 3)
    return model


def gradients(model: nn.Sequential, dtype: torch.dtype, scale: float = 1.0) -> list[Tensor]:
    """Return each layer's weight gradient with a forward pass in `dtype`; the loss is scaled, and scaled back."""
    model.zero_grad()
    with torch.autocast(device.type, dtype, enabled=dtype is not torch.float32):
        loss = loss_fn(model(x_train[:256]), y_train[:256])
    (loss * scale).backward()
    return [
        layer.weight.grad / scale
        for layer in model
        if isinstance(layer, nn.Linear) and layer.weight.grad is not None
    ]


def relative_errors(found: list[Tensor], exact: list[Tensor]) -> list[float]:
    """Return each layer's relative error."""
    return [((one - true).norm() / true.norm()).item() for one, true in zip(found, exact, strict=True)]


def share_of_zeros(grads: list[Tensor]) -> float:
    """Return the share of entries that are exactly 0."""
    return (torch.cat([grad.flatten() for grad in grads]) == 0).float().mean().item()


def lost_to_float16(model: nn.Sequential, first: int | None = None) -> float:
    """Return the share of nonzero float32 gradient entries that are 0 in float16, in the `first` layers or in all."""
    exact = torch.cat([grad.flatten() for grad in gradients(model, torch.float32)[:first]])
    halved = torch.cat([grad.flatten() for grad in gradients(model, torch.float16)[:first]])
    return (halved[exact != 0] == 0).float().mean().item()


def half_precision_loss(dtype: torch.dtype, seed: int) -> float:
    """Return the training loss after three epochs with autocast in `dtype` and no scaler."""
    model = make_model(seed)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for xb, yb in make_batches(seed, epochs=3):
        opt.zero_grad()
        with torch.autocast(device.type, dtype, enabled=dtype is not torch.float32):
            loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
    return training_loss(model)


Order = Callable[[nn.Module, Optimizer, torch.amp.GradScaler], Any]


def clipped_run(order: Order, make_opt: MakeOptimizer, seed: int) -> tuple[float, float]:
    """Train for three epochs in float16, with `order` between backward and step.

    Returns:
        The training loss, and the largest norm of the gradients that `step` read.
    """
    model = make_model(seed)
    opt = make_opt(model.parameters())
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**16)
    largest = 0.0
    for xb, yb in make_batches(seed, epochs=3):
        opt.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
        order(model, opt, scaler)
        largest = max(largest, flat(p.grad for p in model.parameters()).norm().item())
        scaler.step(opt)
        scaler.update()
    return training_loss(model), largest


class OnlyAfterUpdates:
    """A scheduler that moves only if the scaler's last step was not skipped."""

    def __init__(self, scheduler: LRScheduler, scaler: torch.amp.GradScaler) -> None:
        self.scheduler, self.scaler = scheduler, scaler
        self.scale = scaler.get_scale()

    def step(self) -> None:
        """Move the learning rate unless the scale has fallen."""
        fell, self.scale = self.scaler.get_scale() < self.scale, self.scaler.get_scale()
        if not fell:
            self.scheduler.step()


def overflow_run(
    step: Callable[..., Any], *, wait_for_update: bool = False
) -> tuple[list[float], list[float], list[float]]:
    """Train in float16 from a scale of 2**24, which overflows.

    Returns:
        For each call of `step(model, opt, scaler, scheduler, xb, yb)`: the scale and the learning rate before it, and
        the distance that the parameters moved.
    """
    model = make_model(seed=4)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**24, growth_interval=12)
    scheduler: Any = LambdaLR(opt, lambda k: min(1.0, (k + 1) / 8))
    if wait_for_update:
        scheduler = OnlyAfterUpdates(scheduler, scaler)
    scales, rates, moves = [], [], []
    for xb, yb in make_batches(seed=4):
        before = flat(model.parameters())
        scales.append(scaler.get_scale())
        rates.append(opt.param_groups[0]["lr"])
        step(model, opt, scaler, scheduler, xb, yb)
        moves.append((flat(model.parameters()) - before).norm().item())
    return scales, rates, moves


def scaler_log(
    seed: int, *, spoil: float = 1.0, factor: float = 1.0, steps: int = 180
) -> tuple[float, list[int], float]:
    """Train in float16 with inputs times `spoil` and a loss times `factor`.

    Returns:
        The last scale, the numbers of the steps that were skipped, and the validation accuracy.
    """
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    scaler = torch.amp.GradScaler(device.type)
    batches = make_batches(seed, epochs=4)[:steps]
    skipped = [
        step for step, (xb, yb) in enumerate(batches) if _skips(model, opt, scaler, (xb * spoil, yb), factor)
    ]
    return scaler.get_scale(), skipped, accuracy(model)


def skipped_after(seed: int, *, restore: bool) -> int:
    """Make the scaler anew after 60 steps, and return how many of the next 30 are skipped."""
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    scaler = torch.amp.GradScaler(device.type)
    skipped = []
    for step, batch in enumerate(make_batches(seed, epochs=2)):
        if step == 60:
            saved = scaler.state_dict()
            scaler = torch.amp.GradScaler(device.type)
            if restore:
                scaler.load_state_dict(saved)
        skipped.append(_skips(model, opt, scaler, batch, 1e7))
    return sum(skipped[60:])


def _skips(
    model: nn.Module,
    opt: Optimizer,
    scaler: torch.amp.GradScaler,
    batch: tuple[Tensor, Tensor],
    factor: float,
) -> bool:
    """Do one step in float16 with a loss times `factor`, and return whether the scaler skipped the update."""
    opt.zero_grad()
    with torch.autocast(device.type, torch.float16):
        loss = loss_fn(model(batch[0]), batch[1]) * factor
    scale = scaler.get_scale()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    return scaler.get_scale() < scale


def steps_called(*, fused: bool) -> tuple[int, bool]:
    """Let AdamW meet a gradient of inf; return how often its `step` was called, and whether a weight moved."""
    weight = nn.Parameter(torch.ones(1, device=device))
    opt = torch.optim.AdamW([weight], lr=0.1, fused=fused)
    calls: list[Any] = []
    opt.register_step_pre_hook(lambda *_: calls.append(1))
    scaler = torch.amp.GradScaler(device.type, init_scale=1.0)
    scaler.scale((weight * math.inf).sum()).backward()
    scaler.step(opt)
    scaler.update()
    return len(calls), weight.item() != 1.0


def first_not_finite(model: nn.Module, xb: Tensor) -> str | None:
    """Return the name of the first module whose output is not finite in a forward pass; None if all are."""
    found: list[str] = []

    def look(name: str) -> Any:
        return lambda _module, _inputs, output: None if torch.isfinite(output).all() else found.append(name)

    hooks = [m.register_forward_hook(look(name)) for name, m in model.named_modules() if name]
    with torch.no_grad():
        model(xb)
    for hook in hooks:
        hook.remove()
    return found[0] if found else None
