"""LambdaLR is given a function that returns a learning rate; it wants a factor, so the rate is multiplied twice."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled
from grader.scripts.findings import Finding, Rule, Said

_FEWEST = 5
_ALIKE = 1e-3
_LARGEST = 0.5
"""Above this a factor and a rate can be the same by chance."""


def _find(facts: Facts) -> Iterator[Finding]:
    for scheduler in facts.schedulers:
        if scheduler.kind != "LambdaLR" or scheduler.optimizer is None:
            continue
        options = facts.optimizers[scheduler.optimizer].options
        base = options[0].get("initial_lr") if options else None
        calls = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number and one.after]
        if not isinstance(base, float) or not 0 < base < _LARGEST or len(calls) < _FEWEST:
            continue
        highest = max(max(one.before[0], one.after[0]) for one in calls)
        rising = calls[-1].after[0] > calls[-1].before[0]  # a warm-up passes many factors by chance
        if rising or abs(highest / base - base) > _ALIKE * base:
            continue
        yield Finding(
            place=scheduler.built,
            sentence=Said(
                "LambdaLR의 함수는 처음 학습률에 곱할 배수를 돌려줘야 하는데 학습률을 돌려줘요. 두 번 곱해져서 실제 "
                "학습률이 아주 작아요.",
                "The function of LambdaLR should return a factor of the initial rate but returns a rate: multiplied "
                "twice, the real rate is tiny.",
            ),
            evidence=Said(
                f"처음 학습률은 {base:g}인데 스케줄러가 움직인 {len(calls)}번 동안 가장 큰 학습률이 {highest:.3g}, 곧 "
                f"{base:g}의 {base:g}배였어요.",
                f"The initial rate is {base:g}; in {len(calls)} scheduler steps the highest rate was {highest:.3g}, "
                f"which is {base:g} times {base:g}.",
            ),
            mend=Said(
                "배수를 돌려주세요: `lambda it: get_lr(it) / 처음_학습률`.",
                "Return a factor: `lambda it: get_lr(it) / initial_lr`.",
            ),
        )


RULE = Rule(
    id="lambda-returns-rate",
    severity="bug",
    title=Said("LambdaLR이 학습률을 두 번 곱했어요", "LambdaLR multiplies the rate twice"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
)
