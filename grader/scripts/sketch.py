"""Project gradients of any size onto a few hundred numbers, so that sums of gradients stay sums of projections.

A parameter's gradient is laid out in rows of `WIDTH` entries; each row gets a random sign, and the rows are added. That
is a linear map, so the sketch of `2·g₁ + g₂` is twice the sketch of `g₁` plus the sketch of `g₂`, and inner products
are kept in expectation. The signs come from a generator of their own: the script's random numbers are not touched.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

WIDTH = 256
_SEED = 20_260_101
_OFFSETS = 997
"""Each parameter reads the signs from an offset of its own below this number."""


class Sketcher:
    """Draws its signs once and sketches sets of gradients with them."""

    def __init__(self) -> None:
        self._generator = torch.Generator(device="cpu")
        self._generator.manual_seed(_SEED)
        self._signs = self._draw(4096)
        self._copies: dict[tuple[Any, torch.dtype], Tensor] = {}

    def _draw(self, count: int) -> Tensor:
        bits = torch.randint(0, 2, (count,), generator=self._generator, dtype=torch.int8, device="cpu")
        return bits.float().mul_(2).sub_(1)

    def signs(self, count: int, device: torch.device) -> Tensor:
        """Return at least `count` signs on a device."""
        if count > len(self._signs):
            self._signs = torch.cat([self._signs, self._draw(count - len(self._signs))])
            self._copies.clear()
        key = device, torch.float32
        if key not in self._copies:
            self._copies[key] = self._signs.to(device)
        return self._copies[key]

    def sketch(self, gradients: Iterable[tuple[int, Tensor]]) -> Tensor | None:
        """Sketch the gradients of numbered parameters, all added into one vector; None if there are none."""
        total: Tensor | None = None
        with torch.no_grad():
            for number, gradient in gradients:
                part = self._one(number, gradient)
                if total is None:
                    total = torch.zeros(WIDTH, device=part.device)
                if part.device != total.device:
                    part = part.to(total.device)
                total[: len(part)] += part
        return total

    def _one(self, number: int, gradient: Tensor) -> Tensor:
        if gradient.is_sparse:
            gradient = gradient.to_dense()
        flat = gradient.detach().reshape(-1)
        rows, rest = divmod(flat.numel(), WIDTH)
        offset = number * 131 % _OFFSETS
        signs = self.signs(max(rows + 1, WIDTH) + _OFFSETS, flat.device)
        if not rows:
            return flat.float() * signs[offset : offset + rest]
        kinds = signs[offset : offset + rows]
        whole = flat[: rows * WIDTH].view(rows, WIDTH)
        total = (kinds.to(whole.dtype) @ whole).float() if whole.dtype in _EXACT else kinds @ whole.float()
        if rest:
            total[:rest] += flat[rows * WIDTH :].float() * signs[offset + rows]
        return total


_EXACT = (torch.float32, torch.float64)
