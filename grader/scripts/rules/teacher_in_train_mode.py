"""A model that is not trained makes targets in training mode: dropout makes them random."""

from collections.abc import Iterator

import torch

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed, PartWithoutGrad
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.things import ModuleFacts

_FEWEST = 3
_REAL = ("float", "bfloat", "double", "half")


def _targets(facts: Facts, module: ModuleFacts) -> list[ForwardRan]:
    """Return a module's forwards in training mode without gradients, each followed by a backward that trains another.

    Empty if it sees one input again before that backward, as for a mean over dropout masks.
    """
    found: list[ForwardRan] = []
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan) and event.module == module.number:
            again = last is not None and last.rows is not None and event.rows is not None
            if again and last is not None and torch.equal(last.rows, event.rows):  # type: ignore[arg-type]
                return []
            last = event if event.training and not event.grad else None
        elif isinstance(event, BackwardRan) and last is not None:
            own = any(facts.optimizers[one].parameters & module.parameters for one in event.contributed)
            if event.contributed and not own and not event.reached & module.parameters:
                found.append(last)
            last = None
    return found


def _find(facts: Facts) -> Iterator[Finding]:
    for module in facts.modules:
        targets = _targets(facts, module)
        live = [one for one in targets if one.live_parts]
        fixed = len({one.weights for one in live}) == 1
        if len(live) < _FEWEST or len(live) < len(targets) or not fixed:
            continue
        drops = all(one.live_drops for one in live)
        yield _told(live[-1].place, module.kind, len(targets), live[-1].live_parts, drops)
    yield from _parts(facts)


def _parts(facts: Facts) -> Iterator[Finding]:
    """Find teachers that are a part of the module which computes the loss."""
    told: set[object] = set()
    parts = list(facts.of(PartWithoutGrad))
    losses = [one for one in facts.of(LossComputed) if one.grad and one.target_dtype.startswith(_REAL)]
    for part in dict.fromkeys(one.parameters for one in parts):
        these = [one for one in parts if one.parameters == part]
        live = [one for one in these if one.live_parts]
        fixed = len({one.weights for one in live}) == 1
        trained = any(facts.parameters[one].reached for one in part)
        place = these[-1].place
        taught = [one for one in live if _is_target(one, losses)]
        if len(taught) < _FEWEST or len(live) < len(these) or not fixed or trained or place in told:
            continue
        told.add(place)
        drops = all(one.live_drops for one in live)
        yield _told(place, live[-1].kind, len(these), live[-1].live_parts, drops)


def _is_target(part: PartWithoutGrad, losses: list[LossComputed]) -> bool:
    """Return True if the next loss has targets of a part's shape."""
    following = next((one for one in losses if one.serial > part.serial), None)
    return following is not None and len(part.shape) > 1 and following.target_shape == part.shape


def _told(place: Place | None, kind: str, count: int, parts: int, drops: bool) -> Finding:
    random = Said(
        "드롭아웃이 켜져 있어서 같은 입력에도 목표가 매번 달라져요."
        if drops
        else "배치 정규화가 그 배치의 통계를 쓰고, 모아 둔 통계도 바뀌어요.",
        "dropout makes its outputs random"
        if drops
        else "its batch norms use each batch's statistics and change their own",
    )
    return Finding(
        place=place,
        severity="bug" if drops else "warning",
        sentence=Said(
            f"학습하지 않는 모델({kind})이 학습 모드인 채로 목표를 만들어요. {random.ko}",
            f"A model that is not trained here ({kind}) makes the targets in training mode: {random.en}.",
        ),
        evidence=Said(
            f"그레이디언트 없이 부른 순전파 {count}번이 모두 학습 모드였고(모드에 따라 달라지는 층 "
            f"{parts}개), 그동안 이 모델의 가중치는 그대로였어요.",
            f"All {count} forwards without gradients ran in training mode ({parts} layers depend on it), while its "
            "weights stayed the same.",
        ),
        mend=Said(
            "목표를 만들기 전에 그 모델의 `eval()`을 부르세요. 다른 모델의 일부라면 그 모델의 `train()`이 함께 바꿔요.",
            "Call eval() of that model first; if it is a part of another one, that one's train() sets it, too.",
        ),
    )


RULE = Rule(
    id="teacher-in-train-mode",
    severity="bug",
    title=Said("교사 모델이 학습 모드예요", "The teacher is in training mode"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
