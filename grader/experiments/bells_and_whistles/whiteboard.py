"""The whiteboard of lesson 03: compare a step written from memory with a computation by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.bells_and_whistles.gpt import flat

Batch = tuple[Tensor, ...]
"""Inputs and targets."""


def _ramp(step: int, peak: float) -> float:
    return peak * (step + 1) / 4


def _model() -> nn.Sequential:
    torch.manual_seed(9)
    return nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11)).double()


def steps_by_hand(batches: Sequence[Batch], peaks: Sequence[float], max_norm: float) -> tuple[Tensor, int]:
    """Compute steps without an optimizer: the first tensor is one group, the others are another.

    Returns:
        The weights afterwards, and how many steps were clipped.
    """
    model = _model()
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    clipped = 0
    for step, (xb, yb) in enumerate(batches):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        logits = torch.func.functional_call(model, leaves, (xb,))
        loss = F.cross_entropy(logits.flatten(0, 1), yb.flatten())
        grads = torch.autograd.grad(loss, list(leaves.values()))
        norm = flat(grads).norm().item()
        clipped += norm > max_norm
        shrink = min(1.0, max_norm / (norm + 1e-6))
        speeds = [_ramp(step, peaks[0])] + [_ramp(step, peaks[1])] * (len(grads) - 1)
        weights = {
            name: w - speed * shrink * g
            for (name, w), g, speed in zip(weights.items(), grads, speeds, strict=True)
        }
    return flat(weights.values()), clipped


def grade_step(attempt: Callable[..., Any]) -> str:
    """Play four steps, of which some exceed the norm, and say in Korean how they compare with those by hand."""
    generator = torch.Generator().manual_seed(9)
    batches = [torch.randint(11, (2, 3, 5), generator=generator).unbind(0) for _ in range(4)]
    model, peaks = _model(), [0.5, 5.0]
    expected, clipped = steps_by_hand(batches, peaks, max_norm=0.9)
    assert 0 < clipped < 4
    start = flat(model.parameters())
    groups = [{"params": model[0].parameters(), "lr": 0.5}, {"params": model[1].parameters(), "lr": 5.0}]
    opt = torch.optim.SGD(groups)
    for step, (xb, yb) in enumerate(batches):
        attempt(model, opt, peaks, _ramp, step, xb, yb, 0.9)
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. 아직 비어 있거나, 업데이트하기 전에 그레이디언트를 지운 것입니다."
    if (result - expected).abs().max() < 1e-9:
        return "모든 줄이 제자리에 있습니다. 네 스텝 뒤의 가중치가 손 계산과 같습니다."
    return "움직이기는 했지만 손 계산과 다릅니다. 학습률은 언제 정하고, 클리핑은 어느 두 줄 사이에서 할까요?"
