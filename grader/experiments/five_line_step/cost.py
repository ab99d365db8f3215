"""What accumulation costs in lesson 01: memory of saved tensors, and time."""

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from grader.experiments.five_line_step.data import Batch, cut, device, digits, loss_fn, on_cpu


def peak_saved_bytes(model: nn.Module, run: Callable[[], object]) -> int:
    """Return the largest number of bytes that tensors saved for backward passes held while `run()` ran.

    Parameters are not counted.
    """
    parameters = {p.data_ptr() for p in model.parameters()}
    holders: dict[int, int] = {}  # address in memory -> how many nodes have saved that tensor
    now = peak = 0

    class Saved:
        """A saved tensor, counted while it lives."""

        def __init__(self, tensor: Tensor) -> None:
            nonlocal now, peak
            self.tensor, self.key = tensor, tensor.data_ptr()
            self.bytes = tensor.numel() * tensor.element_size()
            if self.key in parameters:
                return
            holders[self.key] = holders.get(self.key, 0) + 1
            if holders[self.key] == 1:
                now += self.bytes
                peak = max(peak, now)

        def __del__(self) -> None:
            nonlocal now
            if self.key in parameters:
                return
            holders[self.key] -= 1
            if holders[self.key] == 0:
                now -= self.bytes

    with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
        run()
    return peak


def wide_setup(batch_size: int, width: int) -> tuple[nn.Sequential, torch.optim.Optimizer, Batch]:
    """Return a model of three layers of this width, its AdamW, and a batch."""
    torch.manual_seed(6)
    model = nn.Sequential(
        nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10)
    ).to(device)
    x_train, y_train, _, _ = digits()
    rows = torch.arange(batch_size, device=device) % len(x_train)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3), (x_train[rows], y_train[rows])


def one_update(
    model: nn.Module, opt: torch.optim.Optimizer, window: Sequence[Batch], *, backward_each: bool = True
) -> None:
    """Accumulate a window and update once; with `backward_each=False` sum the losses and call `backward` once."""
    opt.zero_grad()
    total = torch.zeros((), device=device)
    for xb, yb in window:
        loss = loss_fn(model(xb), yb) / len(window)
        if backward_each:
            loss.backward()
        else:
            total = total + loss
    if not backward_each:
        total.backward()
    opt.step()


def update_peak_bytes(
    model: nn.Module, opt: torch.optim.Optimizer, window: Sequence[Batch], *, backward_each: bool = True
) -> int:
    """Return the largest number of bytes that tensors saved for backward passes held during `one_update`."""
    return peak_saved_bytes(model, lambda: one_update(model, opt, window, backward_each=backward_each))


def one_update_each(model: nn.Module, opt: torch.optim.Optimizer, batches: Sequence[Batch]) -> None:
    """Update once with each batch."""
    for batch in batches:
        one_update(model, opt, [batch])


def _clock() -> float:
    """Return processor time on a CPU, which other programs disturb less; on a GPU the time when its work is done."""
    if on_cpu:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def time_ratios(batch_size: int, width: int, repeats: int, rounds: int = 5) -> dict[str, float]:
    """Return the time of each way to use a batch, where the whole batch at once takes 1; the best of all rounds."""
    model, opt, batch = wide_setup(batch_size, width)
    quarter, sixteenth = cut(batch, batch_size // 4), cut(batch, batch_size // 16)
    jobs: dict[str, Callable[[], object]] = {
        "큰 배치 한 번": lambda: one_update(model, opt, [batch]),
        "4번 누적": lambda: one_update(model, opt, quarter),
        "16번 누적": lambda: one_update(model, opt, sixteenth),
        "나누어 4번 업데이트": lambda: one_update_each(model, opt, quarter),
    }
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = _clock()
            for _ in range(repeats):
                job()
            best[name] = min(best[name], _clock() - begin)
    return {name: seconds / best["큰 배치 한 번"] for name, seconds in best.items()}
