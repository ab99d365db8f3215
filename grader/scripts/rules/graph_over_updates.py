"""The graph of a loss reaches through forwards of earlier updates: a carried state was not detached."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, Stepped, UpdatedByHand
from grader.scripts.findings import Finding, Rule, Said

_FEWEST = 5


def _updated_since(facts: Facts, forward: ForwardRan, backward: BackwardRan) -> int:
    """Return how many updates of a forward's own module came between it and a backward."""
    own = facts.modules[forward.module].parameters
    return sum(
        isinstance(one, UpdatedByHand)
        or (isinstance(one, Stepped) and bool(facts.optimizers[one.optimizer].parameters & own))
        for one in facts.between(forward.serial, backward.serial)
    )


def _old(facts: Facts, backward: BackwardRan) -> int:
    """Return the age in updates of the oldest forward in a backward's graph."""
    forwards = [facts.events[serial] for serial in backward.forwards]
    return max(
        (_updated_since(facts, one, backward) for one in forwards if isinstance(one, ForwardRan)), default=0
    )


def _find(facts: Facts) -> Iterator[Finding]:
    backwards = [one for one in facts.of(BackwardRan) if not one.raised]
    for place in dict.fromkeys(one.place for one in backwards):
        these = [one for one in backwards if one.place == place]
        ages = [_old(facts, one) for one in these]
        old = [(one, age) for one, age in zip(these, ages, strict=True) if age]
        if len(old) < _FEWEST or max(ages) < _FEWEST or len(old) < 0.5 * len(these):
            continue
        nodes = [one.nodes for one in these]
        yield Finding(
            place=place,
            sentence=Said(
                "앞 업데이트의 순전파까지 거슬러 올라가며 `backward()`를 해요. 그 뒤로 가중치가 바뀌었으니 "
                "그레이디언트가 "
                "틀리고, 갈수록 느려져요.",
                "backward() runs through forwards of earlier updates, whose weights have changed since: the gradient "
                "is wrong, and each pass takes longer.",
            ),
            evidence=Said(
                f"`backward()` {len(these)}번 가운데 {len(old)}번의 그래프에 앞 업데이트의 순전파가 들어 "
                "있었고, 많게는 "
                f"{max(ages)}번 앞까지 갔어요. 그래프의 연산은 {nodes[0]}개에서 {max(nodes)}개로 늘었어요.",
                f"{len(old)} of {len(these)} graphs held forwards of earlier updates, up to {max(ages)} updates old; "
                f"they grew from {nodes[0]} to {max(nodes)} operations.",
            ),
            mend=Said(
                "다음 배치로 넘기는 상태를 `detach()`로 끊고 `retain_graph=True`를 빼세요.",
                "Detach the state that is carried to the next batch, and drop `retain_graph=True`.",
            ),
        )


RULE = Rule(
    id="graph-over-updates",
    severity="bug",
    title=Said("앞 업데이트의 그래프까지 역전파했어요", "Backward runs through earlier updates"),
    lesson="01_five_line_step/8_backward_graph",
    find=_find,
)
