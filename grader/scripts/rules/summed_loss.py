"""A loss that is summed over the batch and not divided: the step's length grows with the batch."""

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from grader.scripts.by_hand import SamplesSummed
from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.things import OptimizerFacts

_FEWEST = 3
_SMALLEST_BATCH = 8
_LEAST_WEIGHT = 0.45
"""With which each sample counts in a loss that sums over them; half of a squared error is usual."""
_PLAIN = ("SGD", "ASGD")
"""Optimizers whose steps are as long as the gradient."""


def _by_hand(facts: Facts, backward: BackwardRan) -> int:
    """Return the size of the batch if the root is a sum of one value per sample, made without a loss function."""
    if backward.losses or backward.forward is None or not backward.summed:
        return 0
    forward = facts.events[backward.forward]
    size = backward.summed[0]
    whole = isinstance(forward, ForwardRan) and forward.batch == size >= _SMALLEST_BATCH
    return size if whole else 0


def _summed(facts: Facts, backward: BackwardRan) -> LossComputed | None:
    """Return the loss of a backward if it is the whole root, undivided, and a sum over a batch."""
    if len(backward.losses) != 1 or backward.value is None:
        return None
    loss = facts.events[backward.losses[0]]
    if not isinstance(loss, LossComputed) or not loss.target_shape or loss.target_shape[0] < _SMALLEST_BATCH:
        return None
    if loss.reduction == "sum" and loss.value is not None:
        value = float(loss.value)
        if not isfinite(value):
            return loss if not isfinite(float(backward.value)) else None
        return loss if abs(float(backward.value) - value) <= 1e-4 * abs(value) else None
    by_hand = loss.reduction == "none" and backward.root[:1] == ("Sum",)
    return loss if by_hand else None


def _finite(pair: tuple[BackwardRan, LossComputed]) -> bool:
    return pair[0].value is None or isfinite(float(pair[0].value))


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        own = [one for one in facts.of(BackwardRan) if optimizer.number in one.contributed]
        pairs = [(one, loss) for one in own if (loss := _summed(facts, one))]
        by_hand = [one for one in own if _by_hand(facts, one)]
        weighed = [one for one in facts.of(SamplesSummed) if one.weight >= _LEAST_WEIGHT]
        if optimizer.kind in _PLAIN and len(by_hand) >= max(_FEWEST, 0.8 * len(own)):
            size = max(one.summed[0] for one in by_hand)
            yield _told(facts, optimizer, by_hand[-1].place, size, len(by_hand), len(own))
            continue
        places = {one.place for one in weighed}
        if optimizer.kind in _PLAIN and len(weighed) >= _FEWEST and places == {one.place for one in own}:
            looked = [one for one in own if one.number <= weighed[-1].backward]
            if len(weighed) == len(looked):
                size = max(one.samples for one in weighed)
                line = _reading.loss_line(own[-1].place)
                yield _told(facts, optimizer, line, size, len(weighed), len(looked))
                continue
        if optimizer.kind not in _PLAIN or len(pairs) < _FEWEST or len(pairs) < 0.8 * len(own):
            continue
        backward, loss = pairs[-1]
        size = max(one.target_shape[0] for _, one in pairs)
        place = loss.module_place or loss.place if loss.reduction == "sum" else backward.place
        told = _told(facts, optimizer, place, size, len(pairs), len(own))
        yield told if all(map(_finite, pairs)) else replace(told, severity="bug")


def _told(
    facts: Facts, optimizer: OptimizerFacts, place: Place | None, size: int, count: int, of: int
) -> Finding:
    rates = [step.rates[0] for step in facts.steps(optimizer.number) if step.rates]
    return Finding(
        place=place,
        sentence=Said(
            f"손실이 배치의 평균이 아니라 합이어서, 업데이트가 평균일 때의 {size}배로 커요. "
            "학습률을 합에 맞게 정했나요? 아니면 평균으로 바꾸세요.",
            f"The loss is the sum over the batch, not the mean, so every step is {size} times as long. Unless the "
            "rate was chosen for the sum, use the mean.",
        ),
        evidence=Said(
            f"`backward()` {of}번 가운데 {count}번이 예시 최대 {size}개의 손실을 나누지 않고 더한 "
            f"값에서 시작했어요 ({optimizer.kind}, 학습률 {rates[-1] if rates else 0:g}).",
            f"{count} of {of} backward passes began at an undivided sum over up to {size} samples "
            f"({optimizer.kind}, rate {rates[-1] if rates else 0:g}).",
        ),
        mend=Said(
            '`reduction="mean"`을 쓰거나 배치 크기로 나누세요.',
            "Use reduction='mean', or divide by the batch size.",
        ),
    )


RULE = Rule(
    id="sum-loss-lr",
    severity="warning",
    title=Said("손실을 배치에 걸쳐 더하기만 했어요", "The loss is a sum over the batch"),
    lesson="01_five_line_step/3_why_accumulation_works",
    find=_find,
)
