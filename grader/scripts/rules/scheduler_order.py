"""Schedulers that are stepped before the optimizer, for every micro-batch, or that hold another optimizer."""

from collections.abc import Iterator

from grader.scripts.facts import (
    Facts,
    ScalerCalled,
    Scheduled,
    SchedulerBuilt,
    Stepped,
)
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules._micro_schedules import micro_window
from grader.scripts.things import SchedulerFacts

_FEWEST = 3


def _calls(facts: Facts, scheduler: SchedulerFacts) -> list[Scheduled]:
    return [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number]


def _beside(call: Scheduled, step: Stepped) -> Place | None:
    """Return the line of a scheduler's step or the call of its method, whichever stands beside the optimizer's step.

    What a dispatcher calls is told in the method itself: it is bound to the wrong event.
    """
    functions = {(one.file, one.function) for one in (step.place, *step.callers) if one is not None}
    lines = (one for one in (call.place, *call.callers[:1]) if one is not None)
    return next((one for one in lines if (one.file, one.function) in functions), call.place)


def _too_early(facts: Facts) -> Iterator[Finding]:
    for scheduler in facts.schedulers:
        calls = _calls(facts, scheduler)
        steps = facts.steps(scheduler.optimizer)
        if scheduler.kind == "ReduceLROnPlateau" or len(calls) < 2 or len(calls) > 1.5 * len(steps) + 1:
            continue
        first, second = calls[:2]
        built = next((one for one in facts.of(SchedulerBuilt) if one.scheduler == scheduler.number), None)
        if built is None or any(
            isinstance(one, Stepped) for one in facts.between(built.serial, first.serial)
        ):
            continue  # its optimizer may begin later than another one
        between = [one for one in steps if first.serial < one.serial < second.serial]
        skipped = any(isinstance(one, ScalerCalled) and one.skipped for one in facts.events[: second.serial])
        if (
            scheduler.built is None
            or steps[0].serial < first.serial
            or not between
            or first.place != second.place
            or skipped
        ):
            continue
        before, after = first.before[0] if first.before else 0.0, steps[0].rates[0] if steps[0].rates else 0.0
        yield Finding(
            place=_beside(first, steps[0]),
            sentence=Said(
                "스케줄러가 옵티마이저의 첫 `step()`보다 먼저 움직여서, 스케줄의 첫 학습률은 한 번도 쓰이지 않고 "
                "모든 변화가 한 번씩 일찍 와요.",
                "The scheduler is stepped before the optimizer, so the first rate is never used and every change "
                "comes one step early.",
            ),
            evidence=Said(
                f"첫 `optimizer.step()` 전에 스케줄러가 움직였어요. 첫 업데이트의 학습률은 {before:g}이 아니라 "
                f"{after:g}이었어요.",
                f"The scheduler stepped before the first optimizer.step(): the first update used the rate {after:g}, "
                f"the schedule begins at {before:g}.",
            ),
            mend=Said(
                "`scheduler.step()`을 `optimizer.step()` 뒤로 (에폭 스케줄이면 에폭 끝으로) 옮기세요.",
                "Call scheduler.step() after optimizer.step(), at the epoch's end for an epoch schedule.",
            ),
        )


