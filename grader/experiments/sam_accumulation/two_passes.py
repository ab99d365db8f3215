"""What two passes at two places do: to the average over a window, clipping, batch norm, and layers without gradient."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import ExponentialLR

from grader.experiments.sam_accumulation.digits import (
    Batch,
    SometimesSkips,
    device,
    loss_fn,
    make_batches,
    make_model,
    x_train,
    y_train,
)
from grader.experiments.sam_accumulation.loops import VectorSAM
from grader.experiments.sam_accumulation.vectors import (
    gradient_at,
    relative_error,
    set_weights,
    trained_weights,
)
from grader.experiments.vectors import flat


def mean_of_means(model: nn.Module, w: Tensor, window: Sequence[Batch], shares: Sequence[float]) -> Tensor:
    """Return the sum of the micro-batches' gradients at `w`, each times its share."""
    parts = [share * gradient_at(model, w, [batch]) for share, batch in zip(shares, window, strict=True)]
    return torch.stack(parts).sum(dim=0)


def uneven_error(sizes: Sequence[int], seed: int, rho: float = 0.05) -> tuple[float, float]:
    """Compare the SAM gradient of a window, cut into micro-batches of these sizes, with that of the joined batch.

    Returns:
        Relative errors: with equal shares of all micro-batches, and with shares by their sizes.
    """
    model = make_model(seed)
    w = trained_weights(model, seed + 100, 100)
    inputs, targets = make_batches(seed, count=1, batch_size=sum(sizes))[0]
    window = list(zip(inputs.split(list(sizes)), targets.split(list(sizes)), strict=True))
    joined = gradient_at(model, w, [(inputs, targets)])
    h = gradient_at(model, w + rho * joined / joined.norm(), [(inputs, targets)])
    errors = []
    for shares in ([1 / len(sizes)] * len(sizes), [size / sum(sizes) for size in sizes]):
        g = mean_of_means(model, w, window, shares)
        found = mean_of_means(model, w + rho * g / g.norm(), window, shares)
        errors.append(relative_error(found, h))
    return errors[0], errors[1]


def micro_against_full(rho: float, seed: int, size: int = 4) -> tuple[float, float, float]:
    """Compare climbing for each micro-batch with climbing for the whole window, after 100 updates.

    Returns:
        Distance of the two gradients, distance by which SAM changes the gradient, and their ratio.
    """
    model = make_model(seed)
    w = trained_weights(model, seed + 100, 100)
    window = make_batches(seed, size)
    g = gradient_at(model, w, window)
    h = gradient_at(model, w + rho * g / g.norm(), window)
    parts = []
    for batch in window:
        own = gradient_at(model, w, [batch])
        parts.append(gradient_at(model, w + rho * own / own.norm(), [batch]))
    micro = torch.stack(parts).sum(dim=0) / size
    difference, effect = (micro - h).norm().item(), (h - g).norm().item()
    return difference, effect, difference / effect


def twenty_updates(seed: int, *, joined: bool) -> Tensor:
    """Return the weights after 20 SAM updates, on windows joined into one batch or accumulated from micro-batches."""
    model = make_model(seed)
    w = flat(model.parameters())
    batches = make_batches(seed, count=80)

    def gradient(at: Tensor, window: Sequence[Batch]) -> Tensor:
        if joined:
            inputs, targets = (torch.cat(parts) for parts in zip(*window, strict=True))
            return gradient_at(model, at, [(inputs, targets)])
        return mean_of_means(model, at, window, [1 / len(window)] * len(window))

    for start in range(0, 80, 4):
        window = batches[start : start + 4]
        g = gradient(w, window)
        w = w - 0.5 * gradient(w + 0.05 * g / g.norm(), window)
    return w


def clipped_weights(first: bool, second: bool, max_norm: float = 0.2) -> tuple[Tensor, list[float]]:
    """Update 20 times with SAM, clipping after the first pass, after the second, or after both.

    Returns:
        The weights, and the norms of the second gradients before any clipping.
    """
    model = make_model(seed=6)
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5))
    norms = []
    for xb, yb in make_batches(seed=6, count=20, batch_size=64):
        loss_fn(model(xb), yb).backward()
        if first:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)
        loss_fn(model(xb), yb).backward()
        norms.append(clip_grad_norm_(model.parameters(), max_norm if second else math.inf).item())
        sam.second_step(zero_grad=True)
    return flat(model.parameters()), norms


def helper_freeze(model: nn.Module) -> None:
    """Note each batch norm's momentum, then set it to 0, as a well-known helper does."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.backup_momentum = module.momentum  # type: ignore[assignment]
            module.momentum = 0.0


def helper_unfreeze(model: nn.Module) -> None:
    """Set each batch norm's momentum to what was noted."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d) and hasattr(module, "backup_momentum"):
            module.momentum = module.backup_momentum  # type: ignore[assignment]


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Normalise by the batch's statistics inside the block, and leave the running ones as they are."""
    tracking = [m for m in model.modules() if isinstance(m, nn.BatchNorm1d) and m.track_running_stats]
    for module in tracking:
        module.track_running_stats = False
    try:
        yield
    finally:
        for module in tracking:
            module.track_running_stats = True


@dataclass
class BatchNormRun:
    """What 20 updates with SAM left in a model with batch norm."""

    weights: Tensor
    running_mean: Tensor
    changed: int
    """Windows in which the running mean changed."""
    batches_counted: int
    """`num_batches_tracked`."""


