"""A loss's two arguments have different shapes and are broadcast against each other: every pair is compared."""

from collections.abc import Iterator
from math import prod

import torch

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said

_ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def _grown(loss: LossComputed) -> tuple[int, ...] | None:
    """Return the broadcast shape if it is larger than both arguments."""
    if loss.name not in _ELEMENTWISE or loss.shape == loss.target_shape:
        return None
    try:
        shape = tuple(torch.broadcast_shapes(loss.shape, loss.target_shape))
    except RuntimeError:
        return None
    return shape if prod(shape) > max(prod(loss.shape), prod(loss.target_shape)) else None


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [one for one in facts.of(LossComputed) if one.grad]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place]
        grown = [one for one in these if _grown(one)]
        if not grown:
            continue
        one = grown[0]
        shape = _grown(one)
        yield Finding(
            place=place,
            sentence=Said(
                f"예측 {one.shape}과 정답 {one.target_shape}의 모양이 달라서 {shape}로 브로드캐스트돼요. "
                "예측마다 모든 정답과 비교하니, 모델은 정답의 평균만 배워요.",
                f"Predictions {one.shape} and targets {one.target_shape} are broadcast to {shape}: every "
                "prediction is compared with every target, and the model learns only their mean.",
            ),
            evidence=Said(
                f"이 줄의 손실 {len(these)}번 가운데 {len(grown)}번에 모양이 달랐어요.",
                f"{len(grown)} of {len(these)} losses of this line had two shapes.",
            ),
            mend=Said(
                "둘의 모양을 맞추세요: `pred.squeeze(-1)` 또는 `target.unsqueeze(-1)`.",
                "Give both one shape: `pred.squeeze(-1)` or `target.unsqueeze(-1)`.",
            ),
        )


RULE = Rule(
    id="mse-broadcast",
    severity="bug",
    title=Said("손실 안에서 모양이 늘어나요", "A loss broadcasts its arguments"),
    lesson=None,
    find=_find,
)
