"""Gradients of several replicas are summed by hand and not divided by their number."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules._windows import mean_loss
from grader.scripts.source import gradient_sums

_FEWEST = 3
_STRANGE = 0.1
"""Share of what a step read that its own backwards must leave unexplained: it came from elsewhere."""


def _own_weights(facts: Facts) -> list[float]:
    """Return the weight of their own gradients in steps that read more than those."""
    found = []
    for step in facts.steps():
        own = [step.recipe[number] for number in step.window if number in step.recipe]
        if own and step.unexplained > _STRANGE and step.carried is None:
            found.append(sum(own) / len(own))
    return sorted(found)


def _divided(facts: Facts) -> bool:
    """Return True if the losses were divided before their backward."""
    ratios = [
        float(one.value) / float(loss.value)
        for one in facts.of(BackwardRan)
        if (loss := mean_loss(facts, one))
        and one.value is not None
        and loss.value is not None
        and loss.value != 0
    ]
    return bool(ratios) and sorted(ratios)[len(ratios) // 2] < 0.9


def _find(facts: Facts) -> Iterator[Finding]:
    lines = gradient_sums(facts.script)
    weights = _own_weights(facts)
    if not lines:
        return
    middle = weights[len(weights) // 2] if weights else 0.0
    measured = len(weights) >= _FEWEST and len(facts.optimizers) > 1
    if measured and (middle < 0.9 or _divided(facts)):
        return
    yield Finding(
        place=lines[0],
        severity="bug" if measured else None,
        sentence=Said(
            "복제본들의 그레이디언트를 더하기만 하고 개수로 나누지 않아서, 업데이트가 복제본 수만큼 커져요.",
            "The gradients of the replicas are summed and not divided by their number, so every step is that many "
            "times too long.",
        ),
        evidence=Said(
            f"읽어 보니 더하는 줄은 있고 나누는 줄은 없어요. 남의 그레이디언트가 섞인 `step()` {len(weights)}번에서 "
            f"자기 그레이디언트의 무게가 {middle:.2g}이었어요 (평균이면 1보다 작아요).",
            f"As read: there is a sum and no division. In {len(weights)} steps that read gradients from elsewhere "
            f"too, the own gradient had the weight {middle:.2g} (below 1 in a mean).",
        ),
        mend=Said("더한 값을 복제본 수로 나누세요.", "Divide the sum by the number of replicas."),
    )


RULE = Rule(
    id="ddp-sum-not-mean",
    severity="warning",
    title=Said("복제본의 그레이디언트를 평균하지 않았어요", "Replica gradients are summed, not averaged"),
    lesson="05_several_processes/1_mean_of_gradients",
    find=_find,
)
