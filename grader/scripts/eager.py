"""Let what `torch.compile` made run uncompiled: Dynamo would trace through the observers and fail, or see nothing."""

import contextlib
from typing import Any

import torch
from torch import nn


class Eager:
    """Switches compilation off from `begin` to `end`; the losses are those of the script without `torch.compile`."""

    def __init__(self) -> None:
        self._restore = contextlib.ExitStack()

    def begin(self) -> None:
        """Run compiled modules and functions eagerly from now on."""
        if hasattr(torch.compiler, "set_stance"):
            stance: Any = torch.compiler.set_stance("force_eager")  # in force already
            self._restore.push(stance)
        else:  # torch 2.5: what is compiled from now on stays eager
            config = torch._dynamo.config
            self._restore.callback(setattr, config, "disable", config.disable)
            config.disable = True

    def end(self) -> None:
        """Let them be compiled again."""
        self._restore.close()


def is_compiled(module: nn.Module) -> bool:
    """Return True if `torch.compile(module)` or `module.compile()` was called."""
    return type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None