def with_batch_norm(
    around_pass: Callable[[nn.Module], AbstractContextManager[None]] = lambda _model: nullcontext(),
    before_batch: Callable[[nn.Module], None] = lambda _model: None,
    windows: int = 20,
    size: int = 4,
) -> BatchNormRun:
    """Update with SAM and accumulation.

    Args:
        around_pass: the second pass of each window runs inside this context.
        before_batch: is called before each micro-batch of the second pass; `helper_unfreeze` follows before the window.
        windows: number of updates.
        size: micro-batches in a window.
    """
    batch_norm = nn.BatchNorm1d(64)
    model = make_model(7, batch_norm)
    running_mean = batch_norm.get_buffer("running_mean")
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.2), rho=0.2)
    batches = make_batches(seed=7, count=windows * size)
    changed = 0
    for start in range(0, len(batches), size):
        window = batches[start : start + size]
        before = running_mean.clone()
        helper_unfreeze(model)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / size).backward()
        sam.first_step(zero_grad=True)
        with around_pass(model):
            for xb, yb in window:
                before_batch(model)
                (loss_fn(model(xb), yb) / size).backward()
        sam.second_step(zero_grad=True)
        changed += not torch.equal(before, running_mean)
    counted = int(batch_norm.get_buffer("num_batches_tracked"))
    return BatchNormRun(flat(model.parameters()), running_mean.clone(), changed, counted)


def moved_at_zero_rate(*, check_grad: bool, rho: float = 0.05, updates: int = 200) -> float:
    """Return how far a layer that is sometimes skipped moves at learning rate 0, in units of rho.

    With `check_grad`, only parameters that have a gradient after the second pass are put back.
    """
    torch.manual_seed(10)
    model = SometimesSkips().to(device).double()
    before = flat(model.middle.parameters())
    for xb, yb in make_batches(seed=10, count=updates):
        model.zero_grad()
        loss_fn(model(xb), yb).backward()
        moved = {p: p.detach().clone() for p in model.parameters() if p.grad is not None}
        norm = flat(p.grad for p in moved).norm()
        with torch.no_grad():
            for p, e in zip(moved, [rho * p.grad / norm for p in moved if p.grad is not None], strict=True):
                p.add_(e)
        model.zero_grad()
        loss_fn(model(xb), yb).backward()
        with torch.no_grad():
            for p, old in moved.items():
                if check_grad and p.grad is None:
                    continue
                p.copy_(old)
    return float((flat(model.middle.parameters()) - before).norm()) / rho


class SeparateGroups(torch.optim.Optimizer):
    """The skeleton of a SAM whose parameter groups are not those of its base optimizer."""

    def __init__(self, params: Sequence[nn.Parameter], lr: float) -> None:
        super().__init__(params, {"lr": lr})
        self.base_optimizer = torch.optim.SGD(params, lr=lr)

    def second_step(self) -> None:
        """Let the base optimizer step."""
        self.base_optimizer.step()


class SharedGroups(SeparateGroups):
    """The skeleton of a SAM that shares the parameter groups of its base optimizer."""

    def __init__(self, params: Sequence[nn.Parameter], lr: float) -> None:
        super().__init__(params, lr)
        self.param_groups = self.base_optimizer.param_groups


def rates_used(kind: type[SeparateGroups], attach_to: str) -> tuple[list[float], int]:
    """Update three times, with a scheduler that halves the rate of the `SAM` or of its `base` optimizer.

    Returns:
        The learning rates that the base optimizer used, and the number of warnings about the scheduler.
    """
    sam = kind([nn.Parameter(torch.zeros(2))], lr=0.8)
    scheduler = ExponentialLR(sam if attach_to == "SAM" else sam.base_optimizer, gamma=0.5)
    used = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            used.append(sam.base_optimizer.param_groups[0]["lr"])
            sam.second_step()
            scheduler.step()
    return used, sum("lr_scheduler.step()" in str(warning.message) for warning in caught)


@dataclass
class ScaledRun:
    """What 40 windows in float16, with a scale that is too large at first, came to."""

    overflowed: int
    """Windows in which the climb made weights infinite or NaN."""
    scale: float
    """The scaler's scale at the end."""
    loss: float
    """Training loss at the end."""


def scaled_run(restore: Callable[[Tensor, Tensor, Tensor], Tensor]) -> ScaledRun:
    """Train with float16, SAM and accumulation; `restore(w, w + e, e)` returns the weights to go back to."""
    model = make_model(seed=9).float()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**24)
    overflowed = 0
    for seed in range(40):
        overflowed += not _scaled_window(model, opt, scaler, make_batches(seed, count=4), restore)
    with torch.no_grad():
        loss = loss_fn(model(x_train), y_train).item()
    return ScaledRun(overflowed, scaler.get_scale(), loss)


def _scaled_window(
    model: nn.Module,
    opt: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    window: Sequence[Batch],
    restore: Callable[[Tensor, Tensor, Tensor], Tensor],
    rho: float = 0.05,
) -> bool:
    """Update once; return whether the weights were finite after the climb."""
    parameters = list(model.parameters())

    def one_pass() -> None:
        opt.zero_grad()
        for xb, yb in window:
            with torch.autocast(device.type, torch.float16):
                loss = loss_fn(model(xb.float()), yb) / len(window)
            scaler.scale(loss).backward()

    one_pass()
    g = flat(p.grad for p in parameters)  # still scaled: only its direction counts
    w, e = flat(parameters), rho * g / g.norm()
    set_weights(model, w + e)
    finite = bool(torch.isfinite(flat(parameters)).all())
    one_pass()
    set_weights(model, restore(w, flat(parameters), e))
    scaler.unscale_(opt)
    clip_grad_norm_(parameters, 1.0)
    scaler.step(opt)  # skips opt.step() if a gradient is infinite or NaN
    scaler.update()
    return finite
