"""A freshly made layer is frozen together with the pretrained ones: it keeps its random start for ever."""

from collections.abc import Iterator

from grader.scripts.copy_events import ModuleCopied
from grader.scripts.facts import BackwardRan, Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.source import freezing_lines, line_of
from grader.scripts.states import FlagSet
from grader.scripts.things import ParameterFacts

_LAYERS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "LSTM", "GRU", "Bilinear")
_FEWEST = 3


def _random(one: ParameterFacts) -> bool:
    """Return True if a frozen parameter of a layer was neither trained nor loaded."""
    untouched = not one.reached and not one.loaded and one.moved is False
    if one.module_place is not None and "pretrained" in line_of(one.module_place):
        return False
    return one.frozen and untouched and one.module_kind in _LAYERS and one.module_serial is not None


def _held(facts: Facts) -> Iterator[Finding]:
    """Ask about fresh layers that are frozen although an optimizer that steps holds them."""
    trained = frozenset[int]().union(*(one.reached for one in facts.of(BackwardRan)))
    held = frozenset[int]().union(
        *(one.parameters for one in facts.optimizers if len(facts.steps(one.number)) >= _FEWEST)
    )
    for module in facts.modules:
        own = [facts.parameters[number] for number in sorted(module.parameters)]
        fresh = [one for one in own if _random(one) and one.number in held]
        if not fresh or module.copied_from is not None or not module.parameters & trained:
            continue
        lines = freezing_lines(facts.script)
        if not lines:
            continue
        names = ", ".join(one.name for one in fresh[:3])
        yield Finding(
            place=lines[-1],
            severity="info",
            sentence=Said(
                "새로 만든 층을 얼린 채로 두어서 처음의 무작위 값 그대로 남아요. 옵티마이저에는 들어 있는데, "
                "일부러 그랬나요?",
                "Freshly made layers stay frozen at their random start although the optimizer holds them. "
                "Is that meant?",
            ),
            evidence=Said(
                f"옵티마이저가 가진 매개변수 {len(fresh)}개({names})는 `requires_grad`가 꺼져 있고, 한 번도 "
                "학습되거나 불러온 적이 없어요.",
                f"{len(fresh)} parameters of the optimizer ({names}) have requires_grad off and were never "
                "trained or loaded.",
            ),
            mend=Said(
                "학습할 층이면 `requires_grad`를 다시 켜고, 아니면 옵티마이저에서 빼세요.",
                "Set requires_grad again if they are to be trained; leave them out of the optimizer if not.",
            ),
        )
        return


def _copied(facts: Facts) -> Iterator[Finding]:
    """Ask about copies of a model that was frozen for its own sake and goes on running: an optimizer holds them."""
    steps = [one for one in facts.optimizers if len(facts.steps(one.number)) >= _FEWEST]
    held = frozenset[int]().union(*(one.parameters for one in steps))
    for event in facts.of(ModuleCopied):
        still = [
            facts.parameters[number]
            for number in sorted(event.frozen & held)
            if facts.parameters[number].frozen and not facts.parameters[number].reached
        ]
        place, source = event.place, facts.modules[event.source].parameters
        if not still or place is None or any(one.line > place.line for one in freezing_lines(place.file)):
            continue
        trained = any(facts.parameters[number].reached >= _FEWEST for number in source)
        runs = sum(
            bool(facts.modules[one.module].parameters & source) and one.serial > event.serial
            for one in facts.of(ForwardRan)
            if not one.grad
        )
        if trained and runs >= _FEWEST:
            yield _told_of_copy(place, len(still), runs)


def _told_of_copy(place: Place, count: int, runs: int) -> Finding:
    return Finding(
        place=place,
        severity="warning",
        sentence=Said(
            "얼린 모델을 복사해서 복사본도 얼어 있어요. 옵티마이저에 들어 있지만 한 번도 학습되지 않아요. "
            "일부러 그랬나요?",
            "A copy of a frozen model is frozen, too: the optimizer holds it, but it never learns. Is that meant?",
        ),
        evidence=Said(
            f"복사할 때 이미 `requires_grad`가 꺼져 있던 매개변수 {count}개를 옵티마이저가 가지고 있어요. 원래 모델은 "
            f"그 뒤에 그레이디언트 없이 {runs}번 실행됐어요.",
            f"The optimizer holds {count} parameters whose requires_grad was off when they were copied; the original "
            f"ran {runs} times without gradients afterwards.",
        ),
        mend=Said(
            "복사본에 `requires_grad_(True)`를 부르세요.",
            "Call `requires_grad_(True)` on the copy.",
        ),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _copied(facts)
    found = list(_mixed(facts))
    if not any(one.against for one in facts.of(FlagSet)):  # that line is the cause
        yield from found or _held(facts)


def _mixed(facts: Facts) -> Iterator[Finding]:
    trained = frozenset[int]().union(*(one.reached for one in facts.of(BackwardRan)))
    for module in facts.modules:
        own = [facts.parameters[number] for number in sorted(module.parameters)]
        fresh = [one for one in own if _random(one)]
        old = [one for one in own if one.frozen and (one.reached >= _FEWEST or one.loaded)]
        learning = [one for one in own if not one.frozen and one.number in trained]
        if not fresh or not old or not learning or module.copied_from is not None:
            continue
        lines = freezing_lines(facts.script)
        names = ", ".join(one.name for one in fresh[:3])
        yield Finding(
            place=lines[-1] if lines else fresh[0].module_place,
            sentence=Said(
                "미리 학습한 층만이 아니라 새로 만든 층까지 얼려서, 그 층은 처음의 무작위 값 그대로 남아요.",
                "Not only the pretrained layers are frozen but also freshly made ones, which keep their random start.",
            ),
            evidence=Said(
                f"얼린 매개변수 {len(fresh) + len(old)}개 가운데 {len(fresh)}개({names})는 한 번도 학습되거나 불러온 "
                "적이 없어요.",
                f"{len(fresh)} of {len(fresh) + len(old)} frozen parameters ({names}) were never trained or loaded.",
            ),
            mend=Said(
                "미리 학습한 부분의 매개변수만 얼리세요.",
                "Freeze the parameters of the pretrained part only.",
            ),
        )
        return


RULE = Rule(
    id="accidental-freeze",
    severity="bug",
    title=Said("새로 만든 층까지 얼렸어요", "A fresh layer is frozen, too"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
