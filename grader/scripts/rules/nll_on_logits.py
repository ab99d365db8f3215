"""NLL loss is given raw scores instead of log-probabilities."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said

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


RULE = Rule(
    id="nll-on-logits",
    severity="bug",
    title=Said("nll_loss에 로짓이 들어갔어요", "NLL loss on logits"),
    lesson=None,
    find=_find,
)
