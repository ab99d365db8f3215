"""Gradients are not cleared: what one step has read is read again by the next."""

from collections.abc import Iterator
from statistics import fmean

from grader.scripts.by_hand import GradientsReused
from grader.scripts.facts import BackwardRan, Cleared, Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.ledger import MOST_IN_RECIPE
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.source import gradient_clearings
from grader.scripts.things import OptimizerFacts

_WHOLE = 0.5
"""A step that still holds this much of what the previous one read was not cleared."""
_FEWEST = 3
_UNDIMINISHED = 0.99
"""Old gradients that weigh less than this, relative to the newest, fade: that is momentum."""
_UNEXPLAINED, _NEEDED = 0.05, 0.2
_RARELY = 0.5
"""A `zero_grad` that runs less often than this, per update, is called too rarely."""


def _in_steps(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        steps = [step for step in facts.steps(optimizer.number)[1:] if step.window and step.read_norm > 0]
        kept = [step for step in steps if step.carried is not None and step.carried > _WHOLE]
        if len(kept) < _FEWEST or len(kept) < 0.8 * len(steps):
            continue
        # A recipe holds the newest gradients only: what is counted is one that holds all of its own.
        last = next((step for step in reversed(kept) if len(step.recipe) < MOST_IN_RECIPE), kept[0])
        place = facts.backward(last.window[-1]).place
        parts = len([value for value in last.recipe.values() if value > 0])
        rare = _rare_clearings(facts, optimizer, steps, place)
        if rare:
            yield _rarely(rare, optimizer, steps, len(kept))
            continue
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
            mend=_mend(optimizer),
        )


def _rare_clearings(
    facts: Facts, optimizer: OptimizerFacts, steps: list[Stepped], backward: Place | None
) -> list[Cleared]:
    """Return the clearings, all of one line, that this optimizer's updates have too few of; empty if there are none.

    One that came before the first update belongs to it only if it stands in the function of the backward.
    """
    found = [
        one
        for one in facts.of(Cleared)
        if one.place is not None
        and one.serial < steps[-1].serial
        and (one.optimizer == optimizer.number or optimizer.parameters <= one.parameters)
    ]
    during = [one for one in found if one.serial > steps[0].serial]
    beside = [one for one in found if one.place and backward and one.place.function == backward.function]
    places = {one.place for one in during or beside}
    if len(places) != 1 or len(during) >= _RARELY * len(steps):
        return []
    return [one for one in found if one.place in places]


def _rarely(clearings: list[Cleared], optimizer: OptimizerFacts, steps: list[Stepped], kept: int) -> Finding:
    updates, times = len(steps) + 1, len(clearings)
    often = "once" if times == 1 else f"{times} times"
    return Finding(
        place=clearings[-1].place,
        sentence=Said(
            f"여기의 `zero_grad()`를 업데이트 {updates}번 동안 {times}번만 불러서, {optimizer.kind}의 업데이트에 "
            "앞에서 이미 쓴 그레이디언트가 다시 들어가요.",
            f"zero_grad() ran here {often} in {updates} updates, so updates of {optimizer.kind} repeat the "
            "gradients that earlier ones have used already.",
        ),
        evidence=Said(
            f"업데이트 {len(steps)}번 가운데 {kept}번에 앞의 그레이디언트가 남아 있었어요.",
            f"In {kept} of {len(steps)} updates the previous gradients were still there.",
        ),
        mend=_mend(optimizer),
    )


def _mend(optimizer: OptimizerFacts) -> Said:
    name = _reading.name_at(optimizer.built, "optimizer")
    return Said(
        f"`backward()` 앞에 `{name}.zero_grad()`를 넣으세요.",
        f"Call `{name}.zero_grad()` before `backward()`.",
    )


