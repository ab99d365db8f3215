"""Observe steps on weights of 16 bits: how many entries stay as they are although they have a gradient."""

from typing import Any

import torch
from torch import Tensor

from grader.scripts.facts import Stepped

_SHORT = (torch.bfloat16, torch.float16)
_PARTS, _ENTRIES = 8, 256


class RoundingObserver:
    """Compares some entries of an optimizer's 16-bit weights before and after its step."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[Stepped, list[tuple[Tensor, Tensor, Tensor]]]] = {}
        """By optimizer: the step, and of some weights the tensor, its entries, and which have a gradient."""

    def step_begins(self, optimizer: Any, event: Stepped) -> None:
        """Keep some entries of the weights that have gradients."""
        groups = getattr(optimizer, "param_groups", ())
        short = [p for group in groups for p in group["params"] if p.dtype in _SHORT and p.grad is not None]
        if short:
            parts = [(p, _some(p).clone(), _some(p.grad) != 0) for p in short[:_PARTS]]
            self._before[event.optimizer] = event, parts

    def step_ended(self, optimizer: int) -> None:
        """Note the share of those entries that the step left as they were."""
        event, parts = self._before.pop(optimizer, (None, []))
        if event is None:
            return
        same = [(_some(p) == before)[mask] for p, before, mask in parts if p.shape.numel()]
        entries = torch.cat(same).float() if same else torch.zeros(0)
        event.rounded_away = float(entries.mean()) if entries.numel() else None
        event.short = str(parts[0][0].dtype).removeprefix("torch.")


def _some(tensor: Tensor) -> Tensor:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // _ENTRIES)]
