"""Scales of normalisation layers that are decayed: missed by a test that spares some, or decayed very strongly."""

from collections.abc import Iterator
from math import log

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.source import name_tests
from grader.scripts.things import ParameterFacts

_SHRINKING = ("SGD", "AdamW")
"""Optimizers that take the decay from the weight in each step as it is."""
_FAST = 0.02
"""Share of a weight that a step takes: four times that of the usual recipes for pictures."""

_STRONG = 0.3
"""The strongest decay of AdamW in the usual recipes, which spare these layers."""


def _decay(options: dict[str, object]) -> float:
    value = options.get("weight_decay", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _fading(facts)
    yield from _unsorted(facts)


def _fading(facts: Facts) -> Iterator[Finding]:
    """Ask about one group that decays everything so strongly that scales of normalisation layers halve in no time."""
    for optimizer in facts.optimizers:
        options = optimizer.options[0] if len(optimizer.options) == 1 else {}
        norms = [one for one in _scales(facts) if one.number in optimizer.parameters and one.reached]
        steps = facts.steps(optimizer.number)
        if optimizer.kind not in _SHRINKING or not norms or optimizer.built is None or not steps:
            continue
        rate = sorted(one.rates[0] for one in steps)[len(steps) // 2]
        momentum = options.get("momentum", 0.0)
        factor = 1 / (1 - momentum) if isinstance(momentum, float) and momentum < 1 else 1.0
        share = rate * _decay(options) * factor
        strong = optimizer.kind == "AdamW" and _decay(options) >= _STRONG and share
        if share < _FAST and not strong:
            continue
        halved = log(2) / share
        yield Finding(
            place=optimizer.built,
            severity="info",
            sentence=Said(
                "정규화 층의 스케일까지 모두 강하게 감쇠해요. 스케일은 크기를 정하는 값이라 보통은 감쇠하지 않아요. "
                "일부러 그랬나요?",
                "Everything is decayed strongly, scales of normalisation layers included, which are usually spared. Is "
                "that meant?",
            ),
            evidence=Said(
                f"학습률 {rate:.3g}, 감쇠 {_decay(options):g}, 모멘텀 {momentum}이면, 그레이디언트가 없을 때 값이 "
                f"업데이트 {halved:.0f}번 만에 절반이 돼요 (정규화 층의 매개변수 {len(norms)}개, 지켜본 업데이트 "
                f"{len(steps)}번).",
                f"With the rate {rate:.3g}, decay {_decay(options):g} and momentum {momentum} a value without gradient "
                f"halves within {halved:.0f} updates ({len(norms)} parameters of normalisation layers; {len(steps)} "
                "updates were watched).",
            ),
            mend=Said(
                "두 그룹으로 나누고, `p.ndim < 2`인 그룹은 `weight_decay=0`으로 두세요.",
                "Make two groups, and set `weight_decay=0` for that with `p.ndim < 2`.",
            ),
        )


def _scales(facts: Facts) -> list[ParameterFacts]:
    return [one for one in facts.parameters if "Norm" in one.module_kind and len(one.shape) == 1]


def _unsorted(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        decays = [_decay(one) for one in optimizer.options]
        spared = [
            group for group, decay in zip(optimizer.groups, decays, strict=True) if decay == 0 and group
        ]
        decayed = [
            group for group, decay in zip(optimizer.groups, decays, strict=True) if decay > 0 and group
        ]
        if not spared or not decayed:
            continue
        norms = [
            facts.parameters[number]
            for group in decayed
            for number in sorted(group)
            if "Norm" in facts.parameters[number].module_kind and len(facts.parameters[number].shape) == 1
        ]
        of = [
            one
            for one in facts.parameters
            if "Norm" in one.module_kind and one.number in optimizer.parameters
        ]
        if not norms or optimizer.built is None:
            continue
        yield Finding(
            place=_test(facts, optimizer.built),
            sentence=Said(
                "가중치 감쇠를 받지 않는 그룹을 따로 두었는데, 정규화 층의 스케일은 감쇠를 받는 그룹에 들어 있어요. "
                "이름이나 모양을 가르는 조건에서 빠졌는지 보세요.",
                "There is a group without weight decay, but scales of normalisation layers are in the group that is "
                "decayed: the test that sorts the parameters misses them.",
            ),
            evidence=Said(
                f"정규화 층의 매개변수 {len(of)}개 가운데 {len(norms)}개가 감쇠 {max(decays):g}인 그룹에 있어요 "
                f"({norms[0].name} …).",
                f"{len(norms)} of {len(of)} parameters of normalisation layers are in a group with weight decay "
                f"{max(decays):g} ({norms[0].name} …).",
            ),
            mend=Said(
                "이름 대신 차원으로 나누세요: `p.ndim < 2`이면 감쇠하지 않는 그룹.",
                "Sort by dimension instead of name: `p.ndim < 2` is not decayed.",
            ),
        )


def _test(facts: Facts, built: Place) -> Place:
    """Return the line that sorts parameters by their names, or else the one that built the optimizer."""
    tests = name_tests(facts.script)
    return min(tests, key=lambda one: abs(one.line - built.line)) if tests else built


RULE = Rule(
    id="weight-decay-on-norm",
    severity="warning",
    title=Said("정규화 층의 스케일이 감쇠됐어요", "Scales of normalisation layers are decayed"),
    lesson="03_bells_and_whistles/2_adam_steps",
    find=_find,
)
