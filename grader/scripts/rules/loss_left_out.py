"""A loss that no backward reaches, although trainable parameters behind it wait for a gradient.

It may stand in the total as a plain number. That is told where it can be measured: each time, the total was one other
loss plus the same multiple of this one. Otherwise all that is known is that it was not back-propagated.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import isfinite

from grader.scripts.facts import BackwardRan, Detached, Facts, LossComputed, NumberRead
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules._overwritten import overwriting
from grader.scripts.rules.never_reached import names, starved
from grader.scripts.things import ParameterFacts

_FEWEST = 3
"""Minimum number of losses of a line, and of times that a weight is measured or a number is read."""
_NEGLIGIBLE = 1e-4
"""Values of a loss and weights up to this size are taken for 0."""
_SAME_WEIGHT = 1e-3
"""Maximum relative difference of weights that count as the same; values are float32."""


def _find(facts: Facts) -> Iterator[Finding]:
    used = {serial for backward in facts.of(BackwardRan) for serial in backward.losses}
    # Parameters that `detach()` cuts off are told by the rule of that (`never_reached.py`).
    cut = frozenset[int]().union(*(one.parameters for one in facts.of(Detached)))
    waiting = {number: p for number, p in starved(facts).items() if number not in cut}
    by_place: dict[Place | None, list[LossComputed]] = defaultdict(list)
    for loss in facts.of(LossComputed):
        if loss.grad:
            by_place[loss.place].append(loss)
    for place, losses in by_place.items():
        left = [loss for loss in losses if loss.serial not in used]
        behind = frozenset[int]().union(*(loss.behind for loss in left)) & waiting.keys()
        lost = overwriting(place) if place is not None and behind and len(left) >= _FEWEST else None
        if lost is not None:
            yield _overwritten(*lost, len(left), [waiting[number] for number in sorted(behind)])
            continue
        # One that was back-propagated clears its line: a helper may compute several losses.
        if len(losses) < _FEWEST or not behind or any(loss.serial in used for loss in losses):
            continue
        parameters = [waiting[number] for number in sorted(behind)]
        weights = _weights(facts, losses)
        if _is_one_weight(weights):
            yield _added_as_number(_read_at(facts, losses) or place, losses[-1], parameters, weights)
        else:
            yield _never_back_propagated(place, losses[-1], parameters)


def _added_as_number(
    place: Place | None, loss: LossComputed, parameters: list[ParameterFacts], weights: Sequence[float]
) -> Finding:
    count, weight = len(weights), f"{weights[-1]:.3g}"
    return Finding(
        place=place,
        sentence=Said(
            f"이 손실(`{loss.name}`)은 텐서가 아니라 숫자로 전체 손실에 더해져서 그레이디언트를 주지 못해요.",
            f"This loss ({loss.name}) enters the total as a plain number and gives no gradient.",
        ),
        evidence=Said(
            f"{_starving_ko(parameters)} 전체 손실에는 이 값이 잴 수 있던 {count}번 모두 {weight}배로 들어 있었어요.",
            f"{_starving_en(parameters)} The total held {weight} times its value, measured {count} times.",
        ),
        mend=Said(
            "전체 손실에는 텐서를 더하고, 숫자로 바꾼 값은 기록할 때만 쓰세요.",
            "Add the tensor to the total, and use its number for logging only.",
        ),
    )


def _overwritten(place: Place, name: str, count: int, parameters: list[ParameterFacts]) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"반복문을 돌 때마다 `{name}`에 새 손실을 덮어써서, 마지막 손실만 학습에 쓰여요.",
            f"`{name}` is assigned anew in each turn of the loop, so only the last of its losses is trained on.",
        ),
        evidence=Said(
            f"{_starving_ko(parameters)} 여기서 구한 손실 {count}개에는 `backward()`가 닿지 않았어요.",
            f"{_starving_en(parameters)} No backward reached {count} of the losses computed here.",
        ),
        mend=Said(
            f"반복문 앞에서 `{name} = 0`으로 두고, 안에서는 `{name} += …`로 더하세요.",
            f"Set `{name} = 0` before the loop and add inside: `{name} += …`.",
        ),
    )


def _never_back_propagated(
    place: Place | None, loss: LossComputed, parameters: list[ParameterFacts]
) -> Finding:
    return Finding(
        place=place,
        severity="warning",
        sentence=Said(
            f"이 손실(`{loss.name}`)에는 `backward()`가 한 번도 닿지 않아요. 일부러 그랬나요?",
            f"No backward reaches this loss ({loss.name}). On purpose?",
        ),
        evidence=Said(_starving_ko(parameters), _starving_en(parameters)),
        mend=Said(
            "학습하려면 전체 손실에 더하세요. 이미 더했다면 숫자가 아니라 텐서를 더했는지 보세요.",
            "Add it to the total to train on it; if it is there, add the tensor and not its number.",
        ),
    )


def _starving_ko(parameters: list[ParameterFacts]) -> str:
    return (
        f"{names(parameters)}: 이 손실 뒤에 있는 매개변수 {len(parameters)}개가 옵티마이저에 있는데도 그레이디언트를 "
        "한 번도 받지 못했어요."
    )


def _starving_en(parameters: list[ParameterFacts]) -> str:
    return f"{names(parameters)}: {len(parameters)} parameters behind it, all in the optimizer, never got a gradient."


def _weights(facts: Facts, unused: list[LossComputed]) -> list[float]:
    """Return each loss's weight in the total of the next backward, if that is one other loss plus a multiple of it.

    Losses before a backward with another number of known losses are left out.
    """
    found = []
    for loss in unused:
        total = next((one for one in facts.of(BackwardRan) if one.serial > loss.serial), None)
        if total is None or total.value is None or loss.value is None or len(total.losses) != 1:
            continue
        other, own = _loss_value(facts, total.losses[0]), float(loss.value)
        if other is not None and isfinite(own) and abs(own) > _NEGLIGIBLE:
            found.append((float(total.value) - other) / own)
    return found


def _loss_value(facts: Facts, serial: int) -> float | None:
    """Return the value of the loss with this serial number; None if it is no known loss, or not one number."""
    loss = facts.events[serial]
    if not isinstance(loss, LossComputed) or loss.value is None:
        return None
    return float(loss.value)


def _is_one_weight(weights: Sequence[float]) -> bool:
    """Return True if there are enough weights, all the same and not 0."""
    if len(weights) < _FEWEST:
        return False
    middle = sorted(weights)[len(weights) // 2]
    return abs(middle) > _NEGLIGIBLE and all(
        abs(one - middle) < _SAME_WEIGHT * abs(middle) for one in weights
    )


def _read_at(facts: Facts, unused: list[LossComputed]) -> Place | None:
    """Return the line that most often was the last to read such a loss as a number before the next backward.

    None if no line did so `_FEWEST` times. Only `.item()` is seen to read a number, and not `float(…)`.
    """
    backwards = [one.serial for one in facts.of(BackwardRan)]
    last: dict[int, Place] = {}
    for read in facts.of(NumberRead):
        if read.loss is None or read.place is None:
            continue
        following = next((serial for serial in backwards if serial > read.loss), None)
        if following is not None and read.serial < following:
            last[read.loss] = read.place
    places = Counter(last[loss.serial] for loss in unused if loss.serial in last)
    return next((place for place, count in places.most_common(1) if count >= _FEWEST), None)


RULE = Rule(
    id="loss-left-out",
    severity="bug",
    title=Said("손실 하나가 그래프 밖에 있어요", "A loss is outside the graph"),
    lesson="01_five_line_step/8_backward_graph",
    find=_find,
)
