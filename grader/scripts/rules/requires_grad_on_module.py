"""`module.requires_grad = …` sets an attribute of the module: its parameters stay as they are."""

import re
from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.source import line_of
from grader.scripts.states import FlagSet

_ASSIGNED = re.compile(r"\.requires_grad\s*=\s*(\w+)")


def _find(facts: Facts) -> Iterator[Finding]:
    for one in facts.of(FlagSet):
        line = line_of(one.place).strip() if one.place is not None else ""
        if not one.against or not _ASSIGNED.search(line):
            continue
        stay = "얼린 층이 그대로 얼어 있어요" if one.value else "얼리려던 층이 계속 학습돼요"
        stays = (
            "so what was frozen stays frozen" if one.value else "so what should be frozen goes on training"
        )
        yield Finding(
            place=one.place,
            sentence=Said(
                f"`requires_grad`는 매개변수의 것이에요. 모듈에 적으면 같은 이름의 속성만 생겨서, {stay}.",
                f"`requires_grad` belongs to parameters: on a module it is a mere attribute, {stays}.",
            ),
            evidence=Said(
                f"다음 `step()` 때 이 {one.kind}의 매개변수 {one.parameters}개 가운데 {one.against}개의 "
                f"`requires_grad`가 {not one.value}였어요.",
                f"At a step after this line, {one.against} of the {one.parameters} parameters of this {one.kind} had "
                f"`requires_grad` {not one.value}.",
            ),
            mend=Said(
                f"메서드를 부르세요: `requires_grad_({one.value})`.",
                f"Call the method: `requires_grad_({one.value})`.",
            ),
            diff=(line, _ASSIGNED.sub(r".requires_grad_(\1)", line)),
        )


RULE = Rule(
    id="requires-grad-on-module",
    severity="bug",
    title=Said(
        "모듈의 requires_grad를 바꿔도 달라지는 것이 없어요", "requires_grad of a module changes nothing"
    ),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
    late=True,
)
