"""A loss that is computed and never back-propagated: it enters the total as a number, or not at all."""

from collections.abc import Iterator
from math import isfinite

from grader.scripts.facts import BackwardRan, Detached, Facts, LossComputed, NumberRead
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules.never_reached import names, starved

_FEWEST = 3
_LEAST, _ALIKE = 1e-4, 1e-3


def _value(facts: Facts, serial: int) -> float | None:
    loss = facts.events[serial]
    if not isinstance(loss, LossComputed) or loss.value is None:
        return None
    return float(loss.value)


def _weights(facts: Facts, left: list[LossComputed]) -> list[float]:
    """Return how many times the value of a loss is in the value that was back-propagated beside another loss's."""
    found = []
    for loss in left:
        after = next((one for one in facts.of(BackwardRan) if one.serial > loss.serial), None)
        if after is None or after.value is None or loss.value is None or len(after.losses) != 1:
            continue
        other = _value(facts, after.losses[0])
        own = float(loss.value)
        if other is not None and isfinite(own) and abs(own) > _LEAST:
            found.append((float(after.value) - other) / own)
    return found


def _as_number(weights: list[float]) -> bool:
    """Return True if the weight is the same every time, and not 0."""
    if len(weights) < _FEWEST:
        return False
    middle = sorted(weights)[len(weights) // 2]
    return abs(middle) > _LEAST and all(abs(one - middle) < _ALIKE * abs(middle) for one in weights)


def _read_at(facts: Facts, left: list[LossComputed]) -> Place | None:
    """Return the line that reads the value of those losses as a number."""
    serials = {one.serial for one in left}
    lines = [one.place for one in facts.of(NumberRead) if one.loss in serials]
    return lines[-1] if len(lines) >= _FEWEST else None


def _find(facts: Facts) -> Iterator[Finding]:
    used = {serial for one in facts.of(BackwardRan) for serial in one.losses}
    cut = frozenset[int]().union(*(one.parameters for one in facts.of(Detached)))
    hungry = {
        number: one for number, one in starved(facts).items() if number not in cut
    }  # `detach` is told there
    losses = [one for one in facts.of(LossComputed) if one.grad]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place]
        behind = frozenset[int]().union(*(one.behind for one in these)) & hungry.keys()
        if len(these) < _FEWEST or not behind or any(one.serial in used for one in these):
            continue
        weights = _weights(facts, these)
        number = _as_number(weights)
        told = [hungry[one] for one in sorted(behind)]
        yield Finding(
            place=(_read_at(facts, these) or place) if number else place,
            severity="bug" if number else "warning",
            sentence=Said(
                f"이 손실(`{these[-1].name}`)은 텐서가 아니라 숫자로 전체 손실에 더해져서 그레이디언트를 주지 못해요."
                if number
                else f"이 손실(`{these[-1].name}`)은 계산만 하고 `backward()`하지 않아요. 일부러 그랬나요?",
                f"This loss ({these[-1].name}) enters the total as a plain number and gives no gradient."
                if number
                else f"This loss ({these[-1].name}) is computed and never back-propagated. On purpose?",
            ),
            evidence=Said(
                f"{names(told)}: 이 손실 뒤에 있는 매개변수 {len(told)}개가 옵티마이저에 있는데도 그레이디언트를 한 "
                "번도 받지 못했어요."
                + (
                    f" 전체 손실에는 이 값이 {weights[-1]:.3g}배로 {len(weights)}번 모두 들어 있었어요."
                    if number
                    else ""
                ),
                f"{names(told)}: {len(told)} parameters behind it, all in the optimizer, never got a gradient."
                + (
                    f" The total held {weights[-1]:.3g} times its value in all {len(weights)} cases."
                    if number
                    else ""
                ),
            ),
            mend=Said(
                "전체 손실에는 텐서를 더하고, `.item()`은 기록할 때만 쓰세요."
                if number
                else "학습하려면 전체 손실에 더하세요.",
                "Add the tensor to the total, and use `.item()` for logging only."
                if number
                else "Add it to the total to train on it.",
            ),
        )


RULE = Rule(
    id="loss-left-out",
    severity="bug",
    title=Said("손실 하나가 그래프 밖에 있어요", "A loss is outside the graph"),
    lesson="01_five_line_step/8_backward_graph",
    find=_find,
)
