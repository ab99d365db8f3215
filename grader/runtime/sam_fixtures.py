"""The SAM that drivers hand to the exercises that use one (`sam_step`, `sam_accumulate`, `train_qa`)."""

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from grader.runtime.recorder import Recorder

RHO = 0.3
"""Large beside weights of about 0.6: gradients at w and at w + e must be easy to tell apart."""


class FixtureSAM(Optimizer):
    """Two steps over a ready-made base optimizer, as the contract describes them, but for one thing.

    It climbs in a metric of its own: e = rho * a * g / ||a * g||, with a = 1, 2, 3, 1, 2, 3 … over the elements.
    So a function that uses it can be judged (e follows the direction of the gradient and not its scale), and it
    is no answer to the exercise `SAM`, from whose sandbox it can be read. Nor has it what else is asked there:
    `adaptive`, checks, a way through `None`, `state_dict`.
    """

    def __init__(self, base: Optimizer, recorder: Recorder, rho: float = RHO) -> None:
        super().__init__([p for group in base.param_groups for p in group["params"]], {})
        self.base_optimizer = base
        self.param_groups = base.param_groups
        self.rho = rho
        self._recorder = recorder
        self._remembered: list[Tensor] = []
        self._tensors: list[Tensor] = [p for group in base.param_groups for p in group["params"]]

    def first_step(self, zero_grad: bool = False) -> None:
        """Climb from w to w + e, and remember w."""
        self._recorder.note("first_step")
        uphill = [_metric(p) * p.grad for p in self._tensors if p.grad is not None]
        if len(uphill) == len(self._tensors):
            size = float(torch.cat([u.ravel() for u in uphill]).square().sum().sqrt())
            self._remembered = [p.detach().clone() for p in self._tensors]
            with torch.no_grad():
                for tensor, direction in zip(self._tensors, uphill, strict=True):
                    tensor.add_(direction * (self.rho / size if size else 0.0))
        if zero_grad:
            self.zero_grad()

    def second_step(self, zero_grad: bool = False) -> None:
        """Go back to w and let the base optimizer step from there."""
        with torch.no_grad():
            for tensor, remembered in zip(self._tensors, self._remembered, strict=False):
                tensor.copy_(remembered)
        self._remembered = []
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        self.base_optimizer.zero_grad(set_to_none)

    def step(self, closure: Any = None) -> Any:
        """Not in the contract.

        Raises:
            TypeError: always, with what to call instead.
        """
        raise TypeError("sam.step()은 쓰지 않아요. sam.first_step()과 sam.second_step()을 부르세요.")


def _metric(parameter: Tensor) -> Tensor:
    flat = torch.arange(parameter.numel(), dtype=parameter.dtype, device=parameter.device) % 3 + 1
    return flat.reshape(parameter.shape)
