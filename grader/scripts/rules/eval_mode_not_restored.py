"""Training goes on in evaluation mode after an evaluation."""

from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, ModeSet
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.source import line_of

_FEWEST = 3


def trained_forwards(facts: Facts, module: int) -> list[ForwardRan]:
    """Return the forwards with gradients of a module after which a backward came before any other forward."""
    serials = dict.fromkeys(one.forward for one in facts.of(BackwardRan) if one.forward is not None)
    found = [facts.events[serial] for serial in serials]
    return [one for one in found if isinstance(one, ForwardRan) and one.module == module and one.grad]


def _left_before(facts: Facts, module: int, first: ForwardRan) -> ModeSet | None:
    """Return the `eval()` of an evaluation before the first training forward, if the mode was set there last."""
    evaluated = False
    for event in reversed(facts.events[: first.serial]):
        if isinstance(event, ForwardRan) and event.module == module:
            evaluated = evaluated or not event.grad
        elif isinstance(event, ModeSet) and event.module == module:
            return event if evaluated and not event.training else None
    return None


def _from_the_beginning(facts: Facts) -> Iterator[Finding]:
    """Find models that an evaluation before the training left in eval mode."""
    for module in facts.modules:
        used = trained_forwards(facts, module.number)
        if len(used) < _FEWEST or any(one.live_parts or not one.frozen_parts for one in used):
            continue
        left = _left_before(facts, module.number, used[0])
        if not module.mode_sensitive or left is None:
            continue
        yield Finding(
            place=left.place or used[-1].place,
            sentence=Said(
                "학습 전에 한 평가가 모델을 평가 모드로 바꾸었는데 `model.train()`을 부르지 않아서, 드롭아웃이 꺼지고 "
                "배치 정규화의 통계가 멈춘 채로 학습해요.",
                "An evaluation before the training left the model in eval mode, so it trains without dropout and "
                "with frozen batch-norm statistics.",
            ),
            evidence=Said(
                f"학습하는 순전파 {len(used)}번이 모두 평가 모드였고, 첫 번째보다 앞에 `eval()`과 그레이디언트 없는 "
                "순전파가 있었어요.",
                f"All {len(used)} training forwards ran in eval mode; eval() and a forward without gradients came "
                "before the first.",
            ),
            mend=_mend(facts, used[0]),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _from_the_beginning(facts)
    yield from _after_training(facts)


def _after_training(facts: Facts) -> Iterator[Finding]:
    for module in facts.modules:
        if not module.mode_sensitive:
            continue
        used = trained_forwards(facts, module.number)
        first = next((i for i, one in enumerate(used) if not one.live_parts and one.frozen_parts), None)
        if not first:
            continue  # never in evaluation mode, or from the very beginning
        before, after = used[:first], used[first:]
        frozen = [one for one in after if not one.live_parts and not _was_set_to_train(facts, one)]
        if not before[-1].live_parts or len(frozen) < _FEWEST or len(frozen) < len(after):
            continue
        restored = _restored_to_eval(facts, frozen[0])
        if restored is not None:
            yield _told_restored(*restored, len(before), len(frozen))
            continue
        yield Finding(
            place=_set_before_loop(facts, frozen) or frozen[-1].place,
            sentence=Said(
                "평가한 뒤로 `model.train()`을 다시 부르지 않아서, "
                "드롭아웃이 꺼지고 배치 정규화의 통계가 멈춘 채로 학습해요.",
                "model.train() is not called again after the evaluation, so training goes on without dropout "
                "and with frozen batch-norm statistics.",
            ),
            evidence=Said(
                f"학습하는 순전파가 처음 {len(before)}번은 학습 모드였고, "
                f"평가 뒤의 {len(frozen)}번은 모두 평가 모드였어요.",
                f"{len(before)} training forwards ran in train mode, then all {len(frozen)} after the "
                "evaluation in eval mode.",
            ),
            mend=_mend(facts, frozen[0]),
        )


def _restored_to_eval(facts: Facts, forward: ForwardRan) -> tuple[Place, Place] | None:
    """Return the line that set eval mode and the one that then set it again by `train(mode)`, as it was read too late.

    None if the mode was set otherwise before a forward.
    """
    own = [
        one
        for one in facts.of(ModeSet)
        if one.module == forward.module and one.serial < forward.serial and one.place is not None
    ]
    last = len(own)
    while last and not own[last - 1].training:
        last -= 1
    set_, again = own[last:][:1], own[last:][-1:]
    if not set_ or set_ == again or again[0].place is None or set_[0].place is None:
        return None
    both = set_[0].place, again[0].place
    return both if both[0].function == both[1].function and ".train(" in line_of(both[1]) else None


def _told_restored(place: Place, again: Place, before: int, frozen: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"여기에서 평가 모드로 바꾼 다음에 모드를 읽어서, {again.line}번째 줄의 `train(…)`이 되돌린다는 것이 평가 "
            "모드예요. 드롭아웃이 꺼지고 배치 정규화의 통계가 멈춘 채로 학습해요.",
            f"The mode is read after it was set to eval here, so train(…) on line {again.line} restores eval mode, and "
            "training goes on without dropout and with frozen batch-norm statistics.",
        ),
        evidence=Said(
            f"학습하는 순전파가 처음 {before}번은 학습 모드였고, 그 뒤의 {frozen}번은 모두 평가 모드였어요. "
            f"{again.line}번째 줄의 `train(…)`은 False를 받았어요.",
            f"{before} training forwards ran in train mode, then all {frozen} in eval mode; train(…) in line "
            f"{again.line} was given False.",
        ),
        mend=Said(
            "`eval()`을 부르기 전에 `training`을 읽어 두세요.", "Read `training` before calling eval()."
        ),
    )


