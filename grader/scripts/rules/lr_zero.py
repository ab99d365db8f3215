"""Many updates in a row are made with the rate 0, because the schedule that starts there is stepped too seldom."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.things import OptimizerFacts, SchedulerFacts

_FEWEST, _MANY = 3, 20


def _idle(facts: Facts, optimizer: OptimizerFacts) -> list[Stepped]:
    """Return an optimizer's first steps, as long as all its rates are exactly 0."""
    found: list[Stepped] = []
    for step in facts.steps(optimizer.number):
        if any(step.rates):
            break
        found.append(step)
    return found


def _never_above(
    facts: Facts, scheduler: SchedulerFacts, idle: list[Stepped], calls: int
) -> Iterator[Finding]:
    """Find a schedule that was stepped and whose rate was 0 in all updates that were watched."""
    own = facts.optimizers[scheduler.optimizer or 0]
    if len(idle) < max(_MANY, len(facts.steps(own.number))):
        return
    moved = any(facts.parameters[one].moved for one in own.parameters)
    waits = not facts.ended and any(any(one.rates) for one in facts.steps())
    if moved or waits:  # another optimizer is trained first
        return
    by_hand = scheduler.kind in ("LambdaLR", "MultiplicativeLR")
    yield Finding(
        place=scheduler.built,
        sentence=Said(
            f"업데이트 {len(idle)}번 내내 학습률이 0이라 가중치가 하나도 움직이지 않았어요.",
            f"The rate was 0 in all {len(idle)} updates: no weight moved.",
        ),
        evidence=Said(
            f"그동안 스케줄러({scheduler.kind})는 {calls}번 움직였고 학습률은 줄곧 0이었어요.",
            f"The scheduler ({scheduler.kind}) was stepped {calls} times meanwhile, and the rate stayed 0.",
        ),
        mend=Said(
            "배율을 돌려주는 함수를 처음 몇 스텝의 수로 불러 보세요. 나눗셈이 `//`이면 1보다 작은 배율은 모두 0이에요."
            if by_hand
            else "스케줄러의 설정을 살펴보세요. 첫 업데이트에서 학습률이 0보다 커야 해요.",
            "Call the function that returns the factor for the first steps; `//` turns a factor below 1 into 0."
            if by_hand
            else "See its settings: the rate must be above 0 at the first update.",
        ),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    for scheduler in facts.schedulers:
        if scheduler.optimizer is None:
            continue
        optimizer = facts.optimizers[scheduler.optimizer]
        idle = _idle(facts, optimizer)
        if len(idle) < _FEWEST or any(facts.parameters[one].moved is None for one in optimizer.parameters):
            continue
        steps = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number]
        between = sum(one.serial < idle[-1].serial for one in steps)
        if between:
            yield from _never_above(facts, scheduler, idle, between)
            continue
        of = len(facts.steps(optimizer.number))
        yield Finding(
            place=steps[0].place if steps else scheduler.built,
            sentence=Said(
                f"스케줄이 학습률 0에서 시작하는데 {len(idle)}번 업데이트하도록 한 번도 움직이지 않아서, "
                "그동안 아무것도 "
                "배우지 않아요.",
                f"The schedule starts at the rate 0 and is not stepped for {len(idle)} updates, in which nothing is "
                "learned.",
            ),
            evidence=Said(
                f"업데이트 {of}번 가운데 처음 {len(idle)}번의 학습률이 정확히 0이었고, 스케줄러는 모두 {len(steps)}번 "
                "움직였어요.",
                f"The first {len(idle)} of {of} updates had a rate of exactly 0; the scheduler was stepped "
                f"{len(steps)} times in all.",
            ),
            mend=Said(
                "업데이트 수로 센 스케줄이면 `scheduler.step()`을 `optimizer.step()` 바로 뒤로 옮기고, 첫 "
                "학습률이 0보다 "
                "크게 하세요.",
                "If the schedule counts updates, step it right after optimizer.step(), and let its first "
                "rate be above 0.",
            ),
        )


RULE = Rule(
    id="lr-zero",
    severity="bug",
    title=Said("학습률 0으로 업데이트했어요", "Updates with the rate 0"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
)
