"""The mean loss of a batch is divided by the batch's size once more: the gradient is that many times too small."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._windows import SCALE_FREE
from grader.scripts.source import line_of

_FEWEST, _SMALLEST_BATCH = 4, 4
_MEANS = ("mean", "batchmean")
_SIZE = {"len", "size", "shape", "batch", "bs", "bsz", "numel", "samples"}
"""Words of a batch's size."""


def _batch(facts: Facts, backward: BackwardRan) -> int:
    """Return the size of the batch if the root is a mean loss, divided by just that; 0 if not."""
    if len(backward.losses) != 1 or backward.forward is None or backward.value is None:
        return 0
    loss, forward = facts.events[backward.losses[0]], facts.events[backward.forward]
    if not isinstance(loss, LossComputed) or not isinstance(forward, ForwardRan) or loss.value is None:
        return 0
    whole = loss.reduction in _MEANS and backward.divisor == forward.batch >= _SMALLEST_BATCH
    mean, root = float(loss.value), float(backward.value)
    return forward.batch if whole and abs(mean - root * forward.batch) <= 1e-3 * abs(mean) else 0


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        steps = facts.steps(optimizer.number)
        alone = [facts.backward(one.window[0]) for one in steps if len(one.window) == 1]
        for place in dict.fromkeys(one.place for one in alone):
            own = [one for one in alone if one.place == place]
            sizes = [size for one in own if (size := _batch(facts, one))]
            divides = _dividing_line(place)
            if len(sizes) < max(_FEWEST, len(own)) or len(alone) < 0.8 * len(steps) or divides is None:
                continue
            yield _told(divides, optimizer.kind, sizes)


def _dividing_line(backward: Place | None) -> Place | None:
    """Return the line that divides by what is called a size: the loss's own, or that of the backward."""
    for place in (_reading.loss_line(backward), backward):
        if place is not None and "/" in line_of(place) and _reading.words(line_of(place)) & _SIZE:
            return place
    return None


def _told(place: Place, kind: str, sizes: list[int]) -> Finding:
    return Finding(
        place=place,
        severity="warning" if kind in SCALE_FREE else "bug",
        sentence=Said(
            "이미 배치의 평균인 손실을 배치 크기로 한 번 더 나눠서, 그레이디언트가 배치 크기만큼 작아요.",
            "The loss is the mean of the batch already and is divided by the batch's size once more, so the gradient "
            "is that many times too small.",
        ),
        evidence=Said(
            f"업데이트 {len(sizes)}번에서 `backward()`를 부른 값은 평균 손실을 배치 크기 {sizes[-1]}로 나눈 것이었어요 "
            f"({kind}).",
            f"In {len(sizes)} updates backward() was called on a mean loss divided by the batch's size, {sizes[-1]} "
            f"({kind}).",
        ),
        mend=Said(
            '나눗셈을 빼세요. 나누려면 손실을 `reduction="sum"`으로 구하세요.',
            'Leave the division out, or sum the loss: `reduction="sum"`.',
        ),
    )


RULE = Rule(
    id="mean-divided-again",
    severity="bug",
    title=Said("평균인 손실을 배치 크기로 또 나눴어요", "A mean loss is divided by the batch size again"),
    lesson="01_five_line_step/3_why_accumulation_works",
    find=_find,
)
