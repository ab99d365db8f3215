"""The schedule is longer than the whole run: the rate never comes where it should."""

import ast
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import pairwise

from grader.scripts.facts import Facts, Scheduled, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._shown_rates import shown_rates
from grader.scripts.states import StateTaken
from grader.scripts.things import SchedulerFacts

_FEWEST, _FEWEST_OF_LENGTH = 10, 4
_FEWEST_RATES, _NOT_BEGUN, _AS_FAST = 9, 0.8, 0.9
_STEADY = 0.999
"""A function of the step that decays by a factor falls a little slower each time, also where it hardly falls."""
_PART, _FEWEST_WRITTEN, _FEWEST_UPDATES = 0.5, 3, 3


def _target(facts: Facts, scheduler: SchedulerFacts) -> float | None:
    """Return the rate to which a warm-up leads."""
    options = facts.optimizers[scheduler.optimizer].options if scheduler.optimizer is not None else []
    value = options[0].get("max_lr", options[0].get("initial_lr")) if options else None
    return float(value) if isinstance(value, int | float) else None


def _into_copies(facts: Facts) -> Iterator[Finding]:
    """Find rates that were written into the copies of the groups that `optimizer.state_dict()` gives."""
    written: dict[Place, list[StateTaken]] = {}
    for one in facts.of(StateTaken):
        if one.rewritten and one.place is not None:
            written.setdefault(one.place, []).append(one)
    for place, those in written.items():
        if len(those) < _FEWEST_WRITTEN:
            continue
        rate = next((step.rates[0] for step in facts.steps(those[-1].owner) if step.rates), 0.0)
        yield Finding(
            place=place,
            severity="bug",
            sentence=Said(
                "`state_dict()`가 주는 그룹은 복사본이라서, 거기에 쓴 학습률은 옵티마이저에 닿지 않아요.",
                "The groups that state_dict() gives are copies: a rate that is written there never reaches the "
                "optimizer.",
            ),
            evidence=Said(
                f"이 줄에서 받은 상태의 학습률을 {len(those)}번 바꿨지만, 다음 `step()`은 그때마다 바꾸기 전의 "
                f"학습률로 업데이트했어요 (처음 {rate:.3g}).",
                f"The rate in the state of this line was changed {len(those)} times, and each time the next step "
                f"used the one from before (at first {rate:.3g}).",
            ),
            mend=Said(
                '`optimizer.param_groups`에 쓰세요: `for group in optimizer.param_groups: group["lr"] = lr`.',
                'Write into `optimizer.param_groups`: `for group in optimizer.param_groups: group["lr"] = lr`.',
            ),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _into_copies(facts)
    yield from shown_rates(facts)
    if not facts.whole:
        return  # what comes later is not known
    yield from _set_by_hand(facts)
    for scheduler in facts.schedulers:
        calls = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number and one.after]
        count, last = scheduler.steps, scheduler.rate
        if (
            count < _FEWEST_OF_LENGTH
            or scheduler.built is None
            or last is None
            or _replaced(facts, scheduler)
        ):
            continue
        length = scheduler.options.get("total_steps", scheduler.options.get("T_max"))
        short = bool(length and calls and count < _PART * length) and not _may_stop_early(calls)
        fewest = _fewest_updates(facts, scheduler, calls)
        if length and short and "total_steps" in scheduler.options and _counts_updates(length, count, fewest):
            yield _per_epoch(int(length), scheduler, calls, fewest)
            continue
        target = _target(facts, scheduler)
        if count >= _FEWEST and target is not None and scheduler.rises == count and last < 0.9 * target:
            yield Finding(
                place=scheduler.built,
                sentence=Said(
                    "워밍업이 학습 전체보다 길어서, 학습률이 정한 값까지 올라가지 못하고 학습이 끝나요.",
                    "The warm-up is longer than the whole training, so the rate never comes to its value.",
                ),
                evidence=Said(
                    f"스케줄러가 움직인 {count}번 모두 학습률이 올라갔지만, {last:.3g}까지만 갔어요(목표 "
                    f"{target:.3g}의 {last / target:.0%}).",
                    f"The rate rose in all {count} scheduler steps and ended at {last:.3g}, {last / target:.0%} "
                    f"of {target:.3g}.",
                ),
                mend=Said(
                    "워밍업의 길이를 전체 업데이트 수에 맞추세요.",
                    "Choose the warm-up's length from the number of all updates.",
                ),
            )
            continue
        if length and short:
            yield _too_long(scheduler.built, int(length), scheduler, calls)


