"""Weights of 16 bits that most updates leave as they were: the changes are smaller than their last digit."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 5
_MOST = 0.5
"""Share of entries that stay; with gradients in all of them and 32 bits it is nearly 0."""
_SHORT = {"bfloat16", "float16", "half", "dtype"}


def _shortened(built: Place | None) -> Place | None:
    """Return the last line above the optimizer's, and outside of functions that compute, that makes weights shorter."""
    found = []
    for call in _reading.nodes(built.file, ast.Call) if built is not None else ():
        name, given = _reading.called(call), ast.unparse(call).rpartition("(")[2]
        shortens = name in ("half", "bfloat16") or (name == "to" and _reading.words(given) & _SHORT)
        lambdas = _reading.around(_reading.at(built.file, call), ast.Lambda) if built is not None else []
        if built is not None and shortens and not lambdas and call.lineno <= built.line:  # type: ignore[attr-defined]
            found.append(_reading.at(built.file, call, built.function))
    return max(found, key=lambda place: place.line, default=None)


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        steps = [
            one for one in facts.steps(optimizer.number) if one.rounded_away is not None and any(one.rates)
        ]
        shares = [one.rounded_away for one in steps if one.rounded_away is not None]
        share = sum(shares) / len(shares) if shares else 0.0
        if len(shares) < _FEWEST or share < _MOST:
            continue
        short, rate = steps[-1].short, max(steps[-1].rates)
        yield Finding(
            place=_shortened(optimizer.built) or optimizer.built,
            sentence=Said(
                f"가중치가 {short}라서 유효 숫자가 모자라요. 업데이트가 가중치의 마지막 자리보다 작으면 반올림되어 "
                "사라져요.",
                f"The weights are {short}: an update that is smaller than their last digit is rounded away.",
            ),
            evidence=Said(
                f"`step()` {len(shares)}번에서 그레이디언트가 0이 아닌 가중치의 평균 {share:.0%}가 그대로였어요 "
                f"(마지막 학습률 {rate:.3g}).",
                f"In {len(shares)} steps on average {share:.0%} of the entries with a gradient stayed as they were "
                f"(last rate {rate:.3g}).",
            ),
            mend=Said(
                "가중치는 float32로 두고 계산만 `torch.autocast(…, dtype=torch.bfloat16)`으로 하세요.",
                "Keep the weights in float32 and compute under `torch.autocast(…, dtype=torch.bfloat16)`.",
            ),
        )


RULE = Rule(
    id="updates-rounded-away",
    severity="bug",
    title=Said("업데이트가 반올림되어 사라졌어요", "Updates are rounded away"),
    lesson="02_loop_anatomy/2_clipping_and_16_bits",
    find=_find,
)
