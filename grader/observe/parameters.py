"""Read a model's parameters, also as one vector; fast, because it happens at every update and every forward pass.

The recorder calls these for the watched model. They read what torch's own functions return, but skip what these build
besides, such as names.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn
from torch._C import DisableTorchFunctionSubclass

from grader.observe.trace import Array

identity = object.__hash__
"""Like `id()`, a number that identifies an object among those alive. Calling `id()` itself is slower, because Python
reports every call to all audit hooks, of which there are two in the sandbox."""


def modules_of(model: nn.Module) -> list[nn.Module]:
    """Return `list(model.modules())`, without building the names that torch builds: these took a tenth of a play."""
    found: dict[int, nn.Module] = {}
    waiting: list[nn.Module | None] = [model]
    while waiting:
        module = waiting.pop()
        if module is not None and identity(module) not in found:
            found[identity(module)] = module
            waiting += reversed(module._modules.values())
    return list(found.values())


def parameters_of(model: nn.Module) -> list[nn.Parameter]:
    """Return `list(model.parameters())`, just as fast."""
    found: dict[int, nn.Parameter] = {}
    for module in modules_of(model):
        for parameter in module._parameters.values():
            if parameter is not None:
                found.setdefault(identity(parameter), parameter)
    return list(found.values())


def flattened(tensors: Iterable[Tensor]) -> Array:
    """Return all values of all tensors as one float64 vector on the CPU.

    A subclass of Tensor has no say in what its values are.
    """
    with DisableTorchFunctionSubclass():
        return np.concatenate([_on_the_cpu(tensor).ravel() for tensor in tensors])


def _on_the_cpu(tensor: Tensor) -> Array:
    """Return a tensor's values as float64 on the CPU; they may share memory with the tensor."""
    plain = tensor.detach()
    if plain.dtype != torch.float64 or plain.device.type != "cpu":
        plain = plain.double().cpu()
    array: Array = plain.numpy()
    return array
