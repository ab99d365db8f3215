"""A parameter group came from an iterator that was used up before: the group is empty."""

import ast
from collections.abc import Iterator

from grader.scripts.by_hand import UpdatesStopped
from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_MAKERS = ("parameters", "named_parameters", "filter", "map")


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        for number in optimizer.spent:
            yield Finding(
                place=optimizer.built,
                sentence=Said(
                    f"{optimizer.kind}의 {number + 1}번째 그룹에 넘긴 제너레이터가 이미 다 쓰인 것이어서, 그룹이 비어 "
                    "있어요. 그 층은 학습되지 않아요.",
                    f"The iterator given to group {number + 1} of {optimizer.kind} had been used up, so the group is "
                    "empty and its layers are never updated.",
                ),
                evidence=Said(
                    f"옵티마이저를 만들 때 그 제너레이터에 남은 것이 없었어요 (그룹별 매개변수 "
                    f"{[len(one) for one in optimizer.groups]}개).",
                    "Nothing was left in the iterator when the optimizer was built (parameters by group: "
                    f"{[len(one) for one in optimizer.groups]}).",
                ),
                mend=Said(
                    "`list(...)`로 한 번 받아 두고 그 목록을 쓰세요.",
                    "Keep the parameters in a list and pass that.",
                ),
            )


def _made(facts: Facts) -> Place | None:
    """Return the one line that binds a name to an iterator over parameters; None if there are several, or none."""
    found = [
        _reading.at(file, one)
        for file in _reading.files(facts)
        for one in _reading.nodes(file, ast.Assign, ast.AnnAssign)
        if isinstance(one, ast.Assign | ast.AnnAssign)
        and one.value is not None
        and _reading.called(one.value) in _MAKERS
    ]
    return found[0] if len(found) == 1 else None


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find an optimizer written by hand whose iterator over the parameters lasts for its first step only."""
    stopped = next(iter(facts.of(UpdatesStopped)), None)
    if stopped is None or facts.updates > 1 or facts.updates != stopped.update or facts.steps():
        return
    backwards = sum(one.update == facts.updates for one in facts.of(BackwardRan))
    yield Finding(
        place=stopped.spent or _made(facts) or stopped.place,
        sentence=Said(
            "직접 쓴 업데이트가 매개변수를 제너레이터로 받아요. 한 번 돌면 다 쓰여서, 그다음 업데이트는 아무것도 "
            "바꾸지 않아요.",
            "The updates that are written by hand go through the parameters by an iterator. The first pass uses it "
            "up, and no later update changes anything.",
        ),
        evidence=Said(
            f"업데이트를 {facts.updates}번 본 다음 `backward()`가 {backwards}번 있었는데 매개변수가 그대로였고, 남은 "
            "것이 없는 이터레이터를 아직 갖고 있었어요.",
            f"Updates that were seen: {facts.updates}. Afterwards {backwards} backward passes ran, the parameters "
            "stayed as they were, and an iterator with nothing left was still kept.",
        ),
        mend=Said(
            "`list(...)`로 한 번 받아 두고 그 목록을 쓰세요.", "Keep the parameters in a list and use that."
        ),
    )


def _find_all(facts: Facts) -> Iterator[Finding]:
    yield from _find(facts)
    yield from _by_hand(facts)


RULE = Rule(
    id="optimizer-consumed-generator",
    severity="bug",
    title=Said("다 쓴 제너레이터를 옵티마이저에 넘겼어요", "The optimizer gets a spent iterator"),
    lesson="01_five_line_step/4_accumulation_loop",
    find=_find_all,
)