def _other(facts: Facts) -> Iterator[Finding]:
    stepping = {one.number for one in facts.optimizers if len(facts.steps(one.number)) >= _FEWEST}
    live = [one for one in facts.schedulers if one.steps >= _FEWEST and one.built is not None]
    live = [one for one in live if _calls(facts, one)]
    scheduled = {one.optimizer: _calls(facts, one)[0].serial for one in live}
    last = {one.optimizer: one.serial for one in facts.of(Stepped)}  # the inner one of SAM steps inside
    partners = {
        other
        for one in facts.optimizers
        if one.number in scheduled and last.get(one.number, -1) > scheduled[one.number]
        for other in one.shares_groups_with
    }
    bound_to = {one.optimizer for one in facts.schedulers if one.steps}
    without = sorted(one for one in stepping - bound_to - partners if _is_steady(facts, one))
    if not without:
        return
    for number, scheduler in enumerate(live):
        doubled = [one for one in live[:number] if one.optimizer == scheduler.optimizer]
        first = _calls(facts, scheduler)[0].serial
        idle = last.get(scheduler.optimizer if scheduler.optimizer is not None else -1, -1) < first
        same = any(one.kind == scheduler.kind for one in doubled)
        if not (same or idle):
            continue
        bound = facts.optimizers[scheduler.optimizer or 0]
        lonely = facts.optimizers[without[-1]]
        if idle and last[lonely.number] < first:
            continue  # nobody steps any more
        line, other = bound.built.line if bound.built else 0, lonely.built.line if lonely.built else 0
        why = (
            ("그 옵티마이저에는 이미 다른 스케줄러가 있고", "which has a scheduler already, while")
            if same
            else ("그 옵티마이저는 그동안 한 번도 움직이지 않고", "which never steps meanwhile, and")
        )
        yield Finding(
            place=scheduler.built,
            sentence=Said(
                f"이 스케줄러는 {line}번째 줄의 옵티마이저에 묶여 있어요. {why[0]}, {other}번째 줄의 옵티마이저는 "
                "학습률이 바뀌지 않아요.",
                f"This scheduler holds the optimizer of line {line}, {why[1]} the rate of the optimizer of line "
                f"{other} never changes.",
            ),
            evidence=Said(
                f"스케줄러가 {scheduler.steps}번 움직였어요. {other}번째 줄의 옵티마이저({lonely.kind})는 지켜보는 "
                f"동안 {len(facts.steps(lonely.number))}번 업데이트했고, 스케줄러가 없어 학습률이 그대로였어요.",
                f"{scheduler.steps} scheduler steps; the optimizer of line {other} ({lonely.kind}) made "
                f"{len(facts.steps(lonely.number))} updates while watched, without a scheduler and at one rate.",
            ),
            mend=Said(
                "스케줄러를 만들 때 그 옵티마이저를 넘기세요.",
                "Pass the optimizer that is meant when the scheduler is built.",
            ),
        )


def _is_steady(facts: Facts, optimizer: int) -> bool:
    """Return True if all steps of an optimizer had the same rates: nobody sets them by hand."""
    return len({step.rates for step in facts.steps(optimizer)}) == 1


def _deserted(facts: Facts) -> Iterator[Finding]:
    """Find schedulers that went on until the end when another optimizer had taken the place of theirs."""
    for scheduler in facts.schedulers:
        found = scheduler.deserted
        if found is None or not facts.whole or scheduler.built is None:
            continue
        if found.calls < _FEWEST or found.updates < _FEWEST or found.first == found.last:
            continue
        old, new = (facts.optimizers[one].built for one in (scheduler.optimizer or 0, found.optimizer))
        kind, rate = facts.optimizers[found.optimizer].kind, found.rates[0] if found.rates else 0.0
        where = (f"{new.line}번째 줄의 ", f" of line {new.line}") if new else ("", "")
        yield Finding(
            place=scheduler.built,
            sentence=Said(
                "도중에 새 옵티마이저가 학습을 넘겨받았는데 스케줄러는 옛 옵티마이저에 묶여 있어서, 지금 쓰는 학습률은 "
                "바뀌지 않아요.",
                "A new optimizer has taken over the training, but the scheduler still holds the old one: the rate in "
                "use never changes.",
            ),
            evidence=Said(
                f"스케줄러가 마지막으로 움직인 {found.calls}번 동안 그 옵티마이저"
                + (f"({old.line}번째 줄)" if old else "")
                + f"의 학습률은 {found.first:.3g}에서 {found.last:.3g}로 바뀌었지만 `step()`은 한 번도 없었어요. 같은 "
                f"매개변수를 {where[0]}{kind} 옵티마이저가 {found.updates}번 업데이트했고, 그 학습률은 줄곧 "
                f"{rate:.3g}이었어요.",
                f"In its last {found.calls} steps it moved the rate of its optimizer"
                + (f" (line {old.line})" if old else "")
                + f" from {found.first:.3g} to {found.last:.3g}, which never stepped; the {kind}{where[1]} updated the "
                f"same parameters {found.updates} times at the rate {rate:.3g}.",
            ),
            mend=Said(
                "새 옵티마이저를 만들 때 스케줄러도 그 옵티마이저로 새로 만드세요.",
                "Build a new scheduler for the new optimizer when that is built.",
            ),
        )


