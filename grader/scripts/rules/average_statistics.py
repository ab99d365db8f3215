"""An average of the weights (EMA) that is evaluated with the batch-norm statistics of its first moment."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules.moving_average import averages, mixing_line

_FEWEST, _FEWEST_FROM_BIRTH = 4, 2
"""Updates of the average; fewer are enough if its statistics are those of no batch, as a new batch norm's."""


def _find(facts: Facts) -> Iterator[Finding]:
    for module in facts.modules:
        mixed = averages(facts, module)
        fewest = _FEWEST_FROM_BIRTH if module.stale_from_birth else _FEWEST
        if not module.stale_runs or len(mixed) < fewest:
            continue
        yield Finding(
            place=mixing_line(facts) or module.built,
            sentence=Said(
                "평균이 매개변수만 옮기고 버퍼는 옮기지 않아요. 평균 모델의 배치 정규화는 복사할 때의 통계로 "
                "평가해요.",
                "The average takes the parameters and no buffers: the averaged model is evaluated with the batch-norm "
                "statistics of the moment when it was copied.",
            ),
            evidence=Said(
                f"평균을 {len(mixed)}번 갱신하는 동안 원래 모델의 `running_mean`은 바뀌었는데, 평균 모델을 평가한 "
                f"{module.stale_runs}번에는 처음 값 그대로였어요 (배치 정규화 {module.batch_norms}개).",
                f"While it was updated {len(mixed)} times the source's running means changed; in {module.stale_runs} "
                f"evaluations its own were still the first ones ({module.batch_norms} batch norms).",
            ),
            mend=Said(
                "버퍼도 복사하세요: `for e, b in zip(ema.buffers(), model.buffers()): e.copy_(b)`.",
                "Copy the buffers, too: `for e, b in zip(ema.buffers(), model.buffers()): e.copy_(b)`.",
            ),
        )


RULE = Rule(
    id="ema-without-buffers",
    severity="bug",
    title=Said("이동 평균에 버퍼가 빠졌어요", "The average lacks the buffers"),
    lesson=None,
    find=_find,
)
