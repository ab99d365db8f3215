"""Batch norms whose weights are frozen stand in training mode: their statistics keep moving."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan, ModeSet
from grader.scripts.findings import Finding, Rule, Said

_FEWEST = 3


def _find(facts: Facts) -> Iterator[Finding]:
    held = facts.held()
    for module in facts.modules:
        if not module.parameters & held:
            continue
        forwards = [
            one for one in facts.of(ForwardRan) if one.module == module.number and one.training and one.grad
        ]
        norms = frozenset().union(*(one.live_frozen_norms for one in forwards))
        fixed = {
            one for one in norms if facts.parameters[one].moved is False and not facts.parameters[one].reached
        }
        these = [one for one in forwards if one.live_frozen_norms & fixed]
        if len(these) < _FEWEST:
            continue
        modes = [one for one in facts.of(ModeSet) if one.module == module.number and one.training]
        before = [one for one in modes if one.serial < these[-1].serial]
        yield Finding(
            place=before[-1].place if before else these[-1].place,
            sentence=Said(
                "얼린 층의 배치 정규화가 학습 모드라서, 가중치는 그대로인데 평균과 분산은 계속 바뀌어요. "
                "일부러 그랬나요?",
                "Batch norms of frozen layers stand in training mode: their weights stay, but their statistics keep "
                "moving. On purpose?",
            ),
            evidence=Said(
                f"학습 모드의 순전파 {len(forwards)}번 가운데 {len(these)}번에, 가중치를 얼린 배치 정규화 "
                f"{len(fixed)}개가 "
                "학습 모드였어요.",
                f"In {len(these)} of {len(forwards)} training forwards {len(fixed)} batch norms with frozen "
                "weights were "
                "in training mode.",
            ),
            mend=Said(
                "통계도 얼리려면 `model.train()` 다음에 얼린 부분의 `eval()`을 부르세요.",
                "To freeze the statistics, too, call eval() of the frozen part after model.train().",
            ),
        )


RULE = Rule(
    id="frozen-norm-live",
    severity="info",
    title=Said("얼린 배치 정규화의 통계가 바뀌었어요", "Statistics of frozen batch norms keep moving"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