def _not_its_own(facts: Facts) -> Iterator[Finding]:
    yield from _other(facts)
    yield from _deserted(facts)


def _per_micro(facts: Facts) -> Iterator[Finding]:
    for scheduler in facts.schedulers:
        window = micro_window(facts, scheduler)
        if not window:
            continue
        calls, steps = _calls(facts, scheduler), facts.steps(scheduler.optimizer)
        at_end = _ended(calls, steps)
        rises = sum(one.after > one.before for one in calls)
        swings = scheduler.kind == "CosineAnnealingLR" and rises > 1
        yield Finding(
            place=calls[-1].place,
            severity="bug" if at_end or swings else None,
            sentence=Said(
                f"스케줄러를 업데이트마다가 아니라 마이크로 배치마다 움직여서, 학습률이 {window}배 빨리 바뀌어요.",
                f"The scheduler is stepped for every micro-batch, not for every update, so the schedule runs {window} "
                "times too fast.",
            ),
            evidence=Said(
                f"업데이트 {len(steps)}번 동안 스케줄러는 {len(calls)}번 움직였어요"
                + (
                    f". 마지막 {at_end}번의 업데이트는 학습률이 0에 가까웠어요."
                    if at_end
                    else f", 그중 {rises}번은 다 내려간 학습률이 다시 올라갔어요."
                    if swings
                    else "."
                ),
                f"{len(calls)} scheduler steps in {len(steps)} updates"
                + (
                    f"; the last {at_end} updates had a rate near 0."
                    if at_end
                    else f"; {rises} of them raised the rate again after its end."
                    if swings
                    else "."
                ),
            ),
            mend=Said(
                "`scheduler.step()`을 `optimizer.step()`과 같은 조건 안에 넣으세요.",
                "Step the scheduler inside the same condition as optimizer.step().",
            ),
        )


def _ended(calls: list[Scheduled], steps: list[Stepped]) -> int:
    """Count the last updates whose rate was below a thousandth of the highest."""
    highest = max((one.before[0] for one in calls if one.before), default=0.0)
    count = 0
    for step in reversed(steps):
        if not step.rates or step.rates[0] > 1e-3 * highest:
            break
        count += 1
    return count if count > 1 else 0


RULES = [
    Rule(
        id="sched-before-optimizer",
        severity="bug",
        title=Said(
            "스케줄러가 옵티마이저보다 먼저 움직였어요", "The scheduler is stepped before the optimizer"
        ),
        lesson="02_loop_anatomy/4_schedules",
        find=_too_early,
    ),
    Rule(
        id="sched-other-optimizer",
        severity="bug",
        title=Said("스케줄러가 다른 옵티마이저에 묶여 있어요", "The scheduler holds another optimizer"),
        lesson="02_loop_anatomy/4_schedules",
        find=_not_its_own,
        late=True,
    ),
    Rule(
        id="sched-per-microbatch",
        severity="warning",
        title=Said("스케줄러를 마이크로 배치마다 움직였어요", "The scheduler is stepped per micro-batch"),
        lesson="02_loop_anatomy/4_schedules",
        find=_per_micro,
    ),
]
