"""Make Accelerate's `Accelerator` behave as if started by several processes, and count calls of its methods."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from torch import nn

from grader.exercises.loop_anatomy._training_case import Case
from grader.observe.play import Env


class _Wrapped(nn.DataParallel[nn.Module]):
    """The wrapper that `prepare` puts around a model for several processes; names in its state begin with `module.`."""

    def __init__(self, module: nn.Module) -> None:
        nn.Module.__init__(self)
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        return self.module(*inputs, **kwargs)


@dataclass
class Calls:
    """Calls of Accelerator's methods."""

    backward: int = 0
    train_loader_prepared: bool = False


@contextmanager
def watched_accelerator(env: Env, case: Case) -> Iterator[Calls]:
    """Make Accelerator behave as if started by several processes, as far as one process can, and count its calls.

    On one process, a run goes right even if nothing is prepared or unwrapped; on several it does not.
    """
    from accelerate import Accelerator

    calls = Calls()
    backward, prepare_model = Accelerator.backward, Accelerator.prepare_model
    prepare_loader = Accelerator.prepare_data_loader

    def noted_backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.backward += 1
        return backward(self, *args, **kwargs)

    def wrapping(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _Wrapped(prepare_model(self, *args, **kwargs))

    def noted_loader(self: Any, data_loader: Any, *args: Any, **kwargs: Any) -> Any:
        calls.train_loader_prepared |= data_loader is case.train_loader
        return prepare_loader(self, data_loader, *args, **kwargs)

    use_cpu = {"ACCELERATE_USE_CPU": "true"} if env.device.type == "cpu" else {}
    with patch.dict(os.environ, use_cpu), _fresh_accelerate_state():
        Accelerator.backward = noted_backward
        Accelerator.prepare_model = wrapping
        Accelerator.prepare_data_loader = noted_loader
        try:
            yield calls
        finally:
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
