"""Predictions and targets are flattened in different orders: one time first, the other batch first."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said

_FEWEST = 3


def _crossed(loss: LossComputed) -> bool:
    given, target = loss.input_laid, loss.target_laid
    return len(given) == 3 and len(target) == 2 and given[1::-1] == target and given[0] != given[1]


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [one for one in facts.of(LossComputed) if one.grad and len(one.target_shape) == 1]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place]
        crossed = [one for one in these if _crossed(one)]
        if len(crossed) < _FEWEST or len(crossed) < len(these):
            continue
        last = crossed[-1]
        yield Finding(
            place=place,
            sentence=Said(
                "예측과 정답을 펴는 순서가 달라요. 예측의 자리마다 다른 샘플, 다른 시각의 정답과 비교해요.",
                "Predictions and targets are flattened in different orders, so each prediction is compared with the "
                "target of another sample and another time.",
            ),
            evidence=Said(
                f"손실 {len(these)}번 모두 예측은 {last.input_laid}, 정답은 {last.target_laid} 모양에서 폈어요. 앞의 "
                "두 축이 서로 바뀌어 있어요.",
                f"In all {len(these)} losses the predictions were flattened from {last.input_laid} and the targets "
                f"from {last.target_laid}: the first two axes are exchanged.",
            ),
            mend=Said(
                "한쪽의 축을 바꾼 다음에 펴세요: `y.t().reshape(-1)`.",
                "Exchange the axes of one before it is flattened: `y.t().reshape(-1)`.",
            ),
        )


RULE = Rule(
    id="targets-transposed",
    severity="bug",
    title=Said("예측과 정답의 축이 바뀌었어요", "Predictions and targets have exchanged axes"),
    lesson=None,
    find=_find,
)
