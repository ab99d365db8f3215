"""The largest curvature λmax of the loss while the GPT trains, without building the Hessian."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from grader.experiments.bells_and_whistles.data import batch_stream, device, short_train
from grader.experiments.bells_and_whistles.gpt import flat, make_gpt, token_loss
from grader.experiments.bells_and_whistles.stored import Run
from grader.experiments.bells_and_whistles.training import train_with

MARKS = (0, 4, 8, 12, 16, 28, 40, 60)
"""Numbers of steps after which λmax is measured."""
curved_part = short_train[::30]
"""The 32 windows whose loss it is of, always the same."""


def largest_curvature(model: nn.Module, part: Tensor = curved_part, rounds: int = 12) -> float:
    """Estimate the largest eigenvalue of the loss's Hessian by Lanczos's method."""
    parameters = list(model.parameters())
    with sdpa_kernel(SDPBackend.MATH):  # fast attention has no second derivative
        grads = torch.autograd.grad(token_loss(model, part), parameters, create_graph=True)
        slope = torch.cat([grad.flatten() for grad in grads])
        start = torch.randn(len(slope), generator=torch.Generator().manual_seed(0)).to(device)
        basis: list[Tensor] = [start / start.norm()]
        products: list[Tensor] = []
        while len(products) < rounds:
            products.append(flat(torch.autograd.grad(slope @ basis[-1], parameters, retain_graph=True)))
            fresh = products[-1]
            for known in basis * 2:  # the second time takes away what rounding left
                fresh = fresh - (fresh @ known) * known
            basis.append(fresh / fresh.norm())
    small = torch.stack(basis[:-1]) @ torch.stack(products).T
    return float(torch.linalg.eigvalsh((small + small.T) / 2)[-1])


def curvature_run(rates: Sequence[float], seed: int) -> Run:
    """Train without clipping and measure λmax at each of `MARKS`."""
    model = make_gpt(seed)
    opt = torch.optim.AdamW(model.parameters())
    curvature = {"0": largest_curvature(model)}

    def look(step: int) -> None:
        if step + 1 in MARKS:
            curvature[str(step + 1)] = largest_curvature(model)

    stream = batch_stream(short_train, seed)
    train_with(rates[: MARKS[-1]], model, opt, stream, clip_from=math.inf, after=look)
    return curvature
