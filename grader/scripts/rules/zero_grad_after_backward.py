"""Gradients are cleared between backward and step: the step reads nothing, or only the last of several losses."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules._lost_passes import lost_passes
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


def _all_lost(facts: Facts) -> Iterator[Finding]:
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


def _earlier_lost(facts: Facts) -> Iterator[Finding]:
    for lost in lost_passes(facts):
        count = lost.count
        yield Finding(
            place=lost.cleared.place,
            sentence=Said(
                "한 업데이트를 위한 `backward()` 사이에서 그레이디언트를 지워서, 마지막 `backward()`의 "
                "그레이디언트만 `step()`에 닿아요. 앞의 손실들은 아무것도 가르치지 못해요.",
                "The gradients are cleared between the backward passes of one update, so step() reads only those of "
                "the last; the losses before it teach nothing.",
            ),
            evidence=Said(
                f"업데이트 {lost.of}번 가운데 {len(lost.steps)}번에서 마지막 것을 뺀 `backward()`가 모두 지워졌어요 "
                f"(마지막 업데이트에서는 `backward()` {count}번 가운데 {count - 1}번).",
                f"In {len(lost.steps)} of {lost.of} updates every backward pass but the last was thrown away (in the "
                f"last update {count - 1} of {count}).",
            ),
            mend=Said(
                "`zero_grad()`를 업데이트마다 한 번만, 첫 `backward()` 앞이나 `step()` 뒤에서 부르세요.",
                "Call zero_grad() once per update: before the first backward() or after step().",
            ),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _all_lost(facts)
    yield from _earlier_lost(facts)


RULE = Rule(
    id="zero-grad-after-backward",
    severity="bug",
    title=Said(
        "backward와 step 사이에서 그레이디언트를 지웠어요", "Gradients are cleared between backward and step"
    ),
    lesson="01_five_line_step/1_five_lines",
    find=_find,
)
