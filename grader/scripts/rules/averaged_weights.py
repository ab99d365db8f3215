"""An average of the weights (EMA) that is taken before the step, or that keeps the graph of every update."""

from collections.abc import Iterator

from grader.scripts.averaging import (
    averages_before_step,
    averaging_assignments,
    averaging_lines,
    called_averagings,
    hooked_before_step,
)
from grader.scripts.copy_events import CopyEvaluated, CopyUpdatedEarly
from grader.scripts.facts import BackwardRan, Facts, GraphKept, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules.moving_average import averages

_FEWEST, _EVALUATIONS = 3, 2
_MOST_OFTEN = 0.8


def _before(facts: Facts) -> Iterator[Finding]:
    for average, step in averages_before_step(facts.script):
        steps = [
            one
            for one in facts.of(Stepped)
            if one.place is not None and one.place.file == step.file and one.place.line == step.line
        ]
        if len(steps) < _FEWEST:
            continue
        yield Finding(
            place=average,
            sentence=Said(
                f"읽어 보니 가중치의 이동 평균을 {step.line}번째 줄의 `step()`보다 먼저 갱신해요. 평균에는 늘 가장 새 "
                "가중치가 빠져 있어요.",
                f"As read: the average of the weights is updated before the step on line {step.line}, so it always "
                "lacks the newest weights.",
            ),
            evidence=Said(
                f"{step.line}번째 줄의 `step()`은 {len(steps)}번 실행됐고, 이동 평균은 같은 블록에서 그 앞에 있어요.",
                f"The step on line {step.line} ran {len(steps)} times; the average stands before it in the same block.",
            ),
            mend=Said("이동 평균을 `step()` 다음에 갱신하세요.", "Update the average after the step."),
        )


def _in_step(facts: Facts) -> Iterator[Finding]:
    """Find copies that were seen to take, while the optimizer stepped, the weights from before the step."""
    early = list(facts.of(CopyUpdatedEarly))
    if len(early) < _FEWEST:
        return
    calls = called_averagings(facts.script)
    places = hooked_before_step(facts.script) or (calls if len(calls) == 1 else [])
    steps = facts.steps(early[-1].optimizer)
    yield Finding(
        place=places[-1] if places else early[-1].place,
        sentence=Said(
            "가중치의 이동 평균을 `step()`이 가중치를 바꾸기 전에 갱신해요. 평균에는 늘 가장 새 가중치가 빠져 있어요.",
            "The average of the weights is updated before the step changes them, so it always lacks the newest "
            "weights.",
        ),
        evidence=Said(
            f"`step()` {len(steps)}번 가운데 {len(early)}번에서, 복사본은 그 `step()` 전의 가중치와 섞였어요. 그 뒤의 "
            "가중치로는 움직임이 설명되지 않아요.",
            f"In {len(early)} of {len(steps)} steps the copy was mixed with the weights from before that step; those "
            "after it do not explain its move.",
        ),
        mend=Said(
            "평균을 `step()` 다음에, 훅이라면 `register_step_post_hook`으로 갱신하세요.",
            "Update the average after the step: as a hook, with `register_step_post_hook`.",
        ),
    )


def _lagging(facts: Facts) -> Iterator[Finding]:
    """Find copies that each evaluation finds as they were before the last step, and that only then take it in."""
    for module in facts.modules:
        seen = [one for one in facts.of(CopyEvaluated) if one.module == module.number]
        mixed = averages(facts, module)
        later = {one.update for one in mixed}
        steps = max((len(facts.steps(one.number)) for one in facts.optimizers), default=0)
        if len(seen) < _EVALUATIONS or len(mixed) < max(_FEWEST, _MOST_OFTEN * steps):
            continue
        if any(one.moved for one in seen) or not all(one.update in later for one in seen[:-1]):
            continue
        calls = averaging_lines(facts.script)
        yield Finding(
            place=calls[0] if len(calls) == 1 else seen[-1].place,
            sentence=Said(
                "가중치의 이동 평균을 `step()` 다음이 아니라 다음 `step()`을 하기 전에야 갱신해요. 평가할 때 평균에는 "
                "늘 가장 새 가중치가 빠져 있어요.",
                "The average of the weights is updated only before the next step, not after the last one: whenever it "
                "is evaluated it lacks the newest weights.",
            ),
            evidence=Said(
                f"평균을 {len(mixed)}번 갱신했는데, 평가한 {len(seen)}번 모두 마지막 `step()` 뒤로 평균이 움직이지 "
                "않았고 평가한 다음에야 움직였어요.",
                f"It was updated {len(mixed)} times, but at all {len(seen)} evaluations it had not moved since the "
                "last step; it did only afterwards.",
            ),
            mend=Said("이동 평균을 `step()` 다음에 갱신하세요.", "Update the average after the step."),
        )


def _early(facts: Facts) -> Iterator[Finding]:
    read = list(_before(facts)) or list(_in_step(facts))
    yield from read or _lagging(facts)


def _rounds(facts: Facts, update: int) -> int:
    """Return how often the busiest optimizer had stepped; two players take turns, and both make updates."""
    steps = [sum(one.update < update for one in facts.steps(each.number)) for each in facts.optimizers]
    return max(steps, default=0) or update


def _keeps(facts: Facts) -> Iterator[Finding]:
    lines = averaging_assignments(facts.script)
    largest = max((one.nodes for one in facts.of(BackwardRan)), default=0)
    kept = [
        one
        for one in facts.of(GraphKept)
        if one.uses >= max(_FEWEST, 0.5 * _rounds(facts, one.update)) and one.nodes > largest
    ]
    if not lines or not kept:
        return
    kept = [one for one in kept if one.update == kept[-1].update]
    nodes, uses = max(one.nodes for one in kept), max(one.uses for one in kept)
    yield Finding(
        place=lines[-1],
        sentence=Said(
            "이동 평균을 그레이디언트 계산을 켠 채 계산해서, 평균이 지난 업데이트의 그래프를 모두 붙들고 있어요. "
            "업데이트할수록 메모리가 늘어나요.",
            "The average is computed with gradients on, so it holds the graph of every update so far and memory grows.",
        ),
        evidence=Said(
            f"업데이트 {kept[-1].update}번 뒤에 이런 텐서가 {len(kept)}개 있었고, 하나의 그래프에 연산이 {nodes}개까지 "
            f"이어져 있었어요 (같은 매개변수를 {uses}번; 손실의 그래프는 {largest}개).",
            f"After {kept[-1].update} updates there were {len(kept)} such tensors, the longest with {nodes} operations "
            f"that use one parameter {uses} times (a loss's graph has {largest}).",
        ),
        mend=Said("`with torch.no_grad():` 안에서 계산하세요.", "Compute it inside `with torch.no_grad():`."),
    )


RULES = [
    Rule(
        id="ema-before-step",
        severity="warning",
        title=Said("이동 평균이 step보다 먼저예요", "The average is updated before the step"),
        lesson=None,
        find=_early,
    ),
    Rule(
        id="ema-keeps-graph",
        severity="bug",
        title=Said("이동 평균이 그래프를 붙들고 있어요", "The average keeps its graph"),
        lesson=None,
        find=_keeps,
    ),
]
