"""A cosine schedule that counts epochs is stepped after every batch: the rate swings up and down."""

import linecache
from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled
from grader.scripts.findings import Finding, Rule, Said


def _find(facts: Facts) -> Iterator[Finding]:
    for scheduler in facts.schedulers:
        length = scheduler.options.get("T_max")
        if scheduler.kind != "CosineAnnealingLR" or length is None:
            continue
        steps = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number and one.after]
        own = len(facts.steps(scheduler.optimizer))
        rises = sum(one.after[0] > one.before[0] * (1 + 1e-9) for one in steps)
        if len(steps) < 0.8 * own or len(steps) <= length or rises < 2:
            continue
        place, made = steps[-1].place, scheduler.built  # a framework's loop has no line of the script's own
        yield Finding(
            place=place if place is not None and "step" in linecache.getline(place.file, place.line) else made,
            sentence=Said(
                f"`T_max={length:g}`인 코사인 스케줄을 배치마다 움직여서, "
                f"학습률이 {length:g}번마다 내려갔다 다시 올라와요.",
                f"The cosine schedule has T_max={length:g} but is stepped after every batch, so the rate swings "
                f"down and up again every {length:g} batches.",
            ),
            evidence=Said(
                f"업데이트 {own}번 동안 {len(steps)}번 움직였고, 그중 {rises}번은 학습률이 올라갔어요.",
                f"{len(steps)} scheduler steps in {own} updates; the rate rose in {rises} of them.",
            ),
            mend=Said(
                "`scheduler.step()`을 에폭이 끝날 때로 옮기거나, `T_max`를 전체 업데이트 수로 하세요.",
                "Step it once per epoch, or set T_max to the number of all updates.",
            ),
        )


RULE = Rule(
    id="sched-per-batch-epoch-tmax",
    severity="bug",
    title=Said("에폭 단위 스케줄을 배치마다 움직여요", "An epoch schedule is stepped per batch"),
    lesson="03_bells_and_whistles",
    find=_find,
)
