"""Simulate, in one process, Accelerate's `Accelerator` of several processes, and count what a training does with it.

The driver `train_accelerate.py` makes each call of the learner's function inside `simulated_accelerator`. To observe
another method of the Accelerator, wrap it there as `backward` is wrapped, and add a field to `AcceleratorUse`.
"""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from grader.exercises.loop_anatomy._training_case import TrainingCase, has_validation_samples
from grader.observe.play import Env


@dataclass
class AcceleratorUse:
    """What a training has done with the simulated Accelerator."""

    backward_calls: int = 0
    """Number of calls of `Accelerator.backward`."""
    forwards_through_wrapper: int = 0
    """Number of training passes through the model that `prepare` returned: on training samples, with a graph."""
    has_prepared_train_loader: bool = False
    """True if `prepare` was given the training loader."""


@contextmanager
def simulated_accelerator(
    env: Env, case: TrainingCase, *, scale: float | None = None
) -> Iterator[AcceleratorUse]:
    """Make every Accelerator wrap its model and, if a scale is given, scale the loss; yield what is done with it.

    `prepare` wraps the model (`_Wrapper`), as it does with several processes. Nothing else of several processes is
    simulated: no gradients are averaged, and each loader yields all its batches.

    In one process, a training goes right even if nothing is prepared or unwrapped. Here the names in a checkpoint show
    a model that was not unwrapped, and the yielded `AcceleratorUse` shows a model or loader that was not prepared.

    Args:
        env: the scenario's env.
        case: the training case.
        scale: scale of a GradScaler that the Accelerator has, as after `accelerate launch --mixed_precision fp16`. With
            it, a training goes right only if loss, gradients and optimizer all pass through the Accelerator. None: no
            scaler.
    """
    from accelerate import Accelerator

    use = AcceleratorUse()
    init, backward = Accelerator.__init__, Accelerator.backward
    prepare_model, prepare_data_loader = Accelerator.prepare_model, Accelerator.prepare_data_loader

    @functools.wraps(init)
    def init_and_set_scaler(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if scale is not None:
            # Set after `init`, because Accelerate refuses fp16 on a CPU.
            self.native_amp, self.state._mixed_precision = True, "fp16"
            self.scaler = torch.amp.GradScaler(env.device.type, init_scale=scale)

    @functools.wraps(backward)
    def count_and_backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        use.backward_calls += 1
        return backward(self, *args, **kwargs)

    @functools.wraps(prepare_model)
    def prepare_and_wrap_model(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _Wrapper(prepare_model(self, *args, **kwargs), use)

    @functools.wraps(prepare_data_loader)
    def note_and_prepare_loader(self: Any, data_loader: Any, *args: Any, **kwargs: Any) -> Any:
        if data_loader is case.train_loader:
            use.has_prepared_train_loader = True
        return prepare_data_loader(self, data_loader, *args, **kwargs)

    # Without this variable, Accelerate would choose a GPU if it found one, although the scenario's model is on the CPU.
    environment = {"ACCELERATE_USE_CPU": "true"} if env.device.type == "cpu" else {}
    patched = patch.multiple(
        Accelerator,
        __init__=init_and_set_scaler,
        backward=count_and_backward,
        prepare_model=prepare_and_wrap_model,
        prepare_data_loader=note_and_prepare_loader,
    )
    with patch.dict(os.environ, environment), _fresh_accelerate_state(), patched:
        yield use


@contextmanager
def _fresh_accelerate_state() -> Iterator[None]:
    """Empty the state that all Accelerators of a process share, and restore it afterwards.

    The state holds device and precision. So each training chooses them anew, and a notebook in whose process a training
    is played finds its own choice again.
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


class _Wrapper(nn.DataParallel[nn.Module]):
    """Stands in for the wrapper that `prepare` puts around a model with several processes.

    As in the real one, names in its `state_dict` begin with `module.`.

    The class derives from DataParallel, which `Accelerator.unwrap_model` takes off as it does DistributedDataParallel,
    the real one, which would need a process group. `DataParallel.__init__` is not called, because it looks for GPUs.
    """

    def __init__(self, module: nn.Module, use: AcceleratorUse) -> None:
        nn.Module.__init__(self)
        self.module = module
        self._use = use

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        outputs = self.module(*inputs, **kwargs)
        batches = (value for value in (*inputs, *kwargs.values()) if isinstance(value, Tensor))
        if outputs.requires_grad and not any(has_validation_samples(batch) for batch in batches):
            self._use.forwards_through_wrapper += 1
        return outputs