def _in_closures(facts: Facts) -> Iterator[Finding]:
    """Find closures none of whose backwards begins with empty gradients."""
    for optimizer in facts.optimizers:
        number = optimizer.number
        inner = [one for one in facts.of(BackwardRan) if one.in_step and number in one.contributed][1:]
        kept = [one for one in inner if one.held_before.get(number, 0.0) != 0]  # NaN, too
        if len(kept) < _FEWEST or len(kept) < len(inner):
            continue
        norms = kept[-1].norms.get(number, 0.0), kept[-1].held_before[number]
        yield Finding(
            place=kept[-1].place,
            sentence=Said(
                f"{optimizer.kind}가 부르는 클로저가 그레이디언트를 지우지 않아서, 부를 때마다 앞의 모든 호출에서 "
                "구한 그레이디언트 위에 더해져요.",
                f"The closure that {optimizer.kind} calls never clears the gradients, so each call adds to those of "
                "all calls before.",
            ),
            evidence=Said(
                f"클로저 안의 `backward()` {len(inner)}번이 모두 남은 그레이디언트 위에 더했어요. 마지막에는 노름 "
                f"{norms[1]:.3g}이 남아 있었고 새로 구한 것은 {norms[0]:.3g}이었어요.",
                f"All {len(inner)} backward passes in closures added to gradients that lay there; in the last one "
                f"they had the norm {norms[1]:.3g}, the new gradient {norms[0]:.3g}.",
            ),
            mend=_mend(optimizer),
        )


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find parameters that are updated by hand and whose gradient is never cleared."""
    if facts.steps():
        return
    backwards = [one for one in facts.of(BackwardRan) if one.update > 0]
    counts = {
        number: sum(number in one.left for one in backwards)
        for number in frozenset().union(*(one.left for one in backwards))
    }
    kept = [number for number, count in counts.items() if count >= max(_FEWEST, 0.8 * len(backwards))]
    if not kept:
        return
    reached = {number for one in backwards for number in one.reached}
    file = facts.script if backwards[-1].place is None else backwards[-1].place.file
    cleared = gradient_clearings(file)
    names = [facts.parameters[number].name or str(facts.parameters[number].shape) for number in kept[:3]]
    yield Finding(
        place=cleared[-1] if cleared and len(kept) < len(reached) else backwards[-1].place,
        sentence=Said(
            "직접 업데이트하는 매개변수의 그레이디언트를 지우지 않아서, 앞에서 이미 쓴 그레이디언트가 다시 들어가요.",
            "Gradients of parameters that are updated by hand are not cleared, so each update repeats those that "
            "earlier ones have used.",
        ),
        evidence=Said(
            f"매개변수 {len(reached)}개 가운데 {len(kept)}개({', '.join(names)})가, 업데이트한 뒤의 `backward()` "
            f"{len(backwards)}번 가운데 {counts[kept[0]]}번에 앞의 그레이디언트를 그대로 갖고 있었어요.",
            f"{len(kept)} of {len(reached)} parameters ({', '.join(names)}) still had their gradient in "
            f"{counts[kept[0]]} of the {len(backwards)} backward passes that followed an update.",
        ),
        mend=Said(
            "업데이트한 다음 매개변수마다 `p.grad = None`으로 지우세요.",
            "After the update set `p.grad = None` for every parameter.",
        ),
    )


def _in_own_store(facts: Facts) -> Iterator[Finding]:
    """Find updates by hand that are still made of all gradients since the first, none of them faded."""
    for one in facts.of(GradientsReused):
        old, new = (
            fmean(one.oldest),
            fmean(one.newest),
        )  # the factors of gradients that are alike are exact in sum
        weights = [old / new, one.between / new] if new < 0 else [0.0]
        needed = (
            one.unexplained < _NEEDED * one.without_oldest
        )  # gradients that are alike stand for one another
        if min(weights) < _UNDIMINISHED or one.unexplained > _UNEXPLAINED or not needed:
            continue
        yield Finding(
            place=one.place,
            sentence=Said(
                "직접 모은 그레이디언트를 업데이트한 뒤에 비우지 않아서, 앞에서 이미 쓴 그레이디언트가 모두 다시 "
                "들어가요. 모멘텀과 달리 오래된 것도 줄지 않아요.",
                "Gradients that are added up by hand are not zeroed after the update, so each update repeats all that "
                "earlier ones have used. Unlike with momentum, the old ones do not fade.",
            ),
            evidence=Said(
                f"{one.updates}번째 업데이트를 그레이디언트로 나누어 보니 첫 업데이트의 것이 가장 새것의 "
                f"{weights[0]:.3g}배로 들어 있었어요 (설명되지 않은 부분 {one.unexplained:.1%}).",
                f"Update {one.updates} still held the gradients of the first one, {weights[0]:.3g} times as much as "
                f"the newest ({one.unexplained:.1%} of it unexplained).",
            ),
            mend=Said(
                "업데이트한 다음 모아 둔 텐서를 0으로 채우세요 (`torch._foreach_zero_`, `g.zero_()`).",
                "Zero the tensors that hold the sums after each update (`torch._foreach_zero_`, `g.zero_()`).",
            ),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _in_steps(facts)
    yield from _in_closures(facts)
    yield from _by_hand(facts)
    yield from _in_own_store(facts)


RULE = Rule(
    id="missing-zero-grad",
    severity="bug",
    title=Said("그레이디언트를 지우지 않았어요", "Gradients are not cleared"),
    lesson="01_five_line_step/1_five_lines",
    find=_find,
)
