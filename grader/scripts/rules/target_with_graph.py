"""A loss's target comes from the trained network itself and keeps its graph: the target is pulled to the prediction."""

from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.things import ModuleFacts

_FEWEST = 3
_ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def _made_by(facts: Facts, loss: LossComputed) -> ForwardRan | None:
    """Return the forward that made the target, if another forward of its module made the prediction."""
    own = {facts.events[one].module for one in loss.behind_input}  # type: ignore[attr-defined]
    for serial in reversed(loss.behind_target):
        forward = facts.events[serial]
        if isinstance(forward, ForwardRan) and serial not in loss.behind_input and forward.module in own:
            return forward
    return None


def _idle_copy(facts: Facts, module: int) -> ModuleFacts | None:
    """Return a copy of a module that never ran."""
    ran = {one.module for one in facts.of(ForwardRan)}
    return next((one for one in facts.modules if one.copied_from == module and one.number not in ran), None)


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [one for one in facts.of(LossComputed) if one.grad and one.name in _ELEMENTWISE]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place]
        made = [forward for one in these if (forward := _made_by(facts, one)) is not None]
        if len(made) < _FEWEST or len(made) < len(these):
            continue
        idle = _idle_copy(facts, made[-1].module)
        line = place.line if place is not None else 0
        told = Said(
            f" {idle.built.line if idle.built else 0}번째 줄에서 만든 복사본은 한 번도 부르지 않아요."
            if idle is not None and idle.built is not None
            else " 복사해 둔 모델은 한 번도 부르지 않아요."
            if idle is not None
            else " 일부러 그랬나요?",
            " The copy of the network that was made for it never runs."
            if idle is not None
            else " On purpose?",
        )
        yield Finding(
            place=made[-1].place,
            severity="bug" if idle is not None else "info",
            sentence=Said(
                f"{line}번째 줄 손실의 목표를 학습하는 모델 자신이 만들고 그래프도 그대로라서, 목표까지 예측 쪽으로 "
                f"끌려가요.{told.ko}",
                f"The target of the loss on line {line} is made by the trained network itself with its graph, so the "
                f"target is pulled to the prediction, too.{told.en}",
            ),
            evidence=Said(
                f"그 손실 {len(these)}번 가운데 {len(made)}번에서 정답 쪽에도 같은 모델의 그래프가 있었어요.",
                f"In {len(made)} of {len(these)} of these losses the target had a graph of the same network.",
            ),
            mend=Said(
                "목표는 `with torch.no_grad():` 안에서, 목표용 모델이 있으면 그 모델로 구하세요.",
                "Compute the target under `torch.no_grad()`, with the target network if there is one.",
            ),
        )


RULE = Rule(
    id="target-with-graph",
    severity="bug",
    title=Said("목표에도 그레이디언트가 흘렀어요", "The target is differentiated, too"),
    lesson="01_five_line_step/8_backward_graph",
    find=_find,
)
