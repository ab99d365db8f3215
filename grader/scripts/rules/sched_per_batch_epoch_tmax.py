"""A schedule that counts epochs is stepped after every batch: the rate swings up and down, or soon runs out."""

import ast
import linecache
from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._micro_schedules import micro_window

_FEWEST, _SOON = 20, 0.5
_NOTHING = 1e-3
"""Share of the first rate with which hardly anything is learnt."""
_OF_EPOCHS = ("StepLR", "MultiStepLR", "LinearLR", "PolynomialLR", "LambdaLR")
_UPDATES = {"step", "steps", "len", "iters", "iter", "iterations", "batch", "batches", "updates"}


def _counts_epochs(built: Place) -> bool:
    """Return True if a scheduler's construction speaks of epochs, and of nothing that counts updates."""
    calls = [one for one in _reading.around(built, ast.Call) if isinstance(one, ast.Call)]
    given = [*calls[-1].args[1:], *(word.value for word in calls[-1].keywords)] if calls else []
    said = set().union(*map(_reading.words, given))
    return bool(said & {"epoch", "epochs"}) and not said & _UPDATES


def _runs_out(facts: Facts) -> Iterator[Finding]:
    """Find step schedules of epochs that are stepped for every update and are soon over."""
    for scheduler in facts.schedulers:
        steps = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number and one.after]
        own = facts.steps(scheduler.optimizer)
        if (
            scheduler.kind not in _OF_EPOCHS
            or micro_window(facts, scheduler)
            or scheduler.built is None
            or len(steps) < max(_FEWEST, 0.8 * len(own))
        ):
            continue
        counts_epochs = _counts_epochs(scheduler.built)
        if not any(steps[0].before):
            continue  # the rate begins at 0: there is nothing to fall
        low = (0.2 if counts_epochs else _NOTHING) * steps[0].before[0]
        fallen = next((n for n, one in enumerate(steps) if one.after[0] <= low), None)
        if fallen is None or fallen > _SOON * len(steps):
            continue
        yield Finding(
            place=steps[-1].place,
            severity=None if counts_epochs else "warning",
            sentence=Said(
                "에폭 수로 정한 스케줄을 배치마다 움직여서, 학습 초반에 학습률이 끝까지 내려가 버려요.",
                "A schedule that counts epochs is stepped after every batch, so the rate has fallen to its end early "
                "in the training.",
            ),
            evidence=Said(
                f"업데이트 {len(own)}번 동안 {len(steps)}번 움직였고, {fallen + 1}번째에 벌써 학습률이 "
                f"{steps[0].before[0]:g}에서 {steps[fallen].after[0]:.3g}로 내려갔어요."
                + (" 읽어 보니 스케줄러를 만들 때 에폭 수를 주었어요." if counts_epochs else ""),
                f"{len(steps)} scheduler steps in {len(own)} updates; at step {fallen + 1} the rate had fallen from "
                f"{steps[0].before[0]:g} to {steps[fallen].after[0]:.3g}."
                + (" From reading: the scheduler is given a number of epochs." if counts_epochs else ""),
            ),
            mend=Said(
                "`scheduler.step()`을 에폭이 끝날 때로 옮기세요.",
                "Step it once per epoch.",
            ),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _runs_out(facts)
    for scheduler in facts.schedulers:
        length = scheduler.options.get("T_max")
        if scheduler.kind != "CosineAnnealingLR" or length is None or micro_window(facts, scheduler):
            continue
        steps = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number and one.after]
        own = len(facts.steps(scheduler.optimizer))
        rises = sum(one.after[0] > one.before[0] * (1 + 1e-9) for one in steps)
        if len(steps) < 0.8 * own or len(steps) <= length or rises < 2:
            continue
        place, made = steps[-1].place, scheduler.built  # a framework's loop has no line of the script's own
        yield Finding(
            place=made if place is None or "step" not in linecache.getline(place.file, place.line) else place,
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
    title=Said("에폭 단위 스케줄을 배치마다 움직였어요", "An epoch schedule is stepped per batch"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
)
