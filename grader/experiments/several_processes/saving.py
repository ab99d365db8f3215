"""Checkpoints over ranks: one that takes long to write, and one that holds every rank's random state."""

import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def save_slowly(state: dict[str, Any], path: Path, seconds: float = 0.3) -> None:
    """Write a checkpoint beside `path` and rename it, after so long as a large model would take."""
    beside = path.with_suffix(".tmp")
    torch.save(state, beside)
    time.sleep(seconds)
    os.replace(beside, path)


def checkpoint_of(model: nn.Module, opt: torch.optim.Optimizer) -> dict[str, Any]:
    """Return what a run needs to go on, the same on every rank: its random states are those of all ranks."""
    states: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(states, torch.get_rng_state())
    return {"model": model.state_dict(), "optimizer": opt.state_dict(), "rng": states}