def _replaced(facts: Facts, scheduler: SchedulerFacts) -> bool:
    """Return True if an optimizer built later, with a scheduler of its own, went on with the same parameters."""
    if scheduler.optimizer is None:
        return False
    own = facts.optimizers[scheduler.optimizer]
    later = [one for one in facts.optimizers if one.serial > own.serial and one.parameters & own.parameters]
    return any(
        one.optimizer == other.number and one.steps
        for other in later
        for one in facts.schedulers
        if not any(step.serial > other.serial for step in facts.steps(own.number))
    )


def _set_by_hand(facts: Facts) -> Iterator[Finding]:
    """Find rates without a scheduler, or of LambdaLR, that have only begun to fall when the training ends.

    They fall in equal steps or ever faster: a line, or the beginning of a cosine. One that decays by a factor, or that
    has come to its end, falls ever slower.
    """
    scheduled = {one.optimizer for one in facts.schedulers if one.kind != "LambdaLR"}
    by_function = {one.optimizer: one.built for one in facts.schedulers if one.kind == "LambdaLR"}
    for optimizer in facts.optimizers:
        course = optimizer.course
        steps = facts.steps(optimizer.number)
        if optimizer.number in scheduled or len(course) < _FEWEST or not steps or _ends_early(steps):
            continue
        peak = max(course)
        falling = course[len(course) - 1 - course[::-1].index(peak) :]
        values = [falling[0], *(now for before, now in pairwise(falling) if now != before)]
        if (
            len(values) < _FEWEST_RATES
            or not _NOT_BEGUN * peak <= values[-1] < peak
            or min(values) < values[-1]
        ):
            continue
        cuts = [i * (len(values) - 1) // 4 for i in range(5)]
        falls = [(values[first] - values[last]) / (last - first) for first, last in pairwise(cuts)]
        given = by_function.get(optimizer.number)
        least = _AS_FAST if given is None else _STEADY
        if min(falls) <= 0 or any(after < least * before for before, after in pairwise(falls)):
            continue
        yield Finding(
            place=given or _writing_line(facts) or optimizer.built,
            sentence=Said(
                f"{'손으로' if given is None else '함수로'} 정한 학습률이 내려가기 시작하자마자 학습이 끝나요. "
                "스케줄이 학습보다 훨씬 길어요.",
                f"The rate that is set by {'hand' if given is None else 'a function'} has only begun to fall when the "
                "training ends: its schedule is much longer than the training.",
            ),
            evidence=Said(
                f"가장 높은 학습률은 {peak:.3g}이었고, 점점 빨리 또는 한결같이 내려가다가 {values[-1]:.3g}"
                f"({values[-1] / peak:.0%})에서 끝났어요.",
                f"It rose to {peak:.3g} and fell steadily or ever faster, but ended at {values[-1]:.3g} "
                f"({values[-1] / peak:.0%}).",
            ),
            mend=Said(
                "스케줄의 길이를 전체 업데이트 수(에폭 수 × 에폭마다의 배치 수)로 정하세요.",
                "Set its length to the number of all updates: epochs times batches per epoch.",
            ),
        )


def _ends_early(steps: list[Stepped]) -> bool:
    """Return True if a loop around an optimizer's steps can be left before its end."""
    return _can_be_left({place for one in steps for place in (one.place, *one.callers) if place is not None})


def _writing_line(facts: Facts) -> Place | None:
    """Return the only line that writes into `["lr"]`."""
    found = [
        _reading.at(file, made)
        for file in _reading.files(facts)
        for made in _reading.nodes(file, ast.Assign)
        for target in made.targets  # type: ignore[attr-defined]
        if isinstance(target, ast.Subscript) and ast.unparse(target.slice) == "'lr'"
    ]
    return found[0] if len(found) == 1 else None


def _may_stop_early(calls: list[Scheduled]) -> bool:
    """Return True if the loop around the scheduler's steps can be left before its end."""
    return _can_be_left({one.place for one in calls if one.place is not None})


def _can_be_left(places: Iterable[Place]) -> bool:
    """Return True if a loop around one of these places has a `break` or `return`."""
    loops = [loop for place in places for loop in _reading.around(place, *_reading.LOOPS)]
    return any(isinstance(one, ast.Break | ast.Return) for loop in loops for one in ast.walk(loop))


def _fewest_updates(facts: Facts, scheduler: SchedulerFacts, calls: list[Scheduled]) -> int:
    """Return the smallest number of updates of its own optimizer between two of a scheduler's steps."""
    if scheduler.optimizer is None:
        return 0
    serials = [one.serial for one in facts.steps(scheduler.optimizer)]
    counts = (
        bisect(serials, after.serial) - bisect(serials, before.serial) for before, after in pairwise(calls)
    )
    return min(counts, default=0)


def _counts_updates(length: float, steps: int, updates: int) -> bool:
    """Return True if a schedule is about as long as all updates, of which there are several between its steps.

    A training that stopped early leaves a schedule unfinished, too; then its length is that of other things.
    """
    return updates >= _FEWEST_UPDATES and 0.8 < length / (steps * updates) < 1.25


def _per_epoch(length: int, scheduler: SchedulerFacts, calls: list[Scheduled], updates: int) -> Finding:
    """Say of OneCycleLR that it is stepped once in several updates and never comes to its end."""
    count, last = scheduler.steps, scheduler.rate or 0.0
    return Finding(
        place=calls[-1].place,
        severity="bug",
        sentence=Said(
            f"{scheduler.kind}의 길이는 {length}스텝인데 업데이트 {updates}번에 한 번만 움직여서, 학습률이 내려가기 "
            "전에 학습이 끝나요."
            if scheduler.rises == count
            else f"{scheduler.kind}의 길이는 {length}스텝인데 업데이트 {updates}번에 한 번만 움직여서, 학습률이 "
            "끝까지 내려가지 못해요.",
            f"{scheduler.kind} is {length} steps long and stepped once in {updates} updates, so the training ends "
            + (
                "before the rate falls."
                if scheduler.rises == count
                else "long before the rate comes to its end."
            ),
        ),
        evidence=Said(
            f"학습이 끝날 때까지 {length}번 가운데 {count}번만 움직였어요. 마지막 학습률: {last:.3g}.",
            f"It was stepped {count} of {length} times until the end, where the rate is {last:.3g}.",
        ),
        mend=Said(
            "업데이트마다, `optimizer.step()` 바로 다음에 부르세요.",
            "Call it after each `optimizer.step()`.",
        ),
    )


def _too_long(place: Place, length: int, scheduler: SchedulerFacts, calls: list[Scheduled]) -> Finding:
    """Say that a schedule is longer than the training, and whether its length is the number of updates."""
    per = {after.update - before.update for before, after in pairwise(calls) if after.update > before.update}
    count, last = scheduler.steps, scheduler.rate or 0.0
    counted = len(per) == 1 and length == count * min(per)
    return Finding(
        place=place,
        sentence=Said(
            f"스케줄의 길이는 업데이트 수로 정했는데 스케줄러는 업데이트 {min(per)}번에 한 번만 움직여서, 학습률이 "
            "거의 내려가지 않아요."
            if counted
            else "스케줄의 길이가 학습보다 훨씬 길어서, 학습률이 끝까지 내려가지 못해요. 일부러 그랬나요?",
            f"Its length is the number of updates, but the scheduler is stepped once in {min(per)} updates: the rate "
            "hardly falls."
            if counted
            else "The schedule is much longer than the training, so the rate never comes to its end. Is that meant?",
        ),
        evidence=Said(
            f"스케줄의 길이는 {length}인데 스케줄러는 학습이 끝날 때까지 {count}번만 움직였어요. "
            f"마지막 학습률: {last:.3g}."
            + (f" {length} = 움직인 {count}번 × 그사이의 업데이트 {min(per)}번." if counted else ""),
            f"Its length is {length}; it was stepped {count} times until the end, where the rate is {last:.3g}."
            + (f" {length} = {count} × {min(per)} updates." if counted else ""),
        ),
        mend=Said(
            "스케줄의 길이를 스케줄러가 움직이는 횟수로 정하세요.",
            "Set its length to the number of scheduler steps.",
        ),
    )


RULE = Rule(
    id="lr-never-reaches",
    severity="warning",
    title=Said("학습률이 목표에 닿지 못했어요", "The rate never reaches its value"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
    late=True,
)
