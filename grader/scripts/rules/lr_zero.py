"""Many updates in a row are made with the rate 0, because the schedule that starts there is stepped too seldom."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.things import OptimizerFacts

_FEWEST = 3


def _idle(facts: Facts, optimizer: OptimizerFacts) -> list[Stepped]:
    """Return an optimizer's first steps, as long as all its rates are exactly 0."""
    found: list[Stepped] = []
    for step in facts.steps(optimizer.number):
        if any(step.rates):
            break
        found.append(step)
    return found


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
