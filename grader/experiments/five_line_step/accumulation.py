"""Accumulated gradients of lesson 01, compared with those of a large batch."""

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from grader.experiments.five_line_step.data import Batch, cut, device, flat_gradients, loss_fn, make_batches
from grader.experiments.vectors import flat

PER_MICRO_BATCH = "마이크로 배치마다"
PER_WINDOW = "구간마다"
"""When gradients are clipped."""
MakeModel = Callable[[], nn.Sequential]


def mlp(*middle: nn.Module) -> MakeModel:
    """Return what makes a model 64 → 64 → 10 with these layers in between."""
    return lambda: nn.Sequential(nn.Linear(64, 64), *middle, nn.Linear(64, 10))


def relative_error(vector: Tensor, reference: Tensor) -> float:
    """Return the norm of the difference, divided by the norm of the reference."""
    return float((vector - reference).norm() / reference.norm())


def window_gradient(
    model: nn.Module,
    window: Iterable[Batch],
    weights: Sequence[float],
    *,
    mask_seed: int = 0,
    autocast: bool = False,
    clip: str = "",
) -> Tensor:
    """Call `backward` on each loss times its weight; return the sum of the gradients as one vector.

    `autocast` computes the forward passes in bfloat16; `mask_seed` decides the dropout's masks.
    """
    model.zero_grad()
    torch.manual_seed(mask_seed)
    for (xb, yb), weight in zip(window, weights, strict=True):
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            loss = loss_fn(model(xb), yb) * weight
        loss.backward()
        if clip == PER_MICRO_BATCH:
            clip_grad_norm_(model.parameters(), max_norm=0.1)
    if clip == PER_WINDOW:
        clip_grad_norm_(model.parameters(), max_norm=0.1)
    return flat_gradients(model)


def compare(
    make: MakeModel,
    sizes: Sequence[int] = (16, 16, 16, 16),
    weights: Sequence[float] | None = None,
    *,
    dtype: torch.dtype = torch.float64,
    other_mask: int = 0,
    clip: str = "",
    autocast: bool = False,
) -> float:
    """Return the relative error of accumulated gradients against those of one large batch: the median of 20 seeds."""
    weights = weights or [1 / len(sizes)] * len(sizes)
    errors = []
    for seed in range(20):
        torch.manual_seed(seed)
        model = make().to(device, dtype)
        xb, yb = make_batches(seed, batch_size=sum(sizes))[0]
        xb = xb.to(dtype)
        large = window_gradient(model, [(xb, yb)], [1.0], clip=PER_WINDOW if clip else "", autocast=autocast)
        window = cut((xb, yb), list(sizes))
        summed = window_gradient(model, window, weights, mask_seed=other_mask, clip=clip, autocast=autocast)
        errors.append(relative_error(summed, large))
    return median(errors)


def _unrounded_gradient(model: nn.Sequential, window: Iterable[Batch], weights: Sequence[float]) -> Tensor:
    """Compute in bfloat16, but sum the parameters' gradients in float64 without rounding them to bfloat16."""
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    sums: dict[nn.Module, Any] = dict.fromkeys(linears, 0.0)

    def remember(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        entered = inputs[0].detach().bfloat16().double()

        def add(grad: Tensor) -> None:
            left = grad.double()
            sums[layer] = sums[layer] + torch.cat([(left.T @ entered).flatten(), left.sum(dim=0)])

        output.register_hook(add)

    hooks = [layer.register_forward_hook(remember) for layer in linears]
    window_gradient(model, window, weights, autocast=True)
    for hook in hooks:
        hook.remove()
    return torch.cat([sums[layer] for layer in linears])


def rounding_errors() -> dict[str, list[float]]:
    """Measure in 20 seeds where the difference in bfloat16 comes from; return each comparison's relative errors."""
    found: dict[str, list[float]] = {
        "bfloat16 누적과 bfloat16 큰 배치": [],
        "bfloat16 누적에서 마이크로 배치의 순서만 바꿈": [],
        "위의 첫 줄에서 매개변수의 그레이디언트만 반올림하지 않음": [],
        "bfloat16 누적과 float32 큰 배치": [],
        "bfloat16 큰 배치와 float32 큰 배치": [],
    }
    quarters = [1 / 4] * 4
    for seed in range(20):
        torch.manual_seed(seed)
        model = mlp(nn.Tanh())().to(device)
        one = [make_batches(seed, batch_size=64)[0]]
        four = cut(one[0], 16)
        exact = window_gradient(model, one, [1.0])
        large = window_gradient(model, one, [1.0], autocast=True)
        summed = window_gradient(model, four, quarters, autocast=True)
        turned = max(
            relative_error(window_gradient(model, other, quarters, autocast=True), summed)
            for other in permutations(four)
        )
        unrounded = relative_error(
            _unrounded_gradient(model, four, quarters), _unrounded_gradient(model, one, [1.0])
        )
        errors = (
            relative_error(summed, large),
            turned,
            unrounded,
            relative_error(summed, exact),
            relative_error(large, exact),
        )
        for values, error in zip(found.values(), errors, strict=True):
            values.append(error)
    return found


def draws_in_turn() -> bool:
    """Return True if dropout draws a random number for each element in turn: four masks of 16 equal one of 64."""
    torch.manual_seed(0)
    whole = nn.functional.dropout(torch.ones(64, 64, device=device), 0.3)
    torch.manual_seed(0)
    pieces = [nn.functional.dropout(torch.ones(16, 64, device=device), 0.3) for _ in range(4)]
    return torch.equal(whole, torch.cat(pieces))


def _adamw_weights(sizes: list[int], weights: Sequence[float], *, autocast: bool, seed: int) -> Tensor:
    """Return the weights after one update of AdamW, as one vector."""
    torch.manual_seed(seed)
    model = mlp(nn.Tanh())().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    window_gradient(model, cut(make_batches(seed, batch_size=64)[0], sizes), weights, autocast=autocast)
    opt.step()
    return flat(model.parameters())


def adamw_difference(weights: Sequence[float], *, autocast: bool) -> float:
    """Return how far AdamW's update by four micro-batches is from that by a large batch, at the worst parameter.

    It is the median of ten seeds; both are computed in the same precision.
    """
    distances = []
    for seed in range(10):
        large = _adamw_weights([64], [1.0], autocast=autocast, seed=seed)
        summed = _adamw_weights([16] * 4, weights, autocast=autocast, seed=seed)
        distances.append((summed - large).abs().max().item())
    return median(distances)
