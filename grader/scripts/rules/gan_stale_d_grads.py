"""An optimizer's step also contains what the backward of another optimizer's loss left in its parameters."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place

_FEWEST = 3
_OPPOSED = -0.3
"""A loss that both optimizers read, and the next one is against it: they are no common task."""


def _foreign(facts: Facts, backwards: dict[int, BackwardRan], step: Stepped) -> BackwardRan | None:
    """Return a backward in the recipe that another optimizer's step read before the step's own backward came."""
    if len(step.recipe) < 2 or (step.carried is not None and step.carried > 0.5):
        return None
    newest = backwards[max(step.recipe)]
    for number in sorted(step.recipe)[:-1]:
        old = backwards[number]
        for event in facts.between(old.serial, newest.serial):
            if (
                not isinstance(event, Stepped)
                or event.optimizer == step.optimizer
                or number not in event.recipe
            ):
                continue
            if event.optimizer not in newest.norms or step.cosines.get(number, 0.0) < _OPPOSED:
                return old
    return None


def _after_others(facts: Facts, steps: list[Stepped]) -> Iterator[Stepped]:
    """Iterate over the steps before which another optimizer stepped since the one before: only there can it be."""
    before = -1
    for step in steps:
        between = facts.between(before, step.serial)
        if any(isinstance(one, Stepped) and one.optimizer != step.optimizer for one in between):
            yield step
        before = step.serial


def _find(facts: Facts) -> Iterator[Finding]:
    if len(facts.optimizers) < 2:
        return
    backwards = {one.number: one for one in facts.of(BackwardRan)}
    for optimizer in facts.optimizers:
        steps = [step for step in _after_others(facts, facts.steps(optimizer.number)) if step.recipe]
        stale = [(step, old) for step in steps if (old := _foreign(facts, backwards, step))]
        if len(stale) < _FEWEST or len(stale) < 0.8 * len(steps):
            continue
        step, old = stale[-1]
        newest = backwards[max(step.recipe)]
        held = [backwards[max(one.recipe)].held_before.get(optimizer.number, 0.0) for one, _ in stale]
        others = old.contributed - {optimizer.number}
        if others <= newest.contributed:  # the newest loss runs through the other network anyway
            fed = _fed(facts, old, optimizer.parameters)
            yield _undetached(
                old.place, fed, [step.cosines.get(old.number, 0.0) for step, old in stale], len(steps)
            )
            continue
        line = old.place.line if old.place else 0
        yield Finding(
            place=newest.place,
            sentence=Said(
                f"이 `backward()` 앞에서 지우지 않아, {line}번째 줄의 다른 손실이 남긴 "
                f"그레이디언트가 이 업데이트에 섞여요.",
                "The gradients are not cleared before this backward(), so the update also contains what the "
                f"loss of line {line} left there.",
            ),
            evidence=Said(
                f"업데이트 {len(steps)}번 가운데 {len(stale)}번에, `backward()` 전에 이미 그레이디언트가 있었어요 "
                f"(노름 평균 {sum(held) / len(held):.3g}).",
                f"In {len(stale)} of {len(steps)} updates gradients lay there before backward() (mean norm "
                f"{sum(held) / len(held):.3g}).",
            ),
            mend=Said(
                "이 손실의 `backward()` 바로 앞에서 그 옵티마이저의 그레이디언트를 지우세요.",
                "Clear this optimizer's gradients right before this backward().",
            ),
        )


def _fed(facts: Facts, backward: BackwardRan, held: frozenset[int]) -> Place | None:
    """Return the line that puts a network's output, with its graph, into another: there it should be detached."""
    made = False
    for serial in backward.forwards:
        forward = facts.events[serial]
        if isinstance(forward, ForwardRan) and facts.modules[forward.module].parameters & held:
            made = True
        elif made and isinstance(forward, ForwardRan) and forward.needs_grad:
            return forward.place
    return None


def _undetached(backward: Place | None, fed: Place | None, cosines: list[float], of: int) -> Finding:
    """Say it of a loss that reaches the parameters of the network against which it works."""
    mean = sum(cosines) / len(cosines)
    ko = "여기에 넣은 출력에 그래프가 남아 있어서, 이 손실의" if fed else "이 손실의"
    en = "The output that is fed in here still has its graph, so the loss" if fed else "This loss"
    return Finding(
        place=fed or backward,
        sentence=Said(
            f"{ko} 그레이디언트가 반대편 모델까지 흘러가고, 그 모델의 업데이트에 그대로 섞여요. 두 손실이 서로 맞서니 "
            "배우는 방향이 지워져요.",
            f"{en} leaves gradients in the network that it works against, too, and they go into that network's "
            "update, where the two cancel.",
        ),
        evidence=Said(
            f"업데이트 {of}번 가운데 {len(cosines)}번에 섞였고, 두 그레이디언트의 코사인은 평균 {mean:.2f}이에요.",
            f"Mixed into {len(cosines)} of {of} updates; the mean cosine of the two gradients is {mean:.2f}.",
        ),
        mend=Said(
            "이 손실을 구할 때 반대편 모델의 출력을 `detach()`하세요 (`fake.detach()`).",
            "Detach the other network's output for this loss (`fake.detach()`).",
        ),
    )


RULE = Rule(
    id="gan-stale-d-grads",
    severity="bug",
    title=Said("다른 손실의 그레이디언트가 섞였어요", "Gradients of another loss are mixed in"),
    lesson="01_five_line_step/2_two_more_lines",
    find=_find,
)
