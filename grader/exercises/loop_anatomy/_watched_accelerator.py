"""Make Accelerate's `Accelerator` behave as if started by several processes, and note what goes through it."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

from grader.exercises.loop_anatomy._training_case import Case
from grader.observe.play import Env


class _Wrapped(nn.DataParallel[nn.Module]):
    """The wrapper that `prepare` puts around a model for several processes; names in its state begin with `module.`."""

    def __init__(self, module: nn.Module, calls: "Calls") -> None:
        nn.Module.__init__(self)
        self.module = module
        self._calls = calls

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        outputs = self.module(*inputs, **kwargs)
        self._calls.wrapped_forwards += outputs.requires_grad
        return outputs


@dataclass
class Calls:
    """What went through the Accelerator."""

    backward: int = 0
    wrapped_forwards: int = 0
    """Forward passes with a graph through the model that `prepare` returned."""
    train_loader_prepared: bool = False


@contextmanager
def watched_accelerator(env: Env, case: Case, *, scale: float | None = None) -> Iterator[Calls]:
    """Make Accelerator behave as if started by several processes, as far as one process can, and note its calls.

    On one process, a run goes right even if nothing is prepared or unwrapped; on several it does not.

    Args:
        env: the scenario's env.
        case: the training run.
        scale: give the Accelerator a GradScaler of this scale, as `accelerate launch --mixed_precision fp16` does; then
            a run goes right only if loss, gradients and optimizer all pass through the Accelerator. None: no scaler.
    """
    from accelerate import Accelerator

    calls = Calls()
    init, backward = Accelerator.__init__, Accelerator.backward
    prepare_model, prepare_loader = Accelerator.prepare_model, Accelerator.prepare_data_loader

    @functools.wraps(init)
    def with_scaler(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if scale is not None:  # asked for fp16 itself, Accelerate refuses on a CPU
            self.native_amp, self.state._mixed_precision = True, "fp16"
            self.scaler = torch.amp.GradScaler(env.device.type, init_scale=scale)

    def noted_backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.backward += 1
        return backward(self, *args, **kwargs)

    def wrapping(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _Wrapped(prepare_model(self, *args, **kwargs), calls)

    def noted_loader(self: Any, data_loader: Any, *args: Any, **kwargs: Any) -> Any:
        calls.train_loader_prepared |= data_loader is case.train_loader
        return prepare_loader(self, data_loader, *args, **kwargs)

    use_cpu = {"ACCELERATE_USE_CPU": "true"} if env.device.type == "cpu" else {}
    with patch.dict(os.environ, use_cpu), _fresh_accelerate_state():
        Accelerator.__init__ = with_scaler
        Accelerator.backward = noted_backward
        Accelerator.prepare_model = wrapping
        Accelerator.prepare_data_loader = noted_loader
        try:
            yield calls
        finally:
            Accelerator.__init__ = init
            Accelerator.backward = backward
            Accelerator.prepare_model = prepare_model
            Accelerator.prepare_data_loader = prepare_loader


@contextmanager
def _fresh_accelerate_state() -> Iterator[None]:
    """Let each run choose device and precision anew, and give a notebook its own choice back afterwards.

    Accelerate keeps both for the whole process.
    """
    from accelerate.state import AcceleratorState, GradientState, PartialState

    shared = [cls._shared_state for cls in (PartialState, AcceleratorState, GradientState)]
    before = [dict(state) for state in shared]
    try:
        for state in shared:
            state.clear()
        yield
    finally:
        for state, content in zip(shared, before, strict=True):
            state.clear()
            state.update(content)
