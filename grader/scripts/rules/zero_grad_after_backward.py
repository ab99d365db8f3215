"""Gradients are cleared between backward and step: the step reads nothing."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules._steps import FEWEST, idle_steps, last_clearing, step_within
from grader.scripts.source import gradient_clearings


def _cleared_by_hand(facts: Facts, step: Stepped) -> Place | None:
    """Return the line between a step and the backward before it that clears gradients without `zero_grad`."""
    backward = next((one for one in reversed(list(facts.of(BackwardRan))) if one.serial < step.serial), None)
    if backward is None or backward.place is None or step.place is None:
        return None
    found = [
        one
        for one in gradient_clearings(backward.place.file)
        if backward.place.line <= one.line <= step.place.line and step.place.file == one.file
    ]
    return found[-1] if found else None


def _find(facts: Facts) -> Iterator[Finding]:
    for idle in idle_steps(facts):
        pairs = [(step, clearing) for step in idle.steps if (clearing := last_clearing(facts, step))]
        early = [
            one
            for one in facts.of(BackwardRan)
            if idle.optimizer in one.contributed and step_within(facts, one, idle.optimizer)
        ]
        by_hand = _cleared_by_hand(facts, idle.steps[-1]) if not pairs and not early else None
        if by_hand is None and (len(pairs) < FEWEST or len(early) > len(pairs) / 2):
            continue
        step = idle.steps[-1]
        yield Finding(
            place=by_hand or pairs[-1][1].place,
            sentence=Said(
                "`backward()`가 만든 그레이디언트를 `step()`이 읽기 전에 지워서, 모델이 전혀 배우지 못해요.",
                "The gradients are cleared after backward() and before step() reads them, so nothing is learnt.",
            ),
            evidence=Said(
                f"`step()` {idle.of}번 가운데 {len(idle.steps)}번에 읽을 그레이디언트가 없었어요 "
                f"(매개변수 {step.total}개 모두).",
                f"{len(idle.steps)} of {idle.of} steps found no gradient at all ({step.total} parameters).",
            ),
            mend=Said(
                "`zero_grad()`를 `backward()` 앞이나 `step()` 뒤로 옮기세요.",
                "Move zero_grad() before backward() or after step().",
            ),
        )


RULE = Rule(
    id="zero-grad-after-backward",
    severity="bug",
    title=Said(
        "backward와 step 사이에서 그레이디언트를 지워요", "Gradients are cleared between backward and step"
    ),
    lesson="01_five_line_step/1_five_lines",
    find=_find,
)
