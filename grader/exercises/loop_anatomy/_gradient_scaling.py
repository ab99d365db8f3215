"""Make `GradScaler` work on the CPU, and observe gradients' norms: as computed, and as the optimizer read them.

The driver `train.py` uses these contexts around a whole training run, to see whether gradients were scaled, unscaled
and clipped; `train_accelerate.py` uses `watched_gradients`. (`amp_step` and `amp_accumulate` are given their scalers:
`_mixed_precision.py grad_scaler`.)
"""

import functools
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook


@dataclass
class GradientNorms:
    """Joint L2 norm of all of a model's gradients, at each update."""

    computed: list[float] = field(default_factory=list)
    """The norms before unscaling and clipping: of the gradients that the last backward pass computed."""
    read: list[float] = field(default_factory=list)
    """The norms of the gradients that the optimizer read, after unscaling and clipping."""


@contextmanager
def watched_gradients(model: nn.Module) -> Iterator[GradientNorms]:
    """Note the norms at each update of `model` inside this context, whichever optimizer makes the update."""
    norms = GradientNorms()
    parameters = list(model.parameters())
    latest: dict[int, float] = {}  # id of a parameter -> norm of its gradient

    def note_computed(gradient: torch.Tensor, parameter: nn.Parameter) -> None:
        latest[id(parameter)] = float(gradient.double().norm())

    def note_update(opt: Optimizer, *_: Any) -> None:
        updated = {id(p) for group in opt.param_groups for p in group["params"]}
        if updated & {id(p) for p in parameters}:
            norms.computed.append(_joint_norm(latest.values()))
            norms.read.append(
                _joint_norm(float(p.grad.double().norm()) for p in parameters if p.grad is not None)
            )

    # Such a hook is called for `torch.autograd.grad` too.
    hooks = [p.register_hook(functools.partial(note_computed, parameter=p)) for p in parameters]
    hooks.append(register_optimizer_step_pre_hook(note_update))
    try:
        yield norms
    finally:
        for hook in hooks:
            hook.remove()


def _joint_norm(norms: Iterable[float]) -> float:
    """Return the L2 norm of all gradients together, from the norm of each."""
    return math.hypot(*norms)


_ARGUMENTS_BEFORE_ENABLED = 4
"""Number of `GradScaler`'s arguments between `device` and `enabled`, from `init_scale` to `growth_interval`."""


@contextmanager
def scalers_on_cpu() -> Iterator[None]:
    """Let every `GradScaler` that is created inside this context scale, on the CPU too, whatever its `enabled` says.

    Without CUDA, `GradScaler()` switches itself off, and many right programs write `enabled=device == "cuda"`. So
    scenarios that ask `train` for float16 need this context on the CPU.
    """
    original = torch.amp.GradScaler.__init__

    @functools.wraps(original)
    def always_enabled(self: torch.amp.GradScaler, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            device = "cpu"
        original(self, device, *args[:_ARGUMENTS_BEFORE_ENABLED], **{**kwargs, "enabled": True})

    torch.amp.GradScaler.__init__ = always_enabled  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.amp.GradScaler.__init__ = original  # type: ignore[method-assign]
