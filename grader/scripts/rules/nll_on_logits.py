"""NLL loss is given raw scores instead of log-probabilities."""

from collections.abc import Iterator

from grader.scripts.by_hand import ScorePicked
from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading

_FEWEST = 3


def _is_log_probability(loss: LossComputed) -> bool:
    assert loss.row_sums is not None
    least, most = loss.row_sums.tolist()[4:]
    return bool(abs(least - 1) < 0.05 and abs(most - 1) < 0.05)


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [
        one
        for one in facts.of(LossComputed)
        if one.name == "nll_loss" and one.grad and one.row_sums is not None
    ]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place]
        raw = [one for one in these if not _is_log_probability(one)]
        if len(raw) < _FEWEST or len(raw) < len(these):
            continue
        values = [float(one.value) for one in these if one.value is not None]
        yield Finding(
            place=raw[-1].module_place or place,
            sentence=Said(
                "`nll_loss`는 로그 확률을 받는데 점수(로짓)가 그대로 들어가요. 손실이 0 아래로 끝없이 내려가요.",
                "NLL loss expects log-probabilities but is given raw scores, so it falls below zero without limit.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(these)}번 모두, exp의 합이 1이 아니었어요. "
                f"손실은 {values[0]:.3g}에서 {values[-1]:.3g}이 됐어요.",
                f"In {len(raw)} of {len(these)} losses exp of the rows did not sum to one; the loss went from "
                f"{values[0]:.3g} to {values[-1]:.3g}.",
            )
            if values
            else Said("exp의 합이 1이 아니었어요.", "exp of the rows did not sum to one."),
            mend=Said(
                "`nn.CrossEntropyLoss()`를 쓰거나, 먼저 `log_softmax`를 하세요.",
                "Use nn.CrossEntropyLoss(), or apply log_softmax first.",
            ),
        )


def _is_raw(facts: Facts, pick: ScorePicked) -> bool:
    """Return True if a loss falls with every picked score without limit, of a model that is given data."""
    forward = None if pick.forward is None else facts.events[pick.forward]
    falls = pick.weights is not None and bool((pick.weights <= 0).all()) and bool(pick.weights.any())
    trained = isinstance(forward, ForwardRan) and forward.training and not forward.needs_grad
    return pick.raw and pick.alone and falls and trained and len(pick.targets.unique()) > 1


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find losses written by hand that are a mean of minus the picked raw scores."""
    backwards = {one.number: one for one in facts.of(BackwardRan) if not one.raised}
    raw = [one for one in facts.of(ScorePicked) if _is_raw(facts, one)]
    for place in dict.fromkeys(one.place for one in raw):
        picks = [one for one in facts.of(ScorePicked) if one.place == place]
        own = [one for one in backwards.values() if one.place == place]
        ours = frozenset[int]().union(*(one.contributed for one in own))
        others = [one for one in backwards.values() if one.place != place and one.contributed & ours]
        values = [float(one.value) for one in own if one.value is not None]
        numbers = {one.backward for one in picks}
        if (
            len(numbers) < _FEWEST
            or len(numbers) < len(picks)
            or not all(_is_raw(facts, one) for one in picks)
        ):
            continue
        if others or not ours or not values or values[-1] >= min(0.0, values[0]):
            continue
        yield Finding(
            place=_reading.loss_line(place),
            sentence=Said(
                "손실이 정답의 점수(로짓)를 골라 부호만 바꾼 것이에요. 로그 확률이 아니라서 "
                "다른 클래스의 점수를 누르지 않고, 손실이 0 아래로 끝없이 내려가요.",
                "The loss picks the target's raw score and turns its sign. These are no log-probabilities: nothing "
                "lowers the other classes' scores, and the loss falls below zero without limit.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(picks)}번 모두 선형층의 출력에서 고른 값에 음수를 곱해 더하기만 했어요. "
                f"손실은 {values[0]:.3g}에서 {values[-1]:.3g}이 됐어요.",
                f"All {len(picks)} losses that were looked at only add picked outputs of a linear layer with negative "
                f"weights; the loss went from {values[0]:.3g} to {values[-1]:.3g}.",
            ),
            mend=Said(
                "고르기 전에 `log_softmax(-1)`을 하세요.",
                "Apply log_softmax(-1) before the scores are picked.",
            ),
        )


def _find_all(facts: Facts) -> Iterator[Finding]:
    yield from _find(facts)
    yield from _by_hand(facts)


RULE = Rule(
    id="nll-on-logits",
    severity="bug",
    title=Said("nll_loss에 로짓이 들어갔어요", "NLL loss on logits"),
    lesson=None,
    find=_find_all,
)
