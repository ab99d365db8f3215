"""What Hugging Face Accelerate decides without a word: learning rates of skipped steps, precision of validation."""

import math

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

from grader.experiments.loop_anatomy.digits import device, make_model, x_val


def rates_when_skipping(*, fused: bool) -> list[float]:
    """Return the learning rate, halved by each step of the scheduler, after a skipped step and after an update."""
    from accelerate import Accelerator
    from accelerate.optimizer import AcceleratedOptimizer
    from accelerate.scheduler import AcceleratedScheduler

    Accelerator()
    weight = nn.Parameter(torch.ones(1, device=device))
    scaler = torch.amp.GradScaler(device.type, init_scale=1.0)
    opt = AcceleratedOptimizer(torch.optim.AdamW([weight], lr=1.0, fused=fused), scaler=scaler)
    scheduler = AcceleratedScheduler(ExponentialLR(opt.optimizer, gamma=0.5), opt)
    rates = []
    for factor in [math.inf, 1.0]:
        opt.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        opt.step()
        scheduler.step()
        rates.append(opt.param_groups[0]["lr"])
    return rates


def precision_outside_autocast(mixed_precision: str) -> torch.dtype:
    """Return the precision in which a prepared model's first layer computes, outside `accelerator.autocast()`."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)  # one process has one precision at a time
    found: list[torch.dtype] = []
    model = make_model(seed=0)
    model[0].register_forward_hook(lambda _module, _inputs, output: found.append(output.dtype))
    prepared = Accelerator(mixed_precision=mixed_precision).prepare(model)
    with torch.no_grad():
        prepared(x_val)
    AcceleratorState._reset_state(reset_partial_state=True)
    return found[0]
