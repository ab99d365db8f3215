"""Cross-entropy is given probabilities: softmax is applied twice."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading
from grader.scripts.rules._squashed_twice import squashed_twice

_FEWEST = 3


def is_probability(loss: LossComputed) -> bool:
    """Return True if every looked-at row is non-negative and sums to one."""
    if loss.row_sums is None:
        return False
    low, _, least, most = loss.row_sums.tolist()[:4]
    return bool(low >= 0 and abs(least - 1) < 1e-2 and abs(most - 1) < 1e-2)


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [one for one in facts.of(LossComputed) if one.name == "cross_entropy" and one.grad]
    for place in dict.fromkeys(one.place for one in losses):
        looked = [one for one in losses if one.place == place and one.row_sums is not None]
        squashed = [one for one in looked if is_probability(one)]
        if len(squashed) < _FEWEST or len(squashed) < len(looked):
            continue
        made = squashed[-1].producers[0] if squashed[-1].producers else None
        by_softmax = made is not None and made.name == "Softmax"
        where = made.place if made is not None and by_softmax and made.place else place
        yield Finding(
            place=where,
            severity="bug" if by_softmax else "warning",
            sentence=Said(
                "`cross_entropy`는 로짓을 받아 안에서 softmax를 하는데, 이미 softmax를 지난 확률이 들어가요. "
                "손실이 어느 값 아래로 내려가지 못하고 그레이디언트가 아주 작아져요.",
                "cross_entropy applies log-softmax itself but is given probabilities, so the loss cannot fall "
                "below a floor and the gradients are tiny.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(looked)}번 모두 입력의 행마다 0 이상이고 합이 1이었어요.",
                f"{len(squashed)} of {len(looked)} loss inputs were non-negative with rows that sum to one.",
            ),
            mend=Said("softmax를 빼고 로짓을 그대로 주세요.", "Remove the softmax and pass the logits."),
        )


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find losses written by hand that take a log-softmax of a softmax."""
    for place, these in squashed_twice(facts, "Softmax"):
        yield Finding(
            place=these[-1].made or _reading.loss_line(place),
            sentence=Said(
                "손실이 안에서 softmax를 하는데, 이미 softmax를 지난 확률이 들어가요. "
                "손실이 어느 값 아래로 내려가지 못하고 그레이디언트가 아주 작아져요.",
                "The loss applies a softmax itself but is given probabilities, so it cannot fall below a floor and "
                "the gradients are tiny.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(these)}번 모두 softmax의 출력({these[-1].low:.2g}~{these[-1].high:.2g})에서 "
                "다시 log-softmax를 구했어요.",
                f"{len(these)} losses took a log-softmax of the output of a softmax (from {these[-1].low:.2g} to "
                f"{these[-1].high:.2g}).",
            ),
            mend=Said("softmax를 빼고 로짓을 그대로 주세요.", "Remove the softmax and pass the logits."),
        )


def _find_all(facts: Facts) -> Iterator[Finding]:
    yield from _find(facts)
    yield from _by_hand(facts)


RULE = Rule(
    id="softmax-before-ce",
    severity="bug",
    title=Said("cross_entropy 앞에 softmax가 있어요", "Softmax before cross-entropy"),
    lesson="01_five_line_step/9_find_the_bug",
    find=_find_all,
)
