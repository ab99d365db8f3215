"""BCE with logits is given probabilities: the sigmoid is applied twice."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._squashed_twice import squashed_twice

_FEWEST = 3


def _place(loss: LossComputed) -> Place | None:
    """Return the line of the sigmoid's call or of its place in a Sequential; the loss's if it is an attribute."""
    made = loss.producers[0].place
    if made is None:
        return loss.place
    calls = map(_reading.called, _reading.around(made, ast.Call))
    return made if {"Sequential", "sigmoid", "sigmoid_"} & set(calls) else loss.place


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find cross-entropies of yes and no, written by hand for scores, that are given the output of a sigmoid."""
    for place, these in squashed_twice(facts, "Sigmoid"):
        made = these[-1].made
        # One of several outputs may be needed as a probability elsewhere: the loss takes the wrong one.
        beside = made is None or _reading.around(made, ast.Dict, ast.Tuple)
        yield Finding(
            place=_reading.loss_line(place) if beside else made,
            sentence=Said(
                "손실이 로짓을 받아 안에서 시그모이드를 하는데, 이미 시그모이드를 지난 값이 들어가요. "
                "손실이 보는 확률이 0.5와 0.73 사이에 갇혀서 확신 있는 답을 배우지 못해요.",
                "The loss applies the sigmoid itself but is given its output, so it sees probabilities between 0.5 "
                "and 0.73 only and no answer can become certain.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(these)}번 모두 시그모이드의 출력({min(one.low for one in these):.2f}~"
                f"{max(one.high for one in these):.2f})을 다시 확률로 바꾸는 식에 넣었어요.",
                f"{len(these)} losses put the output of a sigmoid (from {min(one.low for one in these):.2f} to "
                f"{max(one.high for one in these):.2f}) where scores belong.",
            ),
            mend=Said(
                "시그모이드를 지나기 전의 로짓을 손실에 주세요.",
                "Give the loss the logits before the sigmoid.",
            ),
        )


def _find_all(facts: Facts) -> Iterator[Finding]:
    yield from _find(facts)
    yield from _by_hand(facts)


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [
        one for one in facts.of(LossComputed) if one.name == "binary_cross_entropy_with_logits" and one.grad
    ]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place and one.producers]
        squashed = [one for one in these if one.producers[0].name == "Sigmoid"]
        if len(squashed) < _FEWEST or len(squashed) < len(these):
            continue
        ranges = [one.row_sums[:2].tolist() for one in squashed if one.row_sums is not None]
        low, high = min(one[0] for one in ranges), max(one[1] for one in ranges)
        yield Finding(
            place=_place(squashed[-1]),
            sentence=Said(
                "`BCEWithLogitsLoss`는 로짓을 받아 안에서 시그모이드를 하는데, 이미 시그모이드를 지난 값이 들어가요. "
                "손실이 보는 확률이 0.5와 0.73 사이에 갇혀서 확신 있는 답을 배우지 못해요.",
                "BCEWithLogitsLoss applies the sigmoid itself but is given its output, so the loss sees "
                "probabilities between 0.5 and 0.73 only and no answer can become certain.",
            ),
            evidence=Said(
                f"손실 {len(these)}번 모두 입력을 시그모이드가 만들었고, 값이 {low:.2f}에서 {high:.2f} 사이였어요.",
                f"The inputs of {len(squashed)} of {len(these)} losses came from a sigmoid and lay between "
                f"{low:.2f} and {high:.2f}.",
            ),
            mend=Said(
                "시그모이드를 빼고 로짓을 그대로 주세요. 예측할 때의 문턱값은 0.5 대신 0이 돼요.",
                "Remove the sigmoid and pass the logits; predictions are then cut at 0 instead of 0.5.",
            ),
        )


RULE = Rule(
    id="sigmoid-before-bcewithlogits",
    severity="bug",
    title=Said("BCEWithLogitsLoss 앞에 시그모이드가 있어요", "Sigmoid before BCEWithLogitsLoss"),
    lesson=None,
    find=_find_all,
)
