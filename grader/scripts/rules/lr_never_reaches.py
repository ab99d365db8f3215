"""The schedule is longer than the whole run: the rate never comes where it should."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.things import SchedulerFacts

_FEWEST = 10
_PART = 0.5


def _target(facts: Facts, scheduler: SchedulerFacts) -> float | None:
    """Return the rate to which a warm-up leads."""
    options = facts.optimizers[scheduler.optimizer].options if scheduler.optimizer is not None else []
    value = options[0].get("max_lr", options[0].get("initial_lr")) if options else None
    return float(value) if isinstance(value, int | float) else None


def _find(facts: Facts) -> Iterator[Finding]:
    if not facts.ended:
        return  # what comes later is not known
    for scheduler in facts.schedulers:
        calls = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number and one.after]
        if len(calls) < _FEWEST or scheduler.built is None:
            continue
        target = _target(facts, scheduler)
        last = calls[-1].after[0]
        rises = sum(one.after[0] > one.before[0] for one in calls)
        if target is not None and rises == len(calls) and last < 0.9 * target:
            yield Finding(
                place=scheduler.built,
                sentence=Said(
                    "워밍업이 학습 전체보다 길어서, 학습률이 정한 값까지 올라가지 못하고 학습이 끝나요.",
                    "The warm-up is longer than the whole training, so the rate never comes to its value.",
                ),
                evidence=Said(
                    f"스케줄러가 움직인 {len(calls)}번 모두 학습률이 올라갔고, 마지막은 {last:.3g}으로 목표 "
                    f"{target:.3g}의 {last / target:.0%}였어요.",
                    f"The rate rose in all {len(calls)} scheduler steps and ended at {last:.3g}, {last / target:.0%} "
                    f"of {target:.3g}.",
                ),
                mend=Said(
                    "워밍업의 길이를 전체 업데이트 수에 맞추세요.",
                    "Choose the warm-up's length from the number of all updates.",
                ),
            )
            continue
        length = scheduler.options.get("total_steps", scheduler.options.get("T_max"))
        if length and len(calls) < _PART * length:
            yield Finding(
                place=scheduler.built,
                sentence=Said(
                    "스케줄의 길이가 학습보다 훨씬 길어서, 학습률이 끝까지 내려가지 못해요. 일부러 그랬나요?",
                    "The schedule is much longer than the training, so the rate never comes to its end. Is that meant?",
                ),
                evidence=Said(
                    f"길이는 {length:g}인데 끝까지 {len(calls)}번 움직였고, 마지막 학습률은 {last:.3g}이에요.",
                    f"Its length is {length:g}; it was stepped {len(calls)} times until the end, where the rate is "
                    f"{last:.3g}.",
                ),
                mend=Said(
                    "길이를 스케줄러를 움직이는 횟수에 맞추세요.",
                    "Set its length to the number of scheduler steps.",
                ),
            )


RULE = Rule(
    id="lr-never-reaches",
    severity="warning",
    title=Said("학습률이 목표에 닿지 못해요", "The rate never reaches its value"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
)
