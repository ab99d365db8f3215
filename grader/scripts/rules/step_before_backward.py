"""The step comes between the forward and its backward: it reads nothing, or the previous batch's gradients."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules._steps import FEWEST, MOST_OFTEN, step_within


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        own = [
            one for one in facts.of(BackwardRan) if optimizer.number in one.contributed and not one.in_step
        ]
        early = [step for one in own if (step := step_within(facts, one, optimizer.number))]
        if len(early) < FEWEST or len(early) < MOST_OFTEN * len(own):
            continue
        empty = sum(step.read_norm == 0 for step in early)
        yield Finding(
            place=early[-1].place,
            sentence=Said(
                "`step()`이 `backward()`보다 먼저 실행돼요. 이번 배치의 그레이디언트는 이 업데이트에 들어가지 않아요.",
                "step() runs before backward(), so the gradients of this batch are not in this update.",
            ),
            evidence=Said(
                f"`step()` {len(early)}번이 순전파와 그 `backward()` 사이에 있었고, "
                f"그중 {empty}번은 읽을 그레이디언트가 없었어요.",
                f"{len(early)} steps ran between a forward and its backward; {empty} of them found no gradient.",
            ),
            mend=Said("`step()`을 `backward()` 뒤로 옮기세요.", "Move step() after backward()."),
        )


RULE = Rule(
    id="step-before-backward",
    severity="bug",
    title=Said("step이 backward보다 먼저예요", "step() runs before backward()"),
    lesson="01_five_line_step/1_five_lines",
    find=_find,
)
