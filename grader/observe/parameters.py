"""A model's parameters, and all of them as one vector: read at every update and every forward pass of a play."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from grader.observe.trace import Array

identity = object.__hash__
"""Of objects that live at the same time, as `id()`: of a call of that one Python tells every audit hook, and in the
sandbox there are two."""


def modules_of(model: nn.Module) -> list[nn.Module]:
    """`list(model.modules())`, without the names that torch puts together on the way: a tenth of a play's time."""
    found: dict[int, nn.Module] = {}
    waiting: list[nn.Module | None] = [model]
    while waiting:
        module = waiting.pop()
        if module is not None and identity(module) not in found:
            found[identity(module)] = module
            waiting += reversed(module._modules.values())
    return list(found.values())


def parameters_of(model: nn.Module) -> list[nn.Parameter]:
    """`list(model.parameters())`, as quickly."""
    found: dict[int, nn.Parameter] = {}
    for module in modules_of(model):
        for parameter in module._parameters.values():
            if parameter is not None:
                found.setdefault(identity(parameter), parameter)
    return list(found.values())


def flattened(tensors: Iterable[Tensor]) -> Array:
    """All values one after the other, as float64 on the CPU."""
    return np.concatenate([_on_the_cpu(tensor).ravel() for tensor in tensors])


def _on_the_cpu(tensor: Tensor) -> Array:
    plain = tensor.detach()
    if plain.dtype != torch.float64 or plain.device.type != "cpu":
        plain = plain.double().cpu()
    array: Array = plain.numpy()
    return array
