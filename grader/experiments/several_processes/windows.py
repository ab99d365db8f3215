"""Gradient accumulation under DDP: windows of micro-batches whose all-reduces are counted."""

from contextlib import nullcontext
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import GradBucket
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from grader.experiments.several_processes.digits import Batch, loss_fn, make_batches, make_model, sgd
from grader.experiments.vectors import flat

MICRO_BATCHES = 4
MAX_NORM = 0.2


class WindowRun(NamedTuple):
    """What a rank brings back: its weights, and the bytes of each all-reduce."""

    weights: Tensor
    reductions: list[int]


def two_windows(seed: int) -> list[list[Batch]]:
    """Return two windows of `MICRO_BATCHES` micro-batches; ranks share each micro-batch."""
    batches = make_batches(seed, 2 * MICRO_BATCHES)
    return [batches[:MICRO_BATCHES], batches[MICRO_BATCHES:]]


def count_reductions(ddp: DistributedDataParallel) -> list[int]:
    """Return a list that gets the bytes of each all-reduce of gradients from now on."""
    sizes: list[int] = []

    def hook(group: dist.ProcessGroup, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        sizes.append(bucket.buffer().nbytes)
        return allreduce_hook(group, bucket)

    ddp.register_comm_hook(ddp.process_group, hook)
    return sizes


def window_run(rank: int, world: int, seed: int, quiet: int, clip: str = "never") -> WindowRun:
    """Train two windows, the first `quiet` micro-batches of each without an all-reduce.

    `clip` says when gradients are clipped: "never", at the "end" of a window, or after "each" micro-batch.
    """
    ddp = DistributedDataParallel(make_model(seed))
    sizes, opt = count_reductions(ddp), sgd(ddp.parameters())
    for window in two_windows(seed):
        opt.zero_grad()
        for number, (xb, yb) in enumerate(window):
            with ddp.no_sync() if number < quiet else nullcontext():
                (loss_fn(ddp(xb[rank::world]), yb[rank::world]) / len(window)).backward()
            if clip == "each":
                clip_grad_norm_(ddp.parameters(), MAX_NORM)
        if clip == "end":
            clip_grad_norm_(ddp.parameters(), MAX_NORM)
        opt.step()
    return WindowRun(flat(ddp.parameters()), sizes)


def joined_windows(seed: int, *, clip: bool = False) -> Tensor:
    """Return the weights of one process that has each whole window in one batch."""
    model = make_model(seed)
    opt = sgd(model.parameters())
    for window in two_windows(seed):
        opt.zero_grad()
        images, labels = (torch.cat(parts) for parts in zip(*window, strict=True))
        loss_fn(model(images), labels).backward()
        if clip:
            clip_grad_norm_(model.parameters(), MAX_NORM)
        opt.step()
    return flat(model.parameters())


class TwoPaths(nn.Module):
    """A classifier with a layer that it does not use."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.unused, self.last = nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)
        self.double()

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits."""
        logits: Tensor = self.last(torch.tanh(self.first(images)))
        return logits
