"""What an update costs: time, and the tensors that are saved for the backward pass."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from grader.experiments.sam_accumulation.digits import Batch, device, loss_fn, on_cpu, x_train, y_train
from grader.experiments.sam_accumulation.loops import VectorSAM


def clock() -> float:
    """Return seconds: processor time on a CPU, where other programs disturb it less; else after waiting for the GPU."""
    if on_cpu:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def peak_saved_bytes(model: nn.Module, run: Callable[[], object]) -> int:
    """Return the largest number of bytes saved at once for backward passes during `run()`, parameters not counted."""
    parameters = {p.data_ptr() for p in model.parameters()}
    now = peak = 0

    class Saved:
        def __init__(self, tensor: Tensor) -> None:
            nonlocal now, peak
            self.tensor = tensor
            self.bytes = 0 if tensor.data_ptr() in parameters else tensor.numel() * tensor.element_size()
            now += self.bytes
            peak = max(peak, now)

        def __del__(self) -> None:
            nonlocal now
            now -= self.bytes

    with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
        run()
    return peak


def fastest(jobs: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Return the shortest of several times of each job, in seconds."""
    seconds = dict.fromkeys(jobs, math.inf)
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = clock()
            job()
            seconds[name] = min(seconds[name], clock() - begin)
    return seconds


def wide_model() -> nn.Sequential:
    """Return a classifier wide enough that its arithmetic, not Python, takes the time."""
    torch.manual_seed(11)
    return nn.Sequential(
        nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 10)
    ).to(device)


def one_batch_and_quarters() -> tuple[list[Batch], list[Batch]]:
    """Return 1,024 images as one batch, and the same images as four micro-batches."""
    rows = torch.arange(1024, device=device)
    quarters = zip(x_train[rows].split(256), y_train[rows].split(256), strict=True)
    return [(x_train[rows], y_train[rows])], list(quarters)


def sgd_update(model: nn.Module, opt: torch.optim.Optimizer, window: Sequence[Batch]) -> None:
    """Accumulate a window and update."""
    opt.zero_grad()
    for xb, yb in window:
        (loss_fn(model(xb), yb) / len(window)).backward()
    opt.step()


def sam_update(model: nn.Module, opt: torch.optim.Optimizer, window: Sequence[Batch]) -> None:
    """Accumulate a window in both passes and update with SAM."""
    sam = VectorSAM(model, opt)
    opt.zero_grad()
    for xb, yb in window:
        (loss_fn(model(xb), yb) / len(window)).backward()
    sam.first_step(zero_grad=True)
    for xb, yb in window:
        (loss_fn(model(xb), yb) / len(window)).backward()
    sam.second_step(zero_grad=True)
