"""An attribute that nothing reads: a misspelt `requires_grad`, or a setting of an optimizer outside of its groups."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.source import is_misspelt, line_of
from grader.scripts.states import UnreadAttribute

_FEWEST = 3


def _misspelt(facts: Facts) -> Iterator[Finding]:
    for one in facts.of(UnreadAttribute):
        if not is_misspelt(one.name) or not one.against or one.place is None:
            continue
        line = line_of(one.place).strip()
        stay = "얼린 채로 남아 있어요" if one.value else "얼지 않고 계속 학습돼요"
        stays = "what was frozen stays frozen" if one.value else "what should be frozen goes on training"
        right = line.replace(f".{one.name}", ".requires_grad") if one.kind == "Parameter" else ""
        yield Finding(
            place=one.place,
            sentence=Said(
                f"`{one.name}`라는 속성은 아무도 읽지 않아요. `requires_grad`는 그대로라서 매개변수가 {stay}.",
                f"Nothing reads an attribute `{one.name}`: `requires_grad` stays as it was, so {stays}.",
            ),
            evidence=Said(
                f"`step()` 때 옵티마이저가 가진 매개변수 {one.looks}개 가운데 {one.against}개에서 `{one.name}`은 "
                f"{one.value}인데 `requires_grad`는 {not one.value}였어요.",
                f"At a step {one.against} of the optimizer's {one.looks} parameters had `{one.name}` {one.value} but "
                f"`requires_grad` {not one.value}.",
            ),
            mend=Said(
                f"`requires_grad_({one.value})`를 부르세요.",
                f"Call `requires_grad_({one.value})`.",
            ),
            diff=(line, right) if right else None,
        )


def _setting(facts: Facts) -> Iterator[Finding]:
    for one in facts.of(UnreadAttribute):
        if is_misspelt(one.name) or one.against < _FEWEST or not one.steady:
            continue
        yield Finding(
            place=one.place,
            sentence=Said(
                f"옵티마이저에 적은 속성 `{one.name}`은 아무도 읽지 않아요. `step()`은 그룹의 "
                f'`group["{one.name}"]`을 쓰는데, 그 값은 바뀌지 않았어요.',
                f"Nothing reads an attribute `{one.name}` of an optimizer: step() uses "
                f'`group["{one.name}"]` of its groups, which stayed as it was.',
            ),
            evidence=Said(
                f"살펴본 `step()` {one.looks}번 가운데 {one.against}번에 둘이 달랐어요 (마지막에는 속성 "
                f"{_short(one.value)}, 그룹 {_short(one.used)}).",
                f"They differed in {one.against} of {one.looks} steps that were looked at (in the last one "
                f"{_short(one.value)}, in the group {_short(one.used)}).",
            ),
            mend=Said(
                f'그룹에 쓰세요: `for group in optimizer.param_groups: group["{one.name}"] = …`.',
                f'Write into the groups: `for group in optimizer.param_groups: group["{one.name}"] = …`.',
            ),
        )


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else str(value)


RULES = [
    Rule(
        id="requires-grad-misspelt",
        severity="bug",
        title=Said("requires_grad의 철자가 틀렸어요", "requires_grad is misspelt"),
        lesson="01_five_line_step/6_evaluation_and_switches",
        find=_misspelt,
        late=True,
    ),
    Rule(
        id="setting-beside-groups",
        severity="bug",
        title=Said(
            "옵티마이저의 설정이 그룹에 닿지 않았어요", "A setting never reaches the optimizer's groups"
        ),
        lesson=None,
        find=_setting,
        late=True,
    ),
]
