"""SAM with accumulation: the second gradient is computed on the last micro-batch only."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules._two_passes import two_pass_updates

_FEWEST = 3
"""Minimum number of updates that show the mistake."""


def _own_line(first: BackwardRan, second: BackwardRan) -> Place | None:
    """Return the line of the second pass: where it parts from the first if both go through one function."""
    if second.place != first.place:
        return second.place
    return next((one for one in second.callers if one not in first.callers), second.place)


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        updates = two_pass_updates(facts, facts.steps(optimizer.number))
        accumulated = [update for update in updates if len(update.first) > 1]
        short = [
            update
            for update in accumulated
            if len(update.second) == 1 and set(update.step.recipe) == {update.second[0].number}
        ]
        if len(short) < _FEWEST or len(short) < 0.8 * len(accumulated):
            continue
        _, first, second = short[-1]
        yield Finding(
            place=_own_line(first[-1], second[0]),
            sentence=Said(
                f"SAM의 첫 번째 그레이디언트는 마이크로 배치 {len(first)}개로 구하면서, 업데이트에 쓰는 두 번째 "
                "그레이디언트는 "
                "마지막 마이크로 배치 하나로만 구해요.",
                f"SAM's first gradient is taken over {len(first)} micro-batches, but the second one, which makes the "
                "update, over the last micro-batch only.",
            ),
            evidence=Said(
                f"마이크로 배치를 모은 업데이트 {len(accumulated)}번 가운데 {len(short)}번이, 가중치를 옮긴 뒤의 "
                "`backward()` 1번만으로 이루어졌어요.",
                f"{len(short)} of {len(accumulated)} updates with several micro-batches were made of the single "
                "backward() after the weights had been moved.",
            ),
            mend=Said(
                "두 번째 그레이디언트도 같은 마이크로 배치 전부로 구하세요.",
                "Compute the second gradient over the same micro-batches.",
            ),
        )


RULE = Rule(
    id="sam-last-micro",
    severity="bug",
    title=Said(
        "SAM의 두 번째 그레이디언트가 한 배치의 것이에요", "SAM's second gradient is of one micro-batch"
    ),
    lesson="04_sam_accumulation/1_silent_bug",
    find=_find,
)
