"""Parameter groups that spare some parameters from weight decay, but not the scales of the normalisation layers."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.source import name_tests


def _decay(options: dict[str, object]) -> float:
    value = options.get("weight_decay", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _find(facts: Facts) -> Iterator[Finding]:
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
