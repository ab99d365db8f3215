"""Let what `torch.compile` made run uncompiled: Dynamo would trace through the observers and fail, or see nothing."""

import contextlib
from typing import Any

import torch
from torch import nn


class Eager:
    """Switches compilation off from `begin` to `end`; the losses are those of the script without `torch.compile`."""

    def __init__(self) -> None:
        self._stance: Any = None
        self._disabled = False

    def begin(self) -> None:
        """Run compiled modules and functions eagerly from now on."""
        if hasattr(torch.compiler, "set_stance"):
            self._stance = torch.compiler.set_stance("force_eager")
        else:  # torch 2.5: what is compiled from now on stays eager
            self._disabled = torch._dynamo.config.disable
            torch._dynamo.config.disable = True

    def end(self) -> None:
        """Let them be compiled again."""
        if self._stance is not None:
            self._stance.__exit__(None, None, None)
            self._stance = None
        else:
            with contextlib.suppress(AttributeError):
                torch._dynamo.config.disable = self._disabled


def is_compiled(module: nn.Module) -> bool:
    """Return True if `torch.compile(module)` or `module.compile()` was called."""
    return type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None
