"""A parameter group came from an iterator that was used up before: the group is empty."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        for number in optimizer.spent:
            yield Finding(
                place=optimizer.built,
                sentence=Said(
                    f"{optimizer.kind}의 {number + 1}번째 그룹에 넘긴 제너레이터가 이미 다 쓰인 것이어서, 그룹이 비어 "
                    "있어요. 그 층은 학습되지 않아요.",
                    f"The iterator given to group {number + 1} of {optimizer.kind} had been used up, so the group is "
                    "empty and its layers are never updated.",
                ),
                evidence=Said(
                    f"옵티마이저를 만들 때 그 제너레이터에 남은 것이 없었어요 (그룹별 매개변수 "
                    f"{[len(one) for one in optimizer.groups]}개).",
                    "Nothing was left in the iterator when the optimizer was built (parameters by group: "
                    f"{[len(one) for one in optimizer.groups]}).",
                ),
                mend=Said(
                    "`list(...)`로 한 번 받아 두고 그 목록을 쓰세요.",
                    "Keep the parameters in a list and pass that.",
                ),
            )


RULE = Rule(
    id="optimizer-consumed-generator",
    severity="bug",
    title=Said("다 쓴 제너레이터를 옵티마이저에 넘겼어요", "The optimizer gets a spent iterator"),
    lesson="01_five_line_step/4_accumulation_loop",
    find=_find,
)
