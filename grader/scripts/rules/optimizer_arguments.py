"""Arguments of an optimizer that stand in each other's places, told by values that nobody chooses."""

from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said

_TINY = 0.01
"""A momentum or dampening below this does nothing; weight decay is usually below it."""


def _swapped(momentum: float, dampening: float) -> bool:
    """Return True if momentum or dampening holds what can only be meant as a weight decay."""
    return 0 < momentum < _TINY or 0 < dampening < _TINY


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        settings = optimizer.options[0] if optimizer.options else {}
        momentum, dampening, decay = (
            settings.get(name) for name in ("momentum", "dampening", "weight_decay")
        )
        if not isinstance(momentum, int | float) or not isinstance(dampening, int | float):
            continue
        if optimizer.kind != "SGD" or decay != 0 or not _swapped(momentum, dampening):
            continue
        if not facts.steps(optimizer.number):
            continue
        shown = f"momentum={momentum:g}, dampening={dampening:g}, weight_decay=0"
        yield Finding(
            place=optimizer.built,
            sentence=Said(
                "SGD의 인자가 자리를 바꿔 들어갔어요. 이름 없이 주면 `lr, momentum, dampening, weight_decay` "
                "순서라서, 가중치 감쇠로 준 값이 다른 인자가 돼요.",
                "Arguments of SGD stand in each other's places: by position they are lr, momentum, dampening, "
                "weight_decay, so what was meant as weight decay became another one.",
            ),
            evidence=Said(
                f"이 옵티마이저가 받은 값은 {shown}이었어요."
                + (
                    f" 그래서 업데이트에 그레이디언트의 {1 - dampening:.2g}배만 들어가요."
                    if dampening > _TINY and momentum
                    else ""
                ),
                f"The optimizer got {shown}."
                + (
                    f" So only {1 - dampening:.2g} of each gradient goes into an update."
                    if dampening > _TINY and momentum
                    else ""
                ),
            ),
            mend=Said(
                "이름으로 주세요: `SGD(params, lr=…, momentum=…, weight_decay=…)`.",
                "Give them by name: `SGD(params, lr=…, momentum=…, weight_decay=…)`.",
            ),
        )


RULE = Rule(
    id="optimizer-arguments",
    severity="bug",
    title=Said("옵티마이저의 인자가 뒤바뀌었어요", "Arguments of the optimizer are swapped"),
    lesson=None,
    find=_find,
)
