"""Gradients are not cleared: what one step has read is read again by the next."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.ledger import MOST_IN_RECIPE

_WHOLE = 0.5
"""A step that still holds this much of what the previous one read was not cleared."""
_FEWEST = 3


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        steps = [step for step in facts.steps(optimizer.number)[1:] if step.window and step.read_norm > 0]
        kept = [step for step in steps if step.carried is not None and step.carried > _WHOLE]
        if len(kept) < _FEWEST or len(kept) < 0.8 * len(steps):
            continue
        # A recipe holds the newest gradients only: what is counted is one that holds all of its own.
        last = next((step for step in reversed(kept) if len(step.recipe) < MOST_IN_RECIPE), kept[0])
        place = facts.backward(last.window[-1]).place
        parts = len([value for value in last.recipe.values() if value > 0])
        yield Finding(
            place=place,
            sentence=Said(
                f"{optimizer.kind}의 그레이디언트를 지우지 않아서, 업데이트마다 앞에서 이미 쓴 "
                f"그레이디언트가 다시 들어가요. "
                "뒤로 갈수록 오래된 그레이디언트의 합으로 움직여요.",
                f"The gradients of {optimizer.kind} are never cleared, so every update repeats all gradients "
                "that earlier updates have used already.",
            ),
            evidence=Said(
                f"업데이트 {len(steps)}번 가운데 {len(kept)}번에 앞의 그레이디언트가 남아 있었고, "
                f"{last.number + 1}번째 업데이트는 배치 {parts}개의 그레이디언트를 더한 것이었어요.",
                f"In {len(kept)} of {len(steps)} updates the previous gradients were still there; update "
                f"{last.number + 1} was the sum of the gradients of {parts} backward passes.",
            ),
            mend=Said(
                "`backward()` 앞에 `optimizer.zero_grad()`를 넣으세요.",
                "Call `optimizer.zero_grad()` before `backward()`.",
            ),
        )


RULE = Rule(
    id="missing-zero-grad",
    severity="bug",
    title=Said("그레이디언트를 지우지 않아요", "Gradients are never cleared"),
    lesson="01_five_line_step/1_five_lines",
    find=_find,
)