def _set_before_loop(facts: Facts, frozen: list[ForwardRan]) -> Place | None:
    """Return the line that set train mode last, if it stands before the outer loop that should have it inside.

    None where the evaluation is in the inner loop, too.
    """
    first, place = frozen[0], frozen[-1].place
    own = [
        one.place
        for one in facts.of(ModeSet)
        if one.module == first.module and one.training and one.serial < first.serial
    ]
    loops = _reading.around(place, *_reading.LOOPS) if place is not None else []
    if not own or own[-1] is None or place is None or len(loops) < 2:
        return None
    judged = [one for one in facts.of(ForwardRan) if one.module == first.module and not one.grad]
    before = [one for one in judged if one.serial < first.serial][-1:]
    led = [line for one in before for line in (one.place, *one.callers) if line is not None]
    if any(loops[0] in _reading.around(line, *_reading.LOOPS) for line in led):
        return None
    begins = loops[-1].lineno  # type: ignore[attr-defined]
    same = own[-1].file == place.file and own[-1].function == place.function
    return own[-1] if same and own[-1].line < begins else None


def _was_set_to_train(facts: Facts, forward: ForwardRan) -> bool:
    """Return True if the model was put into train mode last: a part was then put into eval mode on purpose."""
    for event in reversed(facts.events[: forward.serial]):
        if isinstance(event, ModeSet) and event.module == forward.module:
            return event.training
    return False


def _mend(facts: Facts, first: ForwardRan) -> Said:
    """Say where the mode belongs, with the line that set it before the first forward in evaluation mode."""
    lines = [
        one.place.line
        for one in facts.of(ModeSet)
        if one.module == first.module and not one.training and one.serial < first.serial and one.place
    ]
    ko = f"{lines[-1]}번째 줄의 `eval()`로 평가한 다음에" if lines else "에폭마다 학습을 시작하기 전에"
    en = f"after the evaluation that line {lines[-1]} begins" if lines else "at the start of every epoch"
    return Said(f"{ko} `model.train()`을 부르세요.", f"Call model.train() {en}.")


RULE = Rule(
    id="eval-mode-not-restored",
    severity="bug",
    title=Said("평가 모드인 채로 학습했어요", "Training continues in eval mode"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
