"""The step comes between the forward and its backward: it reads nothing, or the previous batch's gradients."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, UpdatedByHand
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules._steps import FEWEST, MOST_OFTEN, step_within


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find parameters without an optimizer that only ever change between a forward and its backward."""
    updates = list(facts.of(UpdatedByHand))
    early = [one for one in updates if one.within and _is_before_its_backward(facts, one)]
    if len(early) < FEWEST or len(early) < MOST_OFTEN * len(updates):
        return
    yield Finding(
        place=early[-1].place,
        sentence=Said(
            "매개변수를 손으로 업데이트하는 일이 이 `backward()`보다 먼저예요. 업데이트는 앞 배치의 그레이디언트로 "
            "해요.",
            "Parameters are updated by hand before this backward(), so each update uses the gradients of the batch "
            "before.",
        ),
        evidence=Said(
            f"매개변수가 바뀐 {len(updates)}번 가운데 {len(early)}번은 순전파와 그 `backward()` 사이에서만 바뀌었어요.",
            f"In {len(early)} of {len(updates)} updates all changes came between a forward and its backward.",
        ),
        mend=Said("업데이트를 `backward()` 뒤로 옮기세요.", "Update after backward()."),
    )


def _is_before_its_backward(facts: Facts, update: UpdatedByHand) -> bool:
    """Return True if the backward that follows goes through the last forward, which trains what it has."""
    later = (one for one in facts.events[update.serial :] if isinstance(one, BackwardRan))
    backward = next(later, None)
    return backward is not None and backward.forward is not None and backward.forward in backward.forwards


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _by_hand(facts)
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
