"""How many numbers each rank holds when the optimizer's state, or everything, is shared among the ranks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass
class Held:
    """Numbers that one rank holds after an update."""

    weights: int
    gradients: int
    state: int
    """Adam's two moments."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.gradients + self.state


def even_model(seed: int) -> nn.Sequential:
    """Return a 64-64-...-10 classifier whose eight large matrices up to four ranks can share equally."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for _ in range(8):
        layers += [nn.Linear(64, 64, bias=False), nn.Tanh()]
    model = nn.Sequential(*layers, nn.Linear(64, 10, bias=False)).double()
    model[-1].requires_grad_(False)
    return model


def numbers_held(model: nn.Module, state: Mapping[Any, Any]) -> Held:
    """Return how many numbers of its trained weights, their gradients and Adam's `state` this rank holds."""
    trained = [p for p in model.parameters() if p.requires_grad]
    moments = [moments[name] for moments in state.values() for name in ("exp_avg", "exp_avg_sq")]
    return Held(
        sum(_local(p).numel() for p in trained),
        sum(_local(p.grad).numel() for p in trained if p.grad is not None),
        sum(_local(moment).numel() for moment in moments),
    )


def whole_weights(model: nn.Module) -> Tensor:
    """Return all weights as one vector, gathered from the ranks if they are shared; every rank has to call."""
    parts = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
    return torch.cat([part.detach().flatten() for part in parts])


def _local(tensor: Tensor) -> Tensor:
    """Return this rank's part of a tensor."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part
