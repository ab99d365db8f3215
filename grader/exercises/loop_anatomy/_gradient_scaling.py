"""Observe whether gradients were scaled when they were computed, and what the optimizer read."""

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
    """Joint L2 norms of a model's gradients, one entry for each update."""

    computed: list[float] = field(default_factory=list)
    """Norms right after the backward pass."""
    read: list[float] = field(default_factory=list)
    """Norms when the optimizer read the gradients."""


@contextmanager
def watched_gradients(model: nn.Module) -> Iterator[GradientNorms]:
    """Note the norms at every update of `model`, by whatever optimizer."""
    norms = GradientNorms()
    parameters = list(model.parameters())
    computed: dict[int, float] = {}

    def accumulated(parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            computed[id(parameter)] = float(parameter.grad.double().norm())

    def stepping(opt: Optimizer, *_: Any) -> None:
        held = {id(p) for group in opt.param_groups for p in group["params"]}
        if held & {id(p) for p in parameters}:
            norms.computed.append(_joint(computed.values()))
            norms.read.append(_joint(float(p.grad.double().norm()) for p in parameters if p.grad is not None))

    hooks = [p.register_post_accumulate_grad_hook(accumulated) for p in parameters]
    hooks.append(register_optimizer_step_pre_hook(stepping))
    try:
        yield norms
    finally:
        for hook in hooks:
            hook.remove()


_BEFORE_ENABLED = 4  # init_scale, growth_factor, backoff_factor, growth_interval


@contextmanager
def scalers_on_cpu() -> Iterator[None]:
    """Let scalers work on the CPU that would be switched off because there is no CUDA.

    `GradScaler()` switches itself off there, and many right programs write `enabled=device == "cuda"`. Use this where
    float16 is asked for.
    """
    build = torch.amp.GradScaler.__init__

    @functools.wraps(build)
    def built(self: torch.amp.GradScaler, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            device = "cpu"
        build(self, device, *args[:_BEFORE_ENABLED], **{**kwargs, "enabled": True})

    torch.amp.GradScaler.__init__ = built  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.amp.GradScaler.__init__ = build  # type: ignore[method-assign]


def _joint(norms: Iterable[float]) -> float:
    return math.hypot(*norms)
