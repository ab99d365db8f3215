"""Experiments on checkpoints: a model that overfits, a disk that fills up, a training that is continued."""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from grader.experiments.loop_anatomy.digits import (
    Batch,
    RunConfig,
    device,
    folder,
    loss_fn,
    make_batches,
    make_model,
    on_cpu,
    plain_step,
    validation_loss,
    x_train,
    y_train,
)
from grader.experiments.vectors import flat

Curve = list[float]


def noisy_digits(generator: torch.Generator) -> Batch:
    """Return 120 training images, 20 % of which have a label drawn at random."""
    noisy = torch.rand(120, generator=generator) < 0.2
    targets = y_train[:120].cpu().clone()
    targets[noisy] = torch.randint(10, (int(noisy.sum()),), generator=generator)
    return x_train[:120], targets.to(device)


def overfit_run(
    seed: int, keep: Callable[[nn.Module], Any] | None = None, epochs: int = 60
) -> tuple[Curve, Curve, nn.Module, Any]:
    """Train on the noisy digits.

    Returns:
        Training losses, validation losses, the model, and what `keep(model)` gave at the lowest validation loss.
    """
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    generator = torch.Generator().manual_seed(seed)
    inputs, targets = noisy_digits(generator)
    train_curve: Curve = []
    val_curve: Curve = []
    kept = None
    for _ in range(epochs):
        for rows in torch.randperm(120, generator=generator).to(device).split(32):
            plain_step(model, opt, (inputs[rows], targets[rows]))
        with torch.no_grad():
            train_curve.append(loss_fn(model(inputs), targets).item())
        val_curve.append(validation_loss(model))
        if keep is not None and val_curve[-1] == min(val_curve):
            kept = keep(model)
    return train_curve, val_curve, model, kept


class FullDisk(io.FileIO):
    """A file on a disk that is full after 4,000 bytes."""

    room = 4000

    def write(self, data: Any) -> int:
        """Write the bytes, as long as there is room."""
        self.room -= len(data)
        if self.room < 0:
            raise OSError("디스크가 꽉 찼습니다")
        return super().write(data)


Save = Callable[[dict[str, Any], Path, Callable[..., Any]], None]


def what_is_left(save: Save) -> str:
    """Save an old model (score 0.9), die while saving a new one (0.95), and say in Korean what the file holds."""
    path = folder / "best.pt"
    weights = make_model(seed=7).state_dict()
    save({"score": 0.9, "model": weights}, path, io.FileIO)
    try:
        save({"score": 0.95, "model": weights}, path, FullDisk)
    except (OSError, RuntimeError):
        print(f"{save.__name__}: 저장하다가 죽었습니다. best.pt는 {path.stat().st_size:,}바이트입니다")
    try:
        return f"점수 {torch.load(path, weights_only=True)['score']}"
    except Exception as error:
        return f"열리지 않음: {str(error).split(':')[0][:60]}"


def random_state() -> dict[str, Tensor]:
    """Return the state of torch's random numbers, of a GPU's too."""
    states = {"cpu": torch.get_rng_state()}
    return states if on_cpu else states | {"cuda": torch.cuda.get_rng_state()}


def restore_random(states: dict[str, Tensor]) -> None:
    """Restore what `random_state` returned."""
    torch.set_rng_state(states["cpu"])
    if not on_cpu:
        torch.cuda.set_rng_state(states["cuda"])


def planned(k: int) -> float:
    """Return the factor of step k: 20 steps of warm-up, and a cosine that ends at step 120."""
    return (k + 1) / 20 if k < 20 else 0.5 * (1 + math.cos(math.pi * (k - 20) / 100))


def fresh_start(seed: int) -> tuple[nn.Module, Optimizer, LRScheduler]:
    """Return a model with dropout, SGD with momentum, and the planned schedule."""
    model = make_model(seed, dropout=0.2)
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    return model, opt, LambdaLR(opt, planned)


Log = list[tuple[float, float]]


def continue_training(model: nn.Module, opt: Optimizer, scheduler: LRScheduler, batches: list[Batch]) -> Log:
    """Train on some batches; return loss and learning rate of each step."""
    log = []
    for batch in batches:
        rate = opt.param_groups[0]["lr"]
        log.append((plain_step(model, opt, batch), rate))
        scheduler.step()
    return log


def whole_run(seed: int, save: Callable[..., Any]) -> tuple[Tensor, Log]:
    """Train for 120 steps, and call `save(model, opt, scheduler)` after 60; return the last weights and the log."""
    batches = make_batches(seed, epochs=3)[:120]
    model, opt, scheduler = fresh_start(seed)
    log = continue_training(model, opt, scheduler, batches[:60])
    save(model, opt, scheduler)
    log += continue_training(model, opt, scheduler, batches[60:])
    return flat(model.parameters()), log


def resumed_run(seed: int, restore: Callable[..., Any], missing: tuple[str, ...]) -> tuple[Tensor, Log]:
    """Continue at step 60 after `restore(model, opt, scheduler, missing)`; return the last weights and the log."""
    model, opt, scheduler = fresh_start(seed)
    restore(model, opt, scheduler, missing)
    log = continue_training(model, opt, scheduler, make_batches(seed, epochs=3)[60:120])
    return flat(model.parameters()), log


def update(model: nn.Module, opt: Optimizer, batch: Batch) -> tuple[Tensor, Tensor]:
    """Do one update; return how far each weight moved, and the gradient."""
    before = flat(model.parameters())
    plain_step(model, opt, batch)
    return flat(model.parameters()) - before, flat(p.grad for p in model.parameters())


def stop_and_resume(
    seed: int, save: Callable[..., Any], resume: Callable[..., Any]
) -> tuple[list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
    """Train for 90 steps with AdamW; return the next ten updates without a break, and after saving and resuming."""
    cfg = RunConfig(seed=seed)
    batches = make_batches(seed, epochs=3)
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for batch in batches[:90]:
        update(model, opt, batch)
    path = folder / "loop_4.pt"
    save(model, cfg, 0.9, 90, path)
    resumed_model, resumed_opt, step = resume(path)
    whole = [update(model, opt, batch) for batch in batches[90:100]]
    return whole, [update(resumed_model, resumed_opt, batch) for batch in batches[step : step + 10]]
