"""The closure of LBFGS draws another batch at each evaluation: one step compares losses of different data."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Cleared, Facts, ForwardRan, Stepped
from grader.scripts.findings import Finding, Rule, Said

_FEWEST = 3
_OFTEN = 0.8


def _evaluations(facts: Facts, first: int, step: Stepped) -> list[set[int]]:
    """Return the rows that each evaluation of a step's closure saw, apart at `zero_grad`.

    None are known where an input may change with the weights, as an image that is optimized.
    """
    found: list[set[int]] = [set()]
    for event in facts.between(first, step.serial):
        if isinstance(event, Cleared):
            found.append(set())
        elif isinstance(event, BackwardRan) and event.in_step and event.forward is not None:
            forward = facts.events[event.forward]
            if not isinstance(forward, ForwardRan) or forward.rows is None or forward.needs_grad:
                return []
            found[-1].update(forward.rows.tolist())
    return [one for one in found if one]


def _find(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        if "LBFGS" not in optimizer.kind:
            continue
        steps = [one for one in facts.steps(optimizer.number) if one.closure]
        before = [optimizer.serial, *(one.serial for one in steps)]
        several = [
            found
            for first, step in zip(before, steps, strict=False)
            if len(found := _evaluations(facts, first, step)) > 1
        ]
        mixed = [found for found in several if any(one != found[0] for one in found)]
        if len(mixed) < _FEWEST or len(mixed) < _OFTEN * len(several):
            continue
        place = next(
            facts.events[one.forward].place
            for one in reversed(list(facts.of(BackwardRan)))
            if one.in_step and one.forward is not None
        )
        yield Finding(
            place=place,
            sentence=Said(
                "클로저가 불릴 때마다 다른 배치를 써요. LBFGS는 한 스텝에서 클로저를 여러 번 불러 손실과 "
                "그레이디언트를 비교하는데, 그 값들이 서로 다른 데이터에서 나왔어요. 일부러 그랬나요?",
                "The closure uses another batch each time. LBFGS compares losses and gradients within a step, and "
                "these are of different data. On purpose?",
            ),
            evidence=Said(
                f"클로저가 여러 번 불린 스텝 {len(several)}개 가운데 {len(mixed)}개에서, 한 스텝 안의 입력이 서로 "
                f"달랐어요 (클로저는 스텝마다 보통 {sorted(map(len, several))[len(several) // 2]}번 불렸어요).",
                f"In {len(mixed)} of {len(several)} steps that evaluate the closure several times the inputs "
                f"differed (usually {sorted(map(len, several))[len(several) // 2]} evaluations a step).",
            ),
            mend=Said(
                "배치는 `step(closure)` 앞에서 한 번만 뽑으세요.",
                "Draw the batch once, before `step(closure)`.",
            ),
        )


RULE = Rule(
    id="closure-batches",
    severity="warning",
    title=Said("클로저가 불릴 때마다 다른 배치를 썼어요", "Each evaluation of the closure has another batch"),
    lesson=None,
    find=_find,
)
