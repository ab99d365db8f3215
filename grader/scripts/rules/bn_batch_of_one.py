"""Batch norm trains on one sample at a time: it normalises each sample by itself."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules.eval_mode_not_restored import trained_forwards
from grader.scripts.rules.no_shuffle_sorted import trained_batches

_FEWEST = 3


def _find(facts: Facts) -> Iterator[Finding]:
    for module in facts.modules:
        trained = trained_forwards(facts, module.number)
        single = [one for one in trained if one.single_norms]
        if len(single) < _FEWEST or len(single) < 0.8 * len(trained):
            continue
        loaders = [
            one
            for one in facts.loaders
            if one.batch_size == 1 and one.built is not None and trained_batches(facts, one.number)
        ]
        layers = max(one.single_norms for one in single)
        yield Finding(
            place=loaders[0].built if loaders else single[-1].place,
            sentence=Said(
                "학습할 때 배치 정규화가 샘플을 하나씩만 봐요. 샘플마다 제 평균과 분산으로 나누어 "
                "밝기나 크기 같은 정보가 "
                "사라지고, 평가할 때 쓰는 통계와도 달라져요.",
                "Batch norm sees one sample at a time in training: each is normalised by its own mean and "
                "variance, which removes its level and scale, and evaluation uses other statistics.",
            ),
            evidence=Said(
                f"학습하는 순전파 {len(trained)}번 가운데 {len(single)}번에서 배치 정규화 층 {layers}개에 샘플이 "
                "하나만 들어갔어요.",
                f"In {len(single)} of {len(trained)} training forwards {layers} batch-norm layers were given one "
                "sample.",
            ),
            mend=Said(
                "배치를 키우거나 `GroupNorm`을 쓰세요. 그레이디언트 누적은 배치 정규화의 배치를 키우지 않아요.",
                "Use a larger batch, or GroupNorm; accumulating gradients does not enlarge batch norm's batch.",
            ),
        )


RULE = Rule(
    id="bn-batch-of-one",
    severity="bug",
    title=Said("배치 정규화가 샘플 하나로 학습했어요", "Batch norm trains on single samples"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
