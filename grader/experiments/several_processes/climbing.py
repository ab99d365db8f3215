"""SAM over ranks: a small SAM, and its formulas in one process."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.several_processes.classifier import draw_batches, weights_of
from grader.experiments.several_processes.digits import Batch, make_model

RHO, RATE = 0.1, 0.5


class SmallSAM:
    """SAM over SGD; climbs by `RHO` along the whole gradient's direction."""

    def __init__(self, model: nn.Module) -> None:
        self.parameters = list(model.parameters())
        self.base = torch.optim.SGD(self.parameters, lr=RATE)

    def zero_grad(self) -> None:
        """Clear all gradients."""
        self.base.zero_grad()

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        """Climb from w to w + e, and keep w."""
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        self.kept = [p.clone() for p in self.parameters]
        for p, gradient in zip(self.parameters, gradients, strict=True):
            p.add_(RHO * gradient / norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        """Go back to w and update with the gradient taken at w + e."""
        for p, old in zip(self.parameters, self.kept, strict=True):
            p.copy_(old)
        self.base.step()
        if zero_grad:
            self.zero_grad()


def batches_of(seed: int, rank: int, count: int) -> list[Batch]:
    """Return the batches of one rank."""
    return draw_batches(10 * seed + rank, count)


def gradient_at(model: nn.Module, w: Tensor, batch: Batch) -> Tensor:
    """Return the gradient of the batch's mean loss at the weights `w`."""
    nn.utils.vector_to_parameters(w, model.parameters())
    loss = F.cross_entropy(model(batch[0]), batch[1])
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


def by_formula(seed: int, world: int, count: int, *, climbs_together: bool) -> Tensor:
    """Return the weights after `count` SAM updates, calculated in this process for all ranks.

    Args:
        seed: decides the model and the batches.
        world: number of ranks.
        count: number of updates.
        climbs_together: climb by the mean of the ranks' gradients; otherwise each rank by its own.
    """
    model = make_model(seed)
    w = weights_of(model)
    for window in zip(*(batches_of(seed, rank, count) for rank in range(world)), strict=True):
        own = [gradient_at(model, w, batch) for batch in window]
        if climbs_together:
            own = [torch.stack(own).mean(dim=0)] * world
        peaks = [w + RHO * g / g.norm() for g in own]
        parts = [gradient_at(model, peak, batch) for peak, batch in zip(peaks, window, strict=True)]
        w = w - RATE * torch.stack(parts).mean(dim=0)
    return w


def cosine_of_climbs(seed: int, updates: int) -> float:
    """Return the cosine between the directions in which two ranks climb, after so many updates."""
    w = by_formula(seed, 2, updates, climbs_together=True)
    model = make_model(seed)
    first, second = (gradient_at(model, w, batches_of(seed, rank, updates + 1)[-1]) for rank in range(2))
    return float(first @ second / (first.norm() * second.norm()))
