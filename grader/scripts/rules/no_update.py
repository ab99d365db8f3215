"""The script ended without an update: say why, and what the watch can see."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, GradientTaken
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules.no_step import never_stepped


def _reason(facts: Facts) -> tuple[Place | None, Said, Said]:
    """Return a line, what was seen instead of an update, and what to do."""
    taken = list(facts.of(GradientTaken))
    backwards = list(facts.of(BackwardRan))
    forwards = list(facts.of(ForwardRan))
    if taken and not backwards:
        return (
            taken[-1].place,
            Said(
                f"`torch.autograd.grad`나 `torch.func`로 그레이디언트를 {len(taken)}번 구했고 `backward()`와 "
                "`optimizer.step()`은 없었어요.",
                f"Gradients were taken {len(taken)} times with torch.autograd.grad or torch.func; there was no "
                "backward() and no optimizer.step().",
            ),
            Said(
                "이런 스크립트에서는 `torch.func` 밖의 순전파와 손실만 살펴봐요. 업데이트까지 보려면 "
                "`backward()`와 `torch.optim`으로 쓴 작은 스크립트를 보여 주세요.",
                "Of such a script only forwards and losses outside of torch.func are looked at; to have updates "
                "watched, show a small one that uses backward() and torch.optim.",
            ),
        )
    if backwards:
        return (
            backwards[-1].place,
            Said(
                f"`backward()`를 {len(backwards)}번 했고, 그 뒤에 움직인 가중치가 없어요.",
                f"backward() ran {len(backwards)} times and no weight moved afterwards.",
            ),
            Said(
                "옵티마이저의 `step()`을 부르는지 살펴보세요.", "See whether an optimizer's step() is called."
            ),
        )
    return (
        Place(facts.script, 1),
        Said(
            f"순전파는 {len(forwards)}번, `backward()`는 0번이었어요.",
            f"Forwards: {len(forwards)}; there was no backward().",
        ),
        Said(
            "학습 루프가 `with xray():` 안에 있는지 살펴보세요."
            if facts.block
            else "학습하는 함수를 부르는지, `if __name__ == '__main__':` 밖에서 시작하는지, 다른 프로세스에서 학습하지 "
            "않는지 살펴보세요.",
            "See whether the training loop stands inside `with xray():`."
            if facts.block
            else "See whether the training function is called, and in this process.",
        ),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    if facts.updates or not facts.ended or any(never_stepped(facts)):
        return
    place, seen, mend = _reason(facts)
    what = ("이 블록이", "The block") if facts.block else ("스크립트가", "The script")
    yield Finding(
        place=place,
        sentence=Said(
            f"{what[0]} 끝날 때까지 업데이트가 한 번도 없어서, 학습이 맞는지 판단하지 못했어요.",
            f"{what[1]} ended without an update, so nothing can be said of its training.",
        ),
        evidence=seen,
        mend=mend,
    )


RULE = Rule(
    id="no-update",
    severity="info",
    title=Said("업데이트를 보지 못했어요", "No update was seen"),
    lesson=None,
    find=_find,
)
